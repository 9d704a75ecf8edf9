import DatabaseFiles
import EventLog
import Foundation
import GRDB

/// An event log in one SQLite file, on one machine. Many processes can read it and append to it at the same time.
///
/// SQLite's files `-wal` and `-shm` and the write lock `.lock` belong to the log too. The file must be on a local
/// disk. Readers, writers and trims open their own connections; one thread at a time uses a reader or writer.
package final class EmbeddedLog: LogBackend, Sendable {
    package enum Mode: Sendable {
        /// Create the log, and its directories.
        case create
        /// Throw `noLog` or `emptyLog`.
        case existing
    }

    /// `sqlite:` and the path as given.
    package let address: String
    /// The path without symbolic links, so that all processes use the same lock file.
    let path: String
    let connection: DatabaseQueue

    /// The longest wait of a reader for SQLite. Only recovery after a crash makes it wait.
    private static let timeoutSeconds = 10.0

    /// Throws `noLog` or `emptyLog` if the log is missing and `mode` is `existing`; `notALog`, `newerVersion`,
    /// `damaged` or `disk`; `busy` if another process takes more than 30 seconds to create it.
    package init(path: String, mode: Mode) throws(LogError) {
        address = "sqlite:\(path)"
        if mode == .create { try Self.createDirectory(of: path, address: address) }
        self.path = Self.resolved(path)
        if let connection = try Self.open(self.path, address: address) {
            self.connection = connection
            return
        }
        guard mode == .create else { throw .noLog(at: self.path, address: address) }
        _ = try EmbeddedWriteConnection(path: self.path, address: address, creating: true)
        guard let connection = try Self.open(self.path, address: address) else {
            throw .noLog(at: self.path, address: address)
        }
        self.connection = connection
    }

    /// By name in bytewise order.
    package func topics() throws(LogError) -> [TopicDescription] {
        try connection.reading("read", address) { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT name, identity, count(partition) AS partitions
                    FROM topics JOIN partitions ON topic_id = id GROUP BY id ORDER BY name
                    """
            )
            return try rows.map { row in
                TopicDescription(
                    name: row["name"],
                    partitionCount: row["partitions"],
                    identity: row["identity"],
                    isArchive: try EmbeddedSchema.isArchive(db, topic: row["name"])
                )
            }
        }
    }

    /// A reader with its own connection. Throws `unknownTopic`.
    package func reader(topic: String, group: String?) throws(LogError) -> any LogReader {
        try openReader(topic: topic, group: group)
    }

    func openReader(topic: String, group: String?) throws(LogError) -> EmbeddedLogReader {
        try requireInPlace()
        guard let connection = try Self.open(path, address: address) else {
            throw .noLog(at: self.path, address: address)
        }
        return try EmbeddedLogReader(
            topic: topic, group: group, log: self, connection: connection)
    }

    /// A writer with its own connection. Throws `disk` if the log is not writable.
    package func writer() throws(LogError) -> any LogWriter {
        EmbeddedLogWriter(connection: try openForWriting(), address: address)
    }

    func openForWriting() throws(LogError) -> EmbeddedWriteConnection {
        try requireInPlace()
        return try EmbeddedWriteConnection(path: path, address: address, creating: false)
    }

    /// An open log never continues in another file: an older copy at its path is another log.
    private func requireInPlace() throws(LogError) {
        try connection.reading("open", address) { _ in }
    }

    /// A read-only connection; nil if the file is missing or empty.
    private static func open(_ path: String, address: String) throws(LogError) -> DatabaseQueue? {
        var found = stat()
        guard stat(path, &found) == 0 else {
            if errno == ENOENT { return nil }
            throw .disk(operation: "open", address: address, detail: SystemRefusal.explanation())
        }
        if found.st_mode & S_IFMT == S_IFDIR {
            throw .disk(
                operation: "open", address: address, detail: SystemRefusal.directory.explanation)
        }
        // A connection that closes at this moment removes the write-ahead log while this one opens it. SQLite reports
        // this as an I/O error. A real disk failure occurs again.
        var triesLeft = 5
        while true {
            do {
                let connection = try CheckedPages.openToRead(path, busySeconds: timeoutSeconds)
                let finding = try connection.inDatabase { db in
                    try EmbeddedSchema.inspect(db, address: address)
                }
                return finding == .log ? connection : nil
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_IOERR && !error.isOfDamagedPage && triesLeft > 0
            {
                triesLeft -= 1
                usleep(20_000)
            } catch {
                throw LogError(error, operation: "open", address: address)
            }
        }
    }

    private static func createDirectory(of path: String, address: String) throws(LogError) {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(
                at: directory,
                withIntermediateDirectories: true
            )
        } catch {
            throw .disk(
                operation: "create",
                address: address,
                detail: "no directory \(directory.path): \(SystemRefusal.explanation(of: error))"
            )
        }
    }

    /// The real path of a file, or of the directory in which it will be created.
    private static func resolved(_ path: String) -> String {
        if let whole = real(path) { return whole }
        let url = URL(fileURLWithPath: path)
        let directory = url.deletingLastPathComponent().path
        return (real(directory) ?? directory) + "/" + url.lastPathComponent
    }

    private static func real(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }
}

extension DatabaseQueue {
    /// Runs a read; errors contain the operation and the log.
    func reading<Answer>(
        _ operation: String,
        _ address: String,
        _ body: (Database) throws -> Answer
    ) throws(LogError) -> Answer {
        do {
            return try inDatabase { db in
                try CheckedPages.requireInPlace(db)
                return try body(db)
            }
        } catch {
            throw LogError(error, operation: operation, address: address)
        }
    }
}

extension EmbeddedLog {
    private static let recordsAtOnce = 10_000
    private static let bytesAtOnce = 16 << 20

    /// Reads all records and compares each with its checksum. Throws `damagedRecord` or `damaged`.
    ///
    /// - Parameter progress: called with the number of records read so far.
    /// - Returns: the number of records.
    @discardableResult
    package func verifyRecords(_ progress: (Int) -> Void = { _ in }) throws(LogError) -> Int {
        let batch = RecordBatch()
        var count = 0
        for topic in try topics() {
            let reader = try openReader(topic: topic.name, group: nil)
            let ends = try reader.bounds()
            try reader.subscribe(.all)
            // Does not wait for records appended during the check.
            while ends.contains(where: {
                (reader.position(partition: $0.partition) ?? $0.endOffset) < $0.endOffset
            }) {
                _ = try reader.read(
                    into: batch, maxRecords: Self.recordsAtOnce, maxBytes: Self.bytesAtOnce,
                    waitMilliseconds: 0)
                count += batch.count
                progress(count)
            }
        }
        return count
    }
}
