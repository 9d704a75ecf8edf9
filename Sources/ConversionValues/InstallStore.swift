import DatabaseFiles
import EventLog
import Foundation
import GRDB
import Store

/// The states of installs in one SQLite file: a projection of the topic `conversion-updates` that can be deleted and
/// rebuilt.
///
/// Commits need not be durable, because lost states are read from the log again. After a power loss the file may be
/// damaged and rebuilt as a whole, unlike a file with a sync for each commit.
final class InstallStore {
    let path: String
    private var queue: DatabaseQueue
    private let lock: StoreLock
    private let origin: Origin
    private let warn: @Sendable (String) -> Void

    private struct Origin {
        let topic: String
        let logIdentity: String
        let partitionCount: Int32
    }

    private static let mark = StoreMark(
        applicationID: 0x5765_6976, version: 4, foreign: "another program's database")

    /// Opens or creates the file. If the file is damaged or follows another log, it is set aside and reported to
    /// `warn`.
    init(
        path: String, topic: String, logIdentity: String, partitionCount: Int32,
        warn: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ConversionServiceError) {
        self.path = path
        self.warn = warn
        origin = Origin(topic: topic, logIdentity: logIdentity, partitionCount: partitionCount)
        do throws(StoreError) {
            lock = try StoreLock(newStore: path, operation: "open")
        } catch {
            throw .store(error)
        }
        do throws(ConversionServiceError) {
            queue = try Self.open(path, origin)
        } catch {
            guard error.isOfFile else { throw error }
            try Self.setAside(path, error, warn)
            queue = try Self.open(path, origin)
        }
    }

    /// Sets the file aside and makes an empty one.
    func recreate(_ reason: ConversionServiceError) throws(ConversionServiceError) {
        try? queue.close()
        try Self.setAside(path, reason, warn)
        queue = try Self.open(path, origin)
    }

    /// Replaces the file that was set aside earlier.
    private static func setAside(
        _ path: String, _ reason: ConversionServiceError, _ warn: (String) -> Void
    ) throws(ConversionServiceError) {
        let files = FileManager.default
        let aside = path + ".set-aside"
        do {
            for end in ["", "-wal", "-shm"] {
                if files.fileExists(atPath: aside + end) {
                    try files.removeItem(atPath: aside + end)
                }
                guard files.fileExists(atPath: path + end) else { continue }
                try files.moveItem(atPath: path + end, toPath: aside + end)
            }
        } catch {
            throw .store(
                .disk(
                    operation: "set aside", path: path, detail: SystemRefusal.explanation(of: error)
                ))
        }
        warn("\(path) is rebuilt from the log, and the old file is now \(aside): \(reason)")
    }

    private static func open(
        _ path: String, _ origin: Origin
    ) throws(ConversionServiceError) -> DatabaseQueue {
        let row: Row?
        let queue: DatabaseQueue
        do {
            var configuration = CheckedPages.configuration(
                pragmas: "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON")
            configuration.journalMode = .wal
            queue = try DatabaseQueue(path: path, configuration: configuration)
            row = try queue.inDatabase { db in
                try migrate(db, path: path, origin)
                return try Row.fetchOne(db, sql: "SELECT * FROM log")
            }
        } catch {
            throw Self.error(error, "open", path)
        }
        guard row?["topic"] == origin.topic, row?["log_identity"] == origin.logIdentity else {
            throw .otherLog(path: path, detail: "the topic is another one or was recreated")
        }
        guard row?["partition_count"] == origin.partitionCount else {
            throw .otherLog(path: path, detail: "the topic has another number of partitions")
        }
        return queue
    }

    private static func migrate(_ db: Database, path: String, _ origin: Origin) throws {
        let found = try mark.read(db).version
        guard found <= mark.version else {
            throw StoreError.newerVersion(path: path, found: found, supported: mark.version)
        }
        let isOurs = try mark.isOn(db)
        guard try isOurs || (found < mark.version && StoreMark.isEmpty(db)) else {
            throw StoreError.notAStore(path: path, detail: mark.foreign)
        }
        guard found < mark.version else { return }
        // The contents of an older version are read from the log again.
        let old = isOurs ? "DROP TABLE log; DROP TABLE partitions; DROP TABLE installs;\n" : ""
        try mark.make(old + schema, in: db) { db in
            try db.execute(
                sql: "INSERT INTO log VALUES (?, ?, ?)",
                arguments: [origin.topic, origin.logIdentity, origin.partitionCount])
        }
    }

