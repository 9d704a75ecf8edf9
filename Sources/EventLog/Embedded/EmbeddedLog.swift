import DatabaseFiles
import Foundation
import GRDB

/// An event log in one SQLite file, for one machine: many processes may read it and append to it at
/// once.
///
/// Beside the file lie `-wal` and `-shm`, which are SQLite's, and `.lock`, the write lock; all belong
/// to the log. The file must lie on a local disk. Readers, writers and trims open connections of their
/// own; each reader and writer is used by one thread at a time.
package final class EmbeddedLog: LogBackend, Sendable {
    /// What to do when there is no log yet.
    package enum Mode: Sendable {
        /// Create it, with the directories that it lies in.
        case create
        /// Throw `noLog` or `emptyLog`.
        case existing
    }

    /// `sqlite:` and the path as it was given.
    package let address: String
    /// The path without symbolic links, so that everybody uses the same lock file.
    let path: String
    let connection: DatabaseQueue

    /// How long a reader waits for SQLite; only recovery after a crash ever makes it wait.
    private static let timeoutSeconds = 10.0

    /// Opens the log at a path.
    ///
    /// Throws `noLog` or `emptyLog` when there is none and `mode` is `existing`, `notALog`, `newerVersion`, `damaged`,
    /// `disk`, or `busy` when it is to be created and another process does so for more than 30 seconds.
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

    /// The topics of the log, by name in bytewise order.
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

    /// A reader of one topic, with a connection of its own. Throws `unknownTopic`.
    package func reader(topic: String, group: String?) throws(LogError) -> any LogReader {
        try openReader(topic: topic, group: group)
    }

    func openReader(topic: String, group: String?) throws(LogError) -> EmbeddedLogReader {
        guard let connection = try Self.open(path, address: address) else {
            throw .noLog(at: self.path, address: address)
        }
        return try EmbeddedLogReader(
            topic: topic, group: group, log: self, connection: connection)
    }

    /// A writer to all topics, with a connection of its own. Throws `disk` when the log cannot be
    /// written here.
    package func writer() throws(LogError) -> any LogWriter {
        EmbeddedLogWriter(connection: try openForWriting(), address: address)
    }

    func openForWriting() throws(LogError) -> EmbeddedWriteConnection {
        try EmbeddedWriteConnection(path: path, address: address, creating: false)
    }

    /// A read-only connection; nil when there is no file, or one that is not yet a log.
    private static func open(_ path: String, address: String) throws(LogError) -> DatabaseQueue? {
        var found = stat()
        guard stat(path, &found) == 0 else {
            if errno == ENOENT { return nil }
            throw .disk(operation: "open", address: address, detail: SystemRefusal.words())
        }
        if found.st_mode & S_IFMT == S_IFDIR {
            throw .disk(
                operation: "open", address: address, detail: SystemRefusal.directory.words)
        }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(timeoutSeconds)
        configuration.foreignKeysEnabled = false
        // Another connection that closes just now takes the write-ahead log away from under this one,
        // which SQLite reports as a failed disk. A disk that really failed does so again.
        var triesLeft = 5
        while true {
            do {
                let connection = try DatabaseQueue(path: path, configuration: configuration)
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
                detail: "no directory \(directory.path): \(SystemRefusal.words(of: error))"
            )
        }
    }

    /// The real path of a file, or of the directory where it is to be created.
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
    /// Runs a read, with errors that name what was done and to which log.
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
