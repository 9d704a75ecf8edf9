import DatabaseFiles
import Foundation
import GRDB
import GRDBSQLite

/// A connection that writes an embedded log. Every use of it, its closing among them, happens under
/// the write lock; and whoever has just committed and sees a long write-ahead log checkpoints it.
final class EmbeddedWriteConnection {
    private let path: String
    private let address: String
    private let lock: EmbeddedWriteLock
    private let queue: DatabaseQueue
    /// Length of the write-ahead log after the last commit, in pages; SQLite's hook writes it.
    private let walPages: UnsafeMutablePointer<Int32>
    private var walPagesBefore: Int32 = 0
    private var checkpointAtPages = checkpointPages
    /// What a checkpoint ran into. Its commit was durable all the same, so the next one reports it.
    private var checkpointFailure: DatabaseError?

    /// How long to wait for other processes before giving up.
    private static let timeoutSeconds = 30.0
    /// A write-ahead log of this many pages (16 MiB) is copied into the database.
    private static let checkpointPages: Int32 = 2048
    /// A write-ahead log file longer than this is cut to nothing once it has been copied.
    private static let truncateBytes = 64 << 20
    /// How long cutting the file may wait for readers; it is tried again later.
    private static let truncateWaitMilliseconds: Int32 = 100

    /// Opens the log for writing. A missing or empty file becomes a log when `creating`, and is
    /// `noLog` or `emptyLog` otherwise.
    init(path: String, address: String, creating: Bool) throws(LogError) {
        self.path = path
        self.address = address
        guard creating || access(path, F_OK) == 0 else {
            if errno == ENOENT { throw .noLog(address: address) }
            throw .disk(operation: "open", address: address, detail: SystemRefusal.words())
        }
        let lock = try EmbeddedWriteLock(path: path + ".lock", address: address)
        self.lock = lock
        try lock.acquire("open", timeoutSeconds: Self.timeoutSeconds)
        defer { lock.release() }
        let walPages = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        walPages.initialize(to: 0)
        do {
            queue = try DatabaseQueue(
                path: path,
                configuration: Self.configuration(walPages: walPages)
            )
            self.walPages = walPages
        } catch {
            walPages.deallocate()
            throw LogError(error, operation: "open", address: address)
        }
        try makeReady(creating: creating)
    }

    deinit {
        // The last connection to close copies the write-ahead log, so this takes its turn as well. If
        // none is to be had, another writer is connected and this is not the last one.
        let isLocked = (try? lock.acquire("close", timeoutSeconds: 5)) != nil
        try? queue.close()
        if isLocked { lock.release() }
        walPages.deallocate()
    }

    /// Runs `body` in one transaction that is durable when this returns, and checkpoints when due.
    /// On an error nothing of it is kept.
    func transaction<Answer>(
        _ operation: String,
        _ body: (Database) throws -> Answer
    ) throws(LogError) -> Answer {
        try lock.acquire(operation, timeoutSeconds: Self.timeoutSeconds)
        defer { lock.release() }
        do {
            if let failure = checkpointFailure {
                checkpointFailure = nil
                throw failure
            }
            try queue.inDatabase(CheckedPages.requireInPlace)
            let answer = try queue.write(body)
            queue.inDatabase(checkpointIfDue)
            return answer
        } catch {
            throw LogError(error, operation: operation, address: address)
        }
    }

    /// Copies the write-ahead log into the database and cuts it, as far as readers let it, so that the
    /// file alone is the log and can be copied.
    func settle() throws(LogError) {
        try lock.acquire("checkpoint", timeoutSeconds: Self.timeoutSeconds)
        defer { lock.release() }
        queue.inDatabase(cutWriteAheadLog)
    }

    private func makeReady(creating: Bool) throws(LogError) {
        do {
            try queue.inDatabase { db in
                if try EmbeddedSchema.inspect(db, address: address) == .empty {
                    guard creating else { throw LogError.emptyLog(address: address) }
                    try EmbeddedSchema.create(db)
                }
                try EmbeddedSchema.bringUp(db)
            }
        } catch {
            throw LogError(error, operation: "open", address: address)
        }
    }

    private static func configuration(walPages: UnsafeMutablePointer<Int32>) -> Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(timeoutSeconds)
        configuration.foreignKeysEnabled = false
        // The address travels as a number because the closure is Sendable; the pointer outlives the
        // connection.
        let hookArgument = UInt(bitPattern: walPages)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA page_size = 8192")
            try CheckedPages.prepare(db)
            try db.execute(
                sql: """
                    PRAGMA synchronous = FULL;
                    PRAGMA wal_autocheckpoint = 0;
                    PRAGMA cache_size = -32768;
                    """
            )
            sqlite3_wal_hook(
                db.sqliteConnection,
                { argument, _, _, pages in
                    argument?.assumingMemoryBound(to: Int32.self).pointee = pages
                    return SQLITE_OK
                },
                UnsafeMutableRawPointer(bitPattern: hookArgument)
            )
        }
        return configuration
    }

    /// Copies the write-ahead log into the database once it has grown by a limit. Nothing that goes
    /// wrong here undoes what was committed.
    private func checkpointIfDue(_ db: Database) {
        let pages = walPages.pointee
        let hasBegunAnew = pages <= walPagesBefore
        walPagesBefore = pages
        if hasBegunAnew { checkpointAtPages = Self.checkpointPages }
        guard pages >= checkpointAtPages else { return }
        checkpointAtPages = pages + Self.checkpointPages

        guard checkpoint(db, SQLITE_CHECKPOINT_PASSIVE), walBytes() > Self.truncateBytes else {
            return
        }
        cutWriteAheadLog(db)
    }

    private func cutWriteAheadLog(_ db: Database) {
        sqlite3_busy_timeout(db.sqliteConnection, Self.truncateWaitMilliseconds)
        _ = checkpoint(db, SQLITE_CHECKPOINT_TRUNCATE)
        sqlite3_busy_timeout(db.sqliteConnection, Int32(Self.timeoutSeconds * 1000))
    }

    /// Whether everything was copied; readers of an older state may be in the way of that.
    private func checkpoint(_ db: Database, _ mode: Int32) -> Bool {
        var pages: Int32 = 0
        var copied: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(db.sqliteConnection, nil, mode, &pages, &copied)
        let failure = DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: db.lastErrorMessage
        )
        switch failure.resultCode {
        case .SQLITE_OK: return pages == copied
        case .SQLITE_BUSY, .SQLITE_LOCKED: return false
        default:
            checkpointFailure = failure
            return false
        }
    }

    private func walBytes() -> Int {
        var found = stat()
        return stat(path + "-wal", &found) == 0 ? Int(found.st_size) : 0
    }
}
