import Crypto
import DatabaseFiles
import Foundation
import GRDB
import Streams

/// The difference between a promoted set of stores and the documents that were published earlier, for one postback of
/// one partner.
package struct Correction: Sendable {
    /// The kind of difference.
    package enum Kind: String, CaseIterable, Sendable {
        /// Its content differs.
        case changed
        /// It was never published.
        case added
        /// It would not have been published.
        case withdrawn
        /// Only the numbers of the revisions differ, so the correction is not sent.
        case unchanged
        /// The set cannot compare it, so the correction is not sent: the set begins after its first record, or the
        /// document was read from the topic after a restore.
        case notCompared = "not_compared"
    }

    /// The progress of sending.
    package enum State: String, CaseIterable, Sendable {
        /// Not sent.
        case due
        /// Being sent: it may be in the log.
        case sending
        /// In the log.
        case sent
        /// A better copy was published since, so the correction is not sent any more.
        case obsolete
        /// Not to be sent.
        case none
    }

    /// The set's own document; for a withdrawn one the last published document.
    package var postback: PartnerPostback
    package var kind: Kind
    package var state: State
    /// The set's own last revision of a record below `boundary`, or 0; `unknownRevision` until the set has folded up to
    /// there.
    package var ownRevision: Int64
    /// The last revision published earlier, or 0.
    package var publishedRevision: Int64
    /// The last published document; nil without one, if unknown, and for unchanged postbacks.
    package var publishedDocument: PartnerDocument?
    /// The last published content; nil without one or if unknown.
    package var publishedContent: PostbackContent?
    /// The revision of the correction, even if it is not sent: no other document gets that number.
    package var revision: Int64
    /// Offset in the postback's partition. From there on the set itself publishes the documents of records.
    package var boundary: Int64

    package static let unknownRevision: Int64 = -1

    package init(
        postback: PartnerPostback, kind: Kind, state: State, ownRevision: Int64,
        publishedRevision: Int64, publishedDocument: PartnerDocument?,
        publishedContent: PostbackContent?, revision: Int64, boundary: Int64
    ) {
        self.postback = postback
        self.kind = kind
        self.state = state
        self.ownRevision = ownRevision
        self.publishedRevision = publishedRevision
        self.publishedDocument = publishedDocument
        self.publishedContent = publishedContent
        self.revision = revision
        self.boundary = boundary
    }

    /// The amount to add to the set's own revisions when it publishes better copies later.
    package var revisionOffset: Int64 { revision - ownRevision }

    /// `id:revision` of the replaced document, if any.
    package var supersedes: String? {
        publishedRevision > 0 ? "\(postback.id):\(publishedRevision)" : nil
    }
}

/// A digest of a document's content, without its revision: equal for equal content.
package struct PostbackContent: Hashable, Sendable {
    /// The first 16 bytes of a SHA-256.
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(of postback: PartnerPostback) {
        var hash = SHA256()
        for text in [
            ",\(postback.document.content)}", postback.adNetworkID, postback.campaign,
            "\(postback.hasSourceIdentifier) \(postback.appID) \(postback.sourceAppID)",
        ] {
            let bytes = Array("\(text.utf8.count):\(text)".utf8)
            bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
        }
        bytes = Array(hash.finalize().prefix(16))
    }

    /// The content of a withdrawn correction, which is otherwise unknown.
    package static let withdrawn = PostbackContent(bytes: Array(repeating: 0, count: 16))
}

