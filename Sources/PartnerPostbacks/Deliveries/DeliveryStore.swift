import AggregateStore
import DatabaseFiles
import Foundation
import GRDB

/// What became of every document for partners: `deliveries.sqlite` of the data directory. Unlike the
/// stores of folds it does not follow from the log alone, so that it is to be kept.
///
/// One worker delivers from it, and the operator's command changes it beside that; so it has a rollback
/// journal, whose commits any number of processes may make. Commits are durable when they return.
package final class DeliveryStore {
    /// Path of the file.
    package let path: String
    private let queue: DatabaseQueue
    private let lock: StoreLock?

    /// What the stream is called whose documents are delivered.
    package static let streamName = "partner-postbacks"

    /// The file of a data directory.
    package static func path(in directory: String) -> String { "\(directory)/deliveries.sqlite" }

    /// Opens the store for the worker, which makes it when there is none.
    init(path: String, topic: String, logIdentity: String) throws(StoreError) {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent,
                withIntermediateDirectories: true)
        } catch {
            throw .disk(operation: "create", path: path, detail: SystemRefusal.words(of: error))
        }
        lock = try StoreLock(storePath: path)
        do {
            queue = try DatabaseQueue(path: path, configuration: Self.configuration)
            try queue.inDatabase { db in
                guard try !Self.isMade(db, path: path) else { return }
                try Self.make(db, topic: topic, logIdentity: logIdentity)
            }
        } catch {
            throw StoreError(error, operation: "open", path: path)
        }
    }

    /// Opens a store that exists, for the operator.
    package init(existing path: String) throws(StoreError) {
        self.path = path
        lock = nil
        try StoreReader.requireFile(path)
        do {
            queue = try DatabaseQueue(path: path, configuration: Self.configuration)
            let isMade = try queue.inDatabase { try Self.isMade($0, path: path) }
            guard isMade else { throw StoreError.noStore(path: path) }
        } catch {
            throw StoreError(error, operation: "open", path: path)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "deliveries"
        // `weir backup` and `weir check` keep what they read as it is until they are through.
        configuration.busyMode = .timeout(60)
        configuration.prepareDatabase { db in
            try CheckedPages.prepare(db)
            try db.execute(
                sql: "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL")
        }
        return configuration
    }

    /// Reads from the store.
    func read<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
        do {
            return try queue.inDatabase(body)
        } catch {
            throw StoreError(error, operation: "read", path: path)
        }
    }

    /// Runs `body` in one durable transaction.
    func commit<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
        do {
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
        } catch {
            throw StoreError(error, operation: "write", path: path)
        }
    }

    /// The topic that is delivered, and what told its log from others when the store began.
    package func origin() throws(StoreError) -> (topic: String, logIdentity: String) {
        let row = try read { try Row.fetchOne($0, sql: "SELECT * FROM store") }
        return (row?["topic"] ?? "", row?["log_identity"] ?? "")
    }

    /// The first record of each partition that is not taken over yet.
    package func nextOffsets() throws(StoreError) -> [Int32: Int64] {
        try read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT partition, next_offset FROM partitions")
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
        }
    }
}