    private static let schema = """
        CREATE TABLE log (
          -- One row: what this file follows.
          topic TEXT NOT NULL,
          log_identity TEXT NOT NULL, -- identifies the log
          partition_count INTEGER NOT NULL -- determines the partition of an install
        ) STRICT;

        CREATE TABLE partitions (
          -- How far each partition of the topic is read.
          partition INTEGER PRIMARY KEY,
          next_offset INTEGER NOT NULL, -- the first unread record
          latest_ms INTEGER NOT NULL -- the latest instant of its updates; milliseconds since 1970
        ) STRICT;

        CREATE TABLE installs (
          -- The state of each install.
          app_id INTEGER NOT NULL,
          install_id TEXT NOT NULL, -- vendor id (idfv)
          framework TEXT NOT NULL, -- each has its own values
          conversion TEXT NOT NULL, -- '', or for a re-engagement a colon and its tag
          partition INTEGER NOT NULL, -- where its updates are
          expires_ms INTEGER NOT NULL, -- deleted when its partition reaches this time
          state TEXT NOT NULL, -- JSON
          PRIMARY KEY (app_id, install_id, framework, conversion)
        ) STRICT, WITHOUT ROWID;

        CREATE INDEX installs_by_expiry ON installs (partition, expires_ms);
        """
}

