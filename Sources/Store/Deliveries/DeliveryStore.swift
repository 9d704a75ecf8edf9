import DatabaseFiles
import Foundation
import GRDB

/// The state of every document for partners: `deliveries.sqlite` of the data directory. Unlike the stores of folds it
/// cannot be rebuilt from the log alone, so it must be kept.
///
/// One worker delivers from it, and the operator's command changes it at the same time. Therefore it has a rollback
/// journal, which allows commits from any number of processes. A commit is durable when it returns.
package final class DeliveryStore {
    package let path: String
    private let queue: DatabaseQueue
    private let lock: StoreLock?

    /// The name of the stream of documents.
    package static let streamName = "partner-postbacks"

    package static func path(in directory: String) -> String { "\(directory)/deliveries.sqlite" }

    /// Opens the store for the worker, and creates a missing one. An emptied store is rejected, because its pending and
    /// held deliveries would be lost.
    package init(path: String, topic: String, logIdentity: String) throws(StoreError) {
        self.path = path
        lock = try StoreLock(newStore: path)
        var found = stat()
        // A link to a disk that is not mounted exists, so no new store replaces it.
        if lstat(path, &found) != 0 {
            try StoreError.naming("create", path) {
                try Self.mark.makeFile(Self.schema, at: path) { db in
                    try db.execute(
                        sql: "INSERT INTO store (topic, log_identity) VALUES (?, ?)",
                        arguments: [topic, logIdentity])
                    try db.execute(sql: Self.setIdentity)
                }
            }
        }
        queue = try Self.open(path)
        // A reset store belongs to the log that it finds.
        guard try self.logIdentity().isEmpty else { return }
        try commit {
            try $0.execute(sql: "UPDATE store SET log_identity = ?", arguments: [logIdentity])
        }
    }

    /// Opens an existing store, for the operator's commands.
    package init(existing path: String) throws(StoreError) {
        self.path = path
        lock = nil
        try StoreReader.requireFile(path)
        queue = try Self.open(path)
    }

    /// The store of a data directory; nil if it is missing.
    package static func existing(in directory: String) throws(StoreError) -> DeliveryStore? {
        let path = path(in: directory)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try DeliveryStore(existing: path)
    }

    private static func open(_ path: String) throws(StoreError) -> DatabaseQueue {
        try StoreReader.requireContent(path)
        return try StoreError.naming("open", path) {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let isMade = try queue.inDatabase { try Self.isMade($0, path: path) }
            guard isMade else { throw StoreError.emptied(path: path) }
            return queue
        }
    }

    private static var configuration: Configuration {
        // `weir backup` and `weir check` hold a read lock until they are done.
        CheckedPages.configuration(
            pragmas: "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL", busySeconds: 60)
    }

    package func read<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
        try StoreError.naming("read", path) { try queue.inDatabase(body) }
    }

    /// Runs `body` in one durable transaction.
    package func commit<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
        try StoreError.naming("write", path) {
            var result: Result?
            try queue.inDatabase { db in
                try CheckedPages.requireInPlace(db)
                try db.inTransaction(.immediate) {
                    result = try body(db)
                    return .commit
                }
            }
            guard let result else {
                throw StoreError.backend(operation: "write", path: path, detail: "no commit")
            }
            return result
        }
    }

    /// The delivered topic, and the identity of its log when the store was created.
    package func origin() throws(StoreError) -> (topic: String, logIdentity: String) {
        let row = try read { try Row.fetchOne($0, sql: "SELECT * FROM store") }
        return (row?["topic"] ?? "", row?["log_identity"] ?? "")
    }

    /// Distinguishes this store and its copies from those of other instances.
    package func identity() throws(StoreError) -> String {
        try read { try String.fetchOne($0, sql: "SELECT identity FROM store") } ?? ""
    }

    /// The first record of each partition that is not ingested yet.
    package func nextOffsets() throws(StoreError) -> [Int32: Int64] {
        try watched().reduce(into: [:]) { $0[$1.partition] = $1.nextOffset }
    }
}

extension DeliveryStore: WatchedStore {
    package var holdsDocuments: Bool { true }

    package func logIdentity() throws(StoreError) -> String { try origin().logIdentity }

    package func watched() throws(StoreError) -> [WatchedPartition] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM partitions ORDER BY partition").map { row in
                WatchedPartition(
                    partition: row["partition"], nextOffset: row["next_offset"],
                    last: Self.fingerprints(row).last)
            }
        }
    }

    package func fingerprints(
        of partition: WatchedPartition, from offset: Int64
    ) throws(StoreError) -> [RecordFingerprint] {
        try read { db in
            try Row.fetchOne(
                db, sql: "SELECT * FROM partitions WHERE partition = ?",
                arguments: [partition.partition]
            ).map(Self.fingerprints) ?? []
        }.filter { $0.offset >= offset }
    }

    private static func fingerprints(_ row: Row) -> [RecordFingerprint] {
        let next: Int64 = row["next_offset"]
        let records: [(offset: Int64?, record: String?)] = [
            (row["known_offset"], row["known_record"]), (next - 1, row["last_record"]),
        ]
        return records.compactMap { offset, record in
            guard let offset, let record, !record.isEmpty else { return nil }
            return RecordFingerprint(
                partition: row["partition"], offset: offset, fingerprint: record)
        }
    }
}

/// The deliveries that remain in a store after a reset of its topic.
package struct DeliveriesKept {
    package let path: String
    /// The number of forgotten partitions.
    package let partitions: Int
    package let waiting: WaitingDeliveries
}