/// The corrections of a promoted set of stores: `corrections.sqlite` beside its `postbacks.sqlite`.
///
/// It contains the documents to send to partners, their state, and the number from which the set's own revisions
/// continue: revision numbers never repeat and never decrease.
package final class CorrectionStore {
    package let path: String
    private let queue: DatabaseQueue

    package static let fileName = "corrections.sqlite"
    private static let mark = StoreMark(
        applicationID: 0x5765_6363, version: 1, foreign: "the database of another program")

    /// Nil for a directory without corrections. Throws `emptied` if the file is empty.
    package convenience init?(directory: String) throws(StoreError) {
        let path = Self.path(in: directory)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        try StoreReader.requireContent(path)
        try self.init(path: path)
    }

    /// The corrections of a stream's store in force, at `presentPath`.
    package convenience init?(of stream: String, in sets: PromotionJournal) throws(StoreError) {
        guard let path = try Self.presentPath(of: stream, in: sets) else { return nil }
        try self.init(path: path)
    }

    /// The path of the corrections of the store in force; nil if no promotion has put it in force. Throws
    /// `correctionsGone` if a promotion did and they are missing, and `emptied` if the file is empty: revision
    /// numbers would be published twice.
    package static func presentPath(
        of stream: String, in sets: PromotionJournal
    ) throws(StoreError) -> String? {
        let path = path(in: sets.directory(of: stream))
        if FileManager.default.fileExists(atPath: path) {
            try StoreReader.requireContent(path)
            return path
        }
        guard !sets.hasPromoted(stream) else { throw .correctionsGone(path: path) }
        return nil
    }

    package static func path(in directory: String) -> String {
        PromotionJournal.join(directory, fileName)
    }

    private init(path: String) throws(StoreError) {
        self.path = path
        do throws(StoreError) {
            queue = try Self.open(path)
        } catch {
            // The error would advise to move the file away and fold again, which would use revision numbers twice.
            guard case .notAStore(_, let detail) = error else { throw error }
            throw .damaged(path: path, detail: detail)
        }
    }

    private static func open(_ path: String) throws(StoreError) -> DatabaseQueue {
        try StoreError.naming("open", path) {
            let queue = try DatabaseQueue(
                path: path,
                configuration: CheckedPages.configuration(
                    pragmas: "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL"))
            let (application, found) = try queue.read(mark.read)
            guard application == mark.applicationID else {
                throw StoreError.notAStore(path: path, detail: mark.foreign)
            }
            guard found == mark.version else {
                throw StoreError.newerVersion(path: path, found: found, supported: mark.version)
            }
            return queue
        }
    }

    /// Writes the corrections of a set that is not in force, and replaces those of its last time in force. Durable
    /// when it returns; a crash leaves either the new ones or unusable ones.
    package static func replace(
        in directory: String, _ write: ((Correction) throws -> Void) throws -> Void
    ) throws {
        try mark.makeFile(schema, at: path(in: directory)) { db in
            try write { correction in try insert(correction, db) }
        }
    }

    /// The corrections of these kinds and states, in order of partition and origin.
    package func forEach(
        kinds: Set<Correction.Kind> = [.changed, .added, .withdrawn],
        states: Set<Correction.State> = Set(Correction.State.allCases),
        _ body: (_ row: Int64, Correction) throws -> Void
    ) throws {
        var last: Int64 = 0
        while true {
            // In chunks, so that the caller can mark sent ones in between.
            let piece = try read { db in
                try Row.fetchAll(
                    db,
                    sql: """
                        SELECT *, CAST(ad_network_id AS BLOB) AS network FROM corrections
                        WHERE row > ? ORDER BY row LIMIT 500
                        """,
                    arguments: [last]
                ).compactMap { row in Correction(row).map { (row["row"] as Int64, $0) } }
            }
            guard let end = piece.last else { return }
            for (row, correction) in piece
            where kinds.contains(correction.kind) && states.contains(correction.state) {
                try body(row, correction)
            }
            last = end.0
        }
    }

    /// The correction of a partner postback; nil without a difference.
    package func correction(of id: String, partition: Int32) throws(StoreError) -> Correction? {
        try read { db in
            try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT *, CAST(ad_network_id AS BLOB) AS network FROM corrections
                        WHERE partition = ? AND id = ?
                        """),
                arguments: [partition, id]
            ).flatMap(Correction.init)
        }
    }

    /// Notes the state of sending. Durable when it returns.
    package func set(_ state: Correction.State, of rows: [Int64]) throws(StoreError) {
        guard !rows.isEmpty else { return }
        try StoreError.naming("write", path) {
            try queue.write { db in
                let update = try db.cachedStatement(
                    sql: "UPDATE corrections SET state = ? WHERE row = ?")
                for row in rows { try update.execute(arguments: [state.rawValue, row]) }
            }
        }
    }

    // MARK: Documents read from the topic

    /// How far the topic was read for a partition.
    package struct Reading: Equatable, Sendable {
        package var partition: Int32
        /// The group's offset: the documents of records below it are known.
        package var nextOffset: Int64
        /// The promotion under which the group published them; nil for none.
        package var promotion: Int64?

        package init(partition: Int32, nextOffset: Int64, promotion: Int64?) {
            self.partition = partition
            self.nextOffset = nextOffset
            self.promotion = promotion
        }
    }

    /// Records documents that were read from the topic, in one durable transaction. They replace corrections of the
    /// same ids. The caller has locked the corrections.
    ///
    /// - Parameter sent: the rows of corrections that are in the topic.
    package static func record(
        _ published: [Correction], sent: [Int64], _ readings: [Reading], in directory: String
    ) throws {
        let path = path(in: directory)
        func write(_ db: Database) throws {
            try db.execute(sql: readingsTable)
            for correction in published { try insert(correction, db) }
            for row in sent {
                try db.execute(
                    sql: "UPDATE corrections SET state = ? WHERE row = ?",
                    arguments: [Correction.State.sent.rawValue, row])
            }
            for reading in readings {
                try db.execute(
                    sql: "INSERT OR REPLACE INTO readings VALUES (?, ?, ?)",
                    arguments: [reading.partition, reading.nextOffset, reading.promotion])
            }
        }
        guard FileManager.default.fileExists(atPath: path) else {
            try mark.makeFile(schema, at: path, write)
            return
        }
        let corrections = try CorrectionStore(path: path)
        try StoreError.naming("write", path) { try corrections.queue.write(write) }
    }

    /// How far the topic was read for partitions, in their order.
    package func readings() throws(StoreError) -> [Reading] {
        try read { db in
            guard try db.tableExists("readings") else { return [] }
            return try Row.fetchAll(db, sql: "SELECT * FROM readings ORDER BY partition").map {
                Reading(
                    partition: $0["partition"], nextOffset: $0["next_offset"],
                    promotion: $0["promotion"])
            }
        }
    }

    /// The corrections of a partition with an unknown own revision, and a boundary up to an offset.
    package func uncounted(
        of partition: Int32, through offset: Int64
    ) throws(StoreError) -> [(row: Int64, Correction)] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT *, CAST(ad_network_id AS BLOB) AS network FROM corrections
                    WHERE partition = ? AND own_revision = ? AND boundary <= ?
                    """,
                arguments: [partition, Correction.unknownRevision, offset]
            ).compactMap { row in Correction(row).map { (row["row"] as Int64, $0) } }
        }
    }

    /// The partitions of corrections with an unknown own revision.
    package func uncountedPartitions() throws(StoreError) -> Set<Int32> {
        try read { db in
            try Int32.fetchSet(
                db, sql: "SELECT DISTINCT partition FROM corrections WHERE own_revision = ?",
                arguments: [Correction.unknownRevision])
        }
    }

    /// Sets own revisions of rows, and deletes rows without a difference. Durable when it returns.
    package func count(
        _ ownRevisions: [(row: Int64, revision: Int64)], deleting rows: [Int64]
    ) throws(StoreError) {
        try StoreError.naming("write", path) {
            try queue.write { db in
                for (row, revision) in ownRevisions {
                    try db.execute(
                        sql: "UPDATE corrections SET own_revision = ? WHERE row = ?",
                        arguments: [revision, row])
                }
                for row in rows {
                    try db.execute(
                        sql: "DELETE FROM corrections WHERE row = ?", arguments: [row])
                }
            }
        }
    }

    private static let readingsTable = """
        CREATE TABLE IF NOT EXISTS readings (
          -- How far the topic of documents was read after a restore.
          partition INTEGER PRIMARY KEY, -- of the postbacks
          next_offset INTEGER NOT NULL, -- of the group: documents of records below it are known
          promotion INTEGER -- under which they were published, in milliseconds since 1970; null for none
        ) STRICT;
        """

    private func read<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
        try StoreError.naming("read", path) { try queue.read(body) }
    }

    private static func insert(_ correction: Correction, _ db: Database) throws {
        let postback = correction.postback
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO corrections VALUES (
                  NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            postback.partition, postback.partner, postback.id, correction.kind.rawValue,
            correction.state.rawValue, correction.boundary, correction.ownRevision,
            correction.publishedRevision, correction.publishedDocument?.stored,
            correction.publishedContent.map { Data($0.bytes) }, correction.revision,
            correction.kind == .unchanged ? "" : postback.document.stored, postback.originOffset,
            postback.adNetworkID, postback.campaign, postback.hasSourceIdentifier, postback.appID,
            postback.sourceAppID,
        ])
    }

    private static let schema = """
        CREATE TABLE corrections (
          -- Differences between a promoted set of stores and the documents that partners received.
          row INTEGER PRIMARY KEY,
          partition INTEGER NOT NULL, -- of the postback
          partner TEXT NOT NULL,
          id TEXT NOT NULL, -- of the partner postback, 32 hex digits
          kind TEXT NOT NULL, -- 'changed', 'added', 'withdrawn', 'unchanged' (only the revisions differ), 'not_compared'
          state TEXT NOT NULL, -- 'due', 'sending' (it may be in the log), 'sent', 'obsolete', 'none'
          boundary INTEGER NOT NULL, -- the set itself publishes the results of records from this offset on
          own_revision INTEGER NOT NULL, -- last revision of the set below the boundary; 0: none, -1: not folded yet
          published_revision INTEGER NOT NULL, -- last revision published before; 0 for none
          published_document TEXT, -- the last published document, without the campaign's names
          published_content BLOB, -- first 16 bytes of the SHA-256 of its content; null: nothing, or unknown
          revision INTEGER NOT NULL, -- of the correction; later own revisions get revision - own_revision added
          document TEXT NOT NULL, -- the document of the set; if withdrawn, the published one
          origin_offset INTEGER NOT NULL, -- of the postback
          ad_network_id TEXT NOT NULL,
          campaign TEXT NOT NULL,
          has_source_identifier INTEGER NOT NULL,
          app_id INTEGER NOT NULL,
          source_app_id INTEGER NOT NULL,
          UNIQUE (partition, id)
        ) STRICT;
        """
}

extension Correction {
    /// Reads a row; nil for words that this version does not know.
    fileprivate init?(_ row: Row) {
        guard let kind = Kind(rawValue: row["kind"]), let state = State(rawValue: row["state"])
        else { return nil }
        let ownRevision: Int64 = row["own_revision"]
        let publishedRevision: Int64 = row["published_revision"]
        self.init(
            postback: PartnerPostback(row, revision: ownRevision), kind: kind, state: state,
            ownRevision: ownRevision, publishedRevision: publishedRevision,
            publishedDocument: (row["published_document"] as String?).map {
                PartnerDocument(stored: $0, id: row["id"], revision: publishedRevision)
            },
            publishedContent: (row["published_content"] as Data?).map {
                PostbackContent(bytes: [UInt8]($0))
            },
            revision: row["revision"], boundary: row["boundary"])
    }
}
