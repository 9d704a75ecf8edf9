import DatabaseFiles
import EventLog
import Foundation
import GRDB
import GRDBSQLite

/// A connection that writes an embedded log. Every use, including closing, happens under the write lock. After a
/// commit it checkpoints a write-ahead log that has grown long.
final class EmbeddedWriteConnection {
    private let path: String
    private let address: String
    private let lock: EmbeddedWriteLock
    private let queue: DatabaseQueue
    /// Length of the write-ahead log after the last commit, in pages, set by SQLite's hook.
    private let walPages: UnsafeMutablePointer<Int32>
    private var walPagesBefore: Int32 = 0
    private var checkpointAtPages = checkpointPages
    /// The failure of a checkpoint. The commit before it was durable, so the next transaction reports it.
    private var checkpointFailure: DatabaseError?

    /// Timeout for other processes.
    private static let timeoutSeconds = 30.0
    /// Pages after which a checkpoint copies the write-ahead log into the database (16 MiB).
    private static let checkpointPages: Int32 = 2048
    /// A checkpoint truncates a longer write-ahead log file.
    private static let truncateBytes = 64 << 20
    /// Timeout of truncation for readers; a later checkpoint retries it.
    private static let truncateWaitMilliseconds: Int32 = 100

    /// Turns a missing or empty file into a log if `creating`; otherwise throws `noLog` or `emptyLog`.
    init(path: String, address: String, creating: Bool) throws(LogError) {
        self.path = path
        self.address = address
        guard creating || access(path, F_OK) == 0 else {
            if errno == ENOENT { throw .noLog(address: address) }
            throw .disk(operation: "open", address: address, detail: SystemRefusal.explanation())
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
        // The last connection to close copies the write-ahead log, so closing needs the lock. If the lock is not
        // available, another writer is connected and this is not the last connection.
        let isLocked = (try? lock.acquire("close", timeoutSeconds: 5)) != nil
        try? queue.close()
        if isLocked { lock.release() }
        walPages.deallocate()
    }

    /// Runs `body` in one transaction that is durable when this returns, and checkpoints when due. An error rolls
    /// everything back.
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

    /// Copies the write-ahead log into the database and truncates it as far as readers allow, so that the file can be
    /// copied alone.
    func mergeWriteAheadLog() throws(LogError) {
        try lock.acquire("checkpoint", timeoutSeconds: Self.timeoutSeconds)
        defer { lock.release() }
        queue.inDatabase(cutWriteAheadLog)
    }

    /// The same, and returns whether the write-ahead log is empty then: readers of an older state can prevent it.
    func truncateWriteAheadLog() throws(LogError) -> Bool {
        try lock.acquire("checkpoint", timeoutSeconds: Self.timeoutSeconds)
        defer { lock.release() }
        queue.inDatabase(cutWriteAheadLog)
        if let failure = checkpointFailure {
            checkpointFailure = nil
            throw LogError(failure, operation: "checkpoint", address: address)
        }
        return walBytes() == 0
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
        // The closure is Sendable, so it captures the address as a number. The pointer outlives the connection.
        let hookArgument = UInt(bitPattern: walPages)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA page_size = 8192")
            try CheckedPages.prepare(db)
            try db.execute(
                sql: """
                    PRAGMA synchronous = FULL;
                    PRAGMA wal_autocheckpoint = 0;
                    PRAGMA cache_size = -32768;
                    -- Trimmed and erased records are overwritten.
                    PRAGMA secure_delete = ON;
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

    /// Checkpoints after the write-ahead log has grown by a limit. A failure does not undo the commit.
    private func checkpointIfDue(_ db: Database) {
        let pages = walPages.pointee
        let hasRestarted = pages <= walPagesBefore
        walPagesBefore = pages
        if hasRestarted { checkpointAtPages = Self.checkpointPages }
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

    /// Returns whether everything was copied; readers of an older state can prevent it.
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

/// The lock that serialises all writers of an embedded log, between processes and within one: appends, topics, group
/// offsets, trims, checkpoints, and closing a connection.
///
/// SQLite's own locks separate writers but not checkpoints: SQLite before 3.51.3 can corrupt a log if two connections
/// checkpoint or write at the same instant. The lock is a `flock` on a separate file, so the kernel releases it when
/// its holder dies.
///
/// Waiting takes two steps, to prevent starvation. A process first acquires the turnstile, a lock on one byte of the
/// same file, and holds it until it has the lock itself. A writer that returns quickly finds the turnstile held by
/// the waiting process.
final class EmbeddedWriteLock {
    private let path: String
    private let address: String
    private var descriptor: Int32

    /// The command of `fcntl` for a lock that belongs to the open file, not to the process. Glibc defines F_OFD_SETLK
    /// only with a feature macro; the number is the same on all of Linux.
    private static let setOpenFileLock: Int32 = 37

    /// Opens or creates the lock file. Throws `disk`.
    init(path: String, address: String) throws(LogError) {
        self.path = path
        self.address = address
        descriptor = try Self.open(path, address: address)
    }

    deinit {
        close(descriptor)
    }

    /// Throws `busy` after the timeout.
    func acquire(_ operation: String, timeoutSeconds: Double) throws(LogError) {
        let deadline = ContinuousClock.now + .seconds(timeoutSeconds)
        repeat {
            try wait(until: deadline, operation) { () throws(LogError) in try turnstile(F_WRLCK) }
            defer { _ = try? turnstile(F_UNLCK) }
            try wait(until: deadline, operation) { () throws(LogError) in try tryLock() }
        } while try !isStillInPlace()
    }

    func release() {
        flock(descriptor, LOCK_UN)
    }

    private static func open(_ path: String, address: String) throws(LogError) -> Int32 {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw .disk(operation: "write to", address: address, detail: Self.reason(path))
        }
        return descriptor
    }

    /// Retries until the deadline, with pauses from 0.1 to 2 ms.
    private func wait(
        until deadline: ContinuousClock.Instant,
        _ operation: String,
        _ attempt: () throws(LogError) -> Bool
    ) throws(LogError) {
        var pauseMicroseconds: UInt32 = 100
        while try !attempt() {
            guard ContinuousClock.now < deadline else {
                throw .busy(operation: operation, address: address)
            }
            usleep(pauseMicroseconds)
            pauseMicroseconds = min(pauseMicroseconds * 2, 2000)
        }
    }

    private func tryLock() throws(LogError) -> Bool {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        return try isHeldByAnother()
    }

    private func turnstile(_ kind: Int32) throws(LogError) -> Bool {
        var request = Glibc.flock()
        request.l_type = Int16(kind)
        request.l_whence = Int16(SEEK_SET)
        request.l_len = 1
        if fcntl(descriptor, Self.setOpenFileLock, &request) == 0 { return true }
        return try isHeldByAnother()
    }

    /// False if another holder caused the last failure, so that the caller retries.
    private func isHeldByAnother() throws(LogError) -> Bool {
        guard [EWOULDBLOCK, EAGAIN, EACCES, EINTR].contains(errno) else {
            throw .disk(operation: "lock", address: address, detail: Self.reason(path))
        }
        return false
    }

    /// Whether the locked file still has its name. After its removal others may lock a new file of that name, so the
    /// lock must be acquired there.
    private func isStillInPlace() throws(LogError) -> Bool {
        var found = stat()
        guard fstat(descriptor, &found) == 0, found.st_nlink == 0 else { return true }
        close(descriptor)
        descriptor = -1
        descriptor = try Self.open(path, address: address)
        return false
    }

    private static func reason(_ path: String) -> String {
        "\(path): \(SystemRefusal.explanation())"
    }
}
