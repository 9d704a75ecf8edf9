import Crypto
import DatabaseFiles
import Foundation
import GRDB
import Streams

/// How a promoted set of stores differs from the documents that were published before it, for one postback
/// of one partner.
package struct Correction: Sendable {
    /// In what it differs.
    package enum Kind: String, CaseIterable, Sendable {
        /// Its content is another one.
        case changed
        /// It was never published.
        case added
        /// It would not have been published.
        case withdrawn
        /// Only the numbers of the revisions differ: nothing is to be sent.
        case unchanged
        /// The set begins behind its first record, and does not know what it would have said: nothing is to be sent.
        case notCompared = "not_compared"
    }

    /// How far sending is.
    package enum State: String, CaseIterable, Sendable {
        /// Not sent.
        case due
        /// Being sent: it may be in the log.
        case sending
        /// In the log.
        case sent
        /// A better copy was published since: not sent any more.
        case obsolete
        /// Not to be sent.
        case none
    }

    /// The set's own document; of a withdrawn one the document that was published last.
    package var postback: PartnerPostback
    package var kind: Kind
    package var state: State
    /// The set's own last revision of a record below `boundary`; 0 when it has none.
    package var ownRevision: Int64
    /// The last revision that was published before; 0 when none was.
    package var publishedRevision: Int64
    /// The document that was published last; nil when none was, when it is not known, and for what is
    /// unchanged.
    package var publishedDocument: PartnerDocument?
    /// The content that was published last; nil when none was, or it is not known.
    package var publishedContent: PostbackContent?
    /// The revision that the correction has, or would have: no other document gets that number.
    package var revision: Int64
    /// Offset in the postback's partition. The set itself publishes the documents of records from there on.
    package var boundary: Int64

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

    /// What is added to the set's own revisions when it publishes better copies later.
    package var revisionOffset: Int64 { revision - ownRevision }

    /// `id:revision` of the document that it replaces; nil when there is none.
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

    /// The content of a correction that was withdrawn: nothing is known but that.
    package static let withdrawn = PostbackContent(bytes: Array(repeating: 0, count: 16))
}

/// What a promoted set of stores corrects: `corrections.sqlite` beside its `postbacks.sqlite`.
///
/// It has what is to be sent to partners and what was sent, and the number from which the set's own revisions
/// go on: none is published twice, and none is lower than one before.
package final class CorrectionStore {
    package let path: String
    private let queue: DatabaseQueue

    package static let fileName = "corrections.sqlite"
    private static let mark = StoreMark(
        applicationID: 0x5765_6363, version: 1, foreign: "a database of something else")

    /// Nil for a directory without corrections.
    package convenience init?(directory: String) throws(StoreError) {
        let path = Self.path(in: directory)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        try self.init(path: path)
    }

    /// Those of the store of a stream that is in force, as `presentPath` finds them.
    package convenience init?(of stream: String, in sets: PromotionJournal) throws(StoreError) {
        guard let path = try Self.presentPath(of: stream, in: sets) else { return nil }
        try self.init(path: path)
    }

    /// Where those of the store in force are; nil when no promotion has put it there. Throws `correctionsGone` when one
    /// did and they are not there, and `emptied` when nothing is in the file: numbers of revisions would be published twice.
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
            // Its words say to move the file away and fold again, which would use numbers of revisions twice.
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
                throw StoreError.newerVersion(path: path, found: found, known: mark.version)
            }
            return queue
        }
    }

    /// Writes the corrections of a set that is not in force, in the place of those that it had when it was. Durable when
    /// it returns; a crash leaves the new ones, or none that can be used.
    package static func replace(
        in directory: String, _ write: ((Correction) throws -> Void) throws -> Void
    ) throws {
        try mark.makeFile(schema, at: path(in: directory)) { db in
            try write { correction in try insert(correction, db) }
        }
    }

    /// The corrections, in order of partition and origin; those of these kinds, in these states.
    package func forEach(
        kinds: Set<Correction.Kind> = [.changed, .added, .withdrawn],
        states: Set<Correction.State> = Set(Correction.State.allCases),
        _ body: (_ row: Int64, Correction) throws -> Void
    ) throws {
        var last: Int64 = 0
        while true {
            // A piece at a time, so that what is sent can be marked in between.
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

    /// What is known of a partner postback; nil when nothing differs.
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

    /// Notes how far sending is. Durable when it returns.
    package func note(_ state: Correction.State, of rows: [Int64]) throws(StoreError) {
        guard !rows.isEmpty else { return }
        try StoreError.naming("write", path) {
            try queue.write { db in
                let update = try db.cachedStatement(
                    sql: "UPDATE corrections SET state = ? WHERE row = ?")
                for row in rows { try update.execute(arguments: [state.rawValue, row]) }
            }
        }
    }

    private func read<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
        try StoreError.naming("read", path) { try queue.read(body) }
    }

    private static func insert(_ correction: Correction, _ db: Database) throws {
        let postback = correction.postback
        try db.cachedStatement(
            sql: """
                INSERT INTO corrections VALUES (
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
          -- Where a promoted set of stores differs from what partners were told before.
          row INTEGER PRIMARY KEY,
          partition INTEGER NOT NULL, -- of the postback
          partner TEXT NOT NULL,
          id TEXT NOT NULL, -- of the partner postback, 32 hex digits
          kind TEXT NOT NULL, -- 'changed', 'added', 'withdrawn', 'unchanged' (only the revisions differ), 'not_compared'
          state TEXT NOT NULL, -- 'due', 'sending' (it may be in the log), 'sent', 'obsolete', 'none'
          boundary INTEGER NOT NULL, -- the set itself publishes what comes of records from this offset on
          own_revision INTEGER NOT NULL, -- the set's own last one below the boundary; 0 for none
          published_revision INTEGER NOT NULL, -- the last one that was published before; 0 for none
          published_document TEXT, -- what was published last, without the campaign's names
          published_content BLOB, -- first 16 bytes of the SHA-256 of what it said; null: nothing, or not known
          revision INTEGER NOT NULL, -- of the correction; later own revisions get revision - own_revision added
          document TEXT NOT NULL, -- the set's own, or of a withdrawn one what was published
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