extension DeliveryStore {
    /// Resets a store after its topic was replaced, so that it reads the new one from the beginning. Deliveries stay,
    /// so that repeated documents are recognised. Throws `locked` while an instance uses it.
    package static func reset(_ path: String) throws(StoreError) -> DeliveriesKept {
        let store = try DeliveryStore(existing: path)
        return try withExtendedLifetime(StoreLock(storePath: path)) { () throws(StoreError) in
            let partitions = try store.commit { db in
                try db.execute(sql: "UPDATE store SET log_identity = ''; DELETE FROM partitions")
                let count = db.changesCount
                // Ids of records that are not documents refer to positions in the previous topic.
                try db.execute(
                    sql: """
                        UPDATE deliveries SET id = id || '#' || number
                        WHERE partner = '' AND instr(id, '#') = 0
                        """)
                return count
            }
            return DeliveriesKept(
                path: path, partitions: partitions, waiting: try store.waiting())
        }
    }
}

extension DeliveryStore {
    /// "WeiD".
    private static let mark = StoreMark(
        applicationID: 0x5765_6944, version: 5, foreign: "it is not a store of deliveries")

    private static let schema = """
        CREATE TABLE store (
          -- One row: what this file is.
          topic TEXT NOT NULL, -- the topic that is delivered
          log_identity TEXT NOT NULL, -- identifies the log
          \(identity) -- random; a copy of the file has the same one
        ) STRICT;

        CREATE TABLE partitions (
          -- How far each partition of the topic is ingested.
          partition INTEGER PRIMARY KEY,
          next_offset INTEGER NOT NULL, -- the first record that is not ingested yet
          \(lastRecord), -- fingerprint of the record before it; '' if this store did not ingest it
          known_offset INTEGER, -- an earlier record, as of the last check of the log; null if there is none
          known_record TEXT -- its fingerprint
        ) STRICT;

        CREATE TABLE disabled_partners (
          -- Partners that answered 410, 401 or 403. They receive nothing until their address changes or an
          -- operator retries.
          name TEXT PRIMARY KEY,
          disabled_ms INTEGER NOT NULL,
          url TEXT NOT NULL, -- the address in the partner's file
          \(status) -- the partner's answer
        ) STRICT, WITHOUT ROWID;

        \(resting)

        CREATE TABLE deliveries (
          -- All ingested documents with their outcome.
          number INTEGER PRIMARY KEY, -- in the order of ingestion
          id TEXT NOT NULL, -- of the document; for a record that is not a document, its place
          revision INTEGER NOT NULL,
          partner TEXT NOT NULL, -- '' for a record that is not a document
          partition INTEGER NOT NULL,
          offset INTEGER NOT NULL,
          state TEXT NOT NULL, -- pending, delivered, dead, held, superseded
          reason TEXT NOT NULL, -- why it is dead or held; '' otherwise
          attempts INTEGER NOT NULL, -- since it was ingested or retried manually
          created_ms INTEGER NOT NULL, -- when it was ingested
          next_attempt_ms INTEGER, -- null unless pending
          changed_ms INTEGER NOT NULL, -- when its state last changed
          document BLOB NOT NULL, -- as in the topic
          UNIQUE (id, revision)
        ) STRICT;

        CREATE INDEX deliveries_due ON deliveries (partner, next_attempt_ms, number)
          WHERE state = 'pending';
        CREATE INDEX deliveries_by_state ON deliveries (state, partner, changed_ms);

        CREATE TABLE attempts (
          -- All requests that were sent.
          delivery INTEGER NOT NULL, -- deliveries.number
          number INTEGER NOT NULL, -- from 1
          started_ms INTEGER NOT NULL,
          duration_ms INTEGER NOT NULL,
          status INTEGER, -- null without an answer
          fault TEXT, -- why there was no answer
          PRIMARY KEY (delivery, number)
        ) STRICT, WITHOUT ROWID;
        """

    private static let identity = "identity TEXT NOT NULL DEFAULT ''"
    private static let setIdentity = "UPDATE store SET identity = lower(hex(randomblob(16)))"

    private static let lastRecord = "last_record TEXT NOT NULL DEFAULT ''"

    private static let status = "status INTEGER NOT NULL DEFAULT 410"

    private static let resting = """
        CREATE TABLE resting_partners (
          -- Partners that receive nothing for some time: they requested a pause or cannot be reached.
          name TEXT PRIMARY KEY,
          cause TEXT NOT NULL, -- asked, away
          pause_ms INTEGER NOT NULL, -- length of the pause
          until_ms INTEGER NOT NULL, -- then one request is sent
          url TEXT NOT NULL -- the address in the partner's file
        ) STRICT, WITHOUT ROWID;
        """

    /// Whether the file has its tables, migrated to this version. Throws for a file of another program.
    package static func isMade(_ db: Database, path: String) throws -> Bool {
        let version = try mark.check(db, path: path)
        guard try version > 0 || mark.isOn(db) else { return false }
        if version < mark.version { try migrate(db) }
        return true
    }

    /// Migrates from an earlier version.
    private static func migrate(_ db: Database) throws {
        try db.inTransaction(.immediate) {
            // Another process may have migrated the file first.
            let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? mark.version
            if found < 2 { try db.execute(sql: resting) }
            if found < 3 {
                try db.execute(sql: "ALTER TABLE disabled_partners ADD COLUMN \(status)")
            }
            if found < 4 {
                try db.execute(sql: "ALTER TABLE store ADD COLUMN \(identity); \(setIdentity)")
            }
            if found < 5 {
                for column in [lastRecord, "known_offset INTEGER", "known_record TEXT"] {
                    try db.execute(sql: "ALTER TABLE partitions ADD COLUMN \(column)")
                }
                try db.execute(sql: "PRAGMA user_version = \(mark.version)")
            }
            return .commit
        }
    }
}