extension InstallStore {
    /// Without partitions that were never read.
    func progress() throws(ConversionServiceError) -> [Int32: TopicProgress] {
        try read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT * FROM partitions")
            return Dictionary(
                uniqueKeysWithValues: rows.map {
                    let progress = TopicProgress(
                        nextOffset: $0["next_offset"], latestMilliseconds: $0["latest_ms"])
                    return ($0["partition"], progress)
                })
        }
    }

    /// The stored state of an install, even if it is due to be forgotten; nil for none.
    func state(of key: InstallKey) throws(ConversionServiceError) -> InstallState? {
        try read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT state FROM installs
                    WHERE app_id = ? AND install_id = ? AND framework = ? AND conversion = ?
                    """)
            let text = try String.fetchOne(
                statement,
                arguments: [
                    key.appID, key.installID, key.framework.rawValue, key.storedConversion,
                ])
            return try text.map {
                do {
                    return try JSONDecoder().decode(InstallState.self, from: Data($0.utf8))
                } catch {
                    throw StoreError.notAStore(
                        path: path, detail: "the state of an install cannot be read")
                }
            }
        }
    }

    /// Stores states together with the progress that produced them, and removes some of the installs that are due to
    /// be forgotten.
    func store(
        _ states: [InstallKey: InstallState], progress: [Int32: TopicProgress],
        partition: (InstallKey) -> Int32
    ) throws(ConversionServiceError) {
        do {
            try queue.inTransaction(.immediate) { db in
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                let insertion = try db.cachedStatement(
                    sql: "INSERT OR REPLACE INTO installs VALUES (?, ?, ?, ?, ?, ?, ?)")
                // Sorted, because a dictionary's order differs between runs: each run should access the disk in the
                // same order.
                let keys = states.keys.map { (key: $0, order: Array($0.text.utf8)) }
                    .sorted { $0.order.lexicographicallyPrecedes($1.order) }
                for key in keys.map(\.key) {
                    guard let state = states[key] else { continue }
                    let text = String(decoding: try encoder.encode(state), as: UTF8.self)
                    try insertion.execute(arguments: [
                        key.appID, key.installID, key.framework.rawValue, key.storedConversion,
                        partition(key), state.expiryMilliseconds, text,
                    ])
                }
                for (partition, progress) in progress.sorted(by: { $0.key < $1.key }) {
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO partitions VALUES (?, ?, ?)",
                        arguments: [
                            partition, progress.nextOffset, progress.latestMilliseconds,
                        ])
                    try Self.removeForgotten(db, partition, progress.latestMilliseconds)
                }
                return .commit
            }
        } catch {
            throw Self.error(error, "write", path)
        }
    }

    /// Deletes the states of installs with this digest of their id, and overwrites their bytes, also in the write-ahead
    /// log. Durable when it returns.
    func erase(idDigest: String, partition: Int32) throws(ConversionServiceError) {
        do {
            try queue.writeWithoutTransaction { db in
                let ids = try String.fetchSet(
                    db, sql: "SELECT install_id FROM installs WHERE partition = ?",
                    arguments: [partition]
                ).filter { ErasureNotice.digest(ofID: $0) == idDigest }
                guard !ids.isEmpty else { return }
                try db.inTransaction(.immediate) {
                    for id in ids.sorted() {
                        try db.execute(
                            sql: "DELETE FROM installs WHERE partition = ? AND install_id = ?",
                            arguments: [partition, id])
                    }
                    return .commit
                }
                // A reader may prevent it now. Then later checkpoints do it.
                _ = try? db.checkpoint(.truncate)
            }
        } catch {
            throw Self.error(error, "erase from", path)
        }
    }

    /// A bounded number at once, so that no answer waits long. `TopicProgress.known` hides the rest.
    private static func removeForgotten(
        _ db: Database, _ partition: Int32, _ latestMilliseconds: Int64
    ) throws {
        try db.cachedStatement(
            sql: """
                DELETE FROM installs WHERE (app_id, install_id, framework, conversion) IN (
                  SELECT app_id, install_id, framework, conversion FROM installs
                  WHERE partition = ? AND expires_ms <= ? LIMIT \(mostRemovedAtOnce))
                """
        ).execute(arguments: [partition, latestMilliseconds])
    }

    private static let mostRemovedAtOnce = 1000

    private func read<Value>(
        _ body: (Database) throws -> Value
    ) throws(ConversionServiceError) -> Value {
        do {
            return try queue.inDatabase(body)
        } catch {
            throw Self.error(error, "read", path)
        }
    }

    private static func error(
        _ error: any Error, _ operation: String, _ path: String
    ) -> ConversionServiceError {
        .store(StoreError(error, operation: operation, path: path))
    }
}

extension InstallKey {
    /// A unique text for each install.
    fileprivate var text: String {
        "\(appID) \(framework.rawValue) \(storedConversion) \(installID)"
    }

    /// As stored in the column `conversion`.
    fileprivate var storedConversion: String {
        switch conversion {
        case .install: ""
        case .reengagement(let tag): ":\(tag)"
        }
    }
}

/// The states of installs in `conversions.sqlite`, for an erasure.
package enum StoredInstalls {
    /// The number of states of installs with this id, in any case of its letters. 0 without a file.
    package static func count(id: String, at path: String) throws(StoreError) -> Int {
        try partitionsOfStates(id: id, at: path).count
    }

    /// The partitions of the topic that the states follow from.
    package static func partitions(id: String, at path: String) throws(StoreError) -> Set<Int32> {
        Set(try partitionsOfStates(id: id, at: path))
    }

    private static func partitionsOfStates(
        id: String, at path: String
    ) throws(StoreError) -> [Int32] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try StoreError.naming("read", path) {
            try CheckedPages.openToRead(path).read { db in
                guard try db.tableExists("installs") else { return [] }
                return try Int32.fetchAll(
                    db,
                    sql: "SELECT partition FROM installs WHERE lower(install_id) = lower(?)",
                    arguments: [id])
            }
        }
    }

    /// Reads the topic up to its end, so that the file follows the erasures in it. Throws `locked` while a collector
    /// uses the file: it follows them by itself.
    package static func follow(
        _ log: any LogBackend, at path: String
    ) throws(ConversionServiceError) {
        let ledger = try InstallLedger(
            log: log, storePath: path, models: ConversionApps(models: []), warn: { _ in })
        defer { ledger.close() }
        try ledger.catchUp()
    }
}

/// The progress of `conversions.sqlite` in its topic, for programs other than its collector.
package struct ConversionStoreProgress: Sendable {
    package let topic: String
    /// Distinguishes the topic's log from others.
    package let logIdentity: String
    /// By partition, the first record that is not read yet.
    package let nextOffsets: [Int32: Int64]

    /// The file's name in a data directory.
    package static let fileName = "conversions.sqlite"

    /// Reads an existing file. Nil if nothing was written to it yet.
    package init?(path: String) throws(StoreError) {
        let found = try StoreError.naming("read", path) {
            try CheckedPages.openToRead(path).read { db -> (Row, [Row])? in
                guard try db.tableExists("partitions"),
                    let log = try Row.fetchOne(db, sql: "SELECT topic, log_identity FROM log")
                else { return nil }
                return (
                    log, try Row.fetchAll(db, sql: "SELECT partition, next_offset FROM partitions")
                )
            }
        }
        guard let (log, partitions) = found else { return nil }
        topic = log["topic"]
        logIdentity = log["log_identity"]
        nextOffsets = partitions.reduce(into: [:]) { $0[$1["partition"]] = $1["next_offset"] }
    }
}
