import DatabaseFiles
import Foundation

/// The lock that makes everything that writes an embedded log take turns, between processes and
/// within one: appends, topics, group offsets, trims, checkpoints, and the closing of a connection.
///
/// SQLite's own locks would keep writers apart too, but not the checkpoints: SQLite before 3.51.3 can
/// corrupt a log when two connections checkpoint or write at the same instant. The lock is a `flock` on
/// a file beside the log, so the kernel lets go of it when its holder dies.
///
/// Waiting is done in two steps, so that nobody starves: whoever wants the lock first takes the
/// turnstile, a lock on one byte of the same file, and holds it until the lock itself is free. A writer
/// that comes again and again finds the turnstile taken by whoever waited meanwhile.
final class EmbeddedWriteLock {
    private let path: String
    private let address: String
    private var descriptor: Int32

    /// The command of `fcntl` for a lock that belongs to the open file and not to the process. Glibc
    /// hides its name (F_OFD_SETLK) behind a feature macro; the number is the same on all of Linux.
    private static let setOpenFileLock: Int32 = 37

    /// Opens the lock file, creating it when it is missing. Throws `disk`.
    init(path: String, address: String) throws(LogError) {
        self.path = path
        self.address = address
        descriptor = try Self.open(path, address: address)
    }

    deinit {
        close(descriptor)
    }

    /// Waits for the lock. Throws `busy` when it was not to be had in the time given.
    func acquire(_ operation: String, timeoutSeconds: Double) throws(LogError) {
        let deadline = ContinuousClock.now + .seconds(timeoutSeconds)
        repeat {
            try wait(until: deadline, operation) { () throws(LogError) in try turnstile(F_WRLCK) }
            defer { _ = try? turnstile(F_UNLCK) }
            try wait(until: deadline, operation) { () throws(LogError) in try tryLock() }
        } while try !isStillInPlace()
    }

    /// Lets the next one in.
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

    /// Tries until it succeeds or the deadline has passed, with pauses from 0.1 to 2 ms.
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

    /// False, to be tried again, when the last call failed because of another holder.
    private func isHeldByAnother() throws(LogError) -> Bool {
        guard [EWOULDBLOCK, EAGAIN, EACCES, EINTR].contains(errno) else {
            throw .disk(operation: "lock", address: address, detail: Self.reason(path))
        }
        return false
    }

    /// Whether the file that was locked still has its name. When somebody has removed it, others may
    /// hold a lock on a new file of that name, and the lock is to be taken there.
    private func isStillInPlace() throws(LogError) -> Bool {
        var found = stat()
        guard fstat(descriptor, &found) == 0, found.st_nlink == 0 else { return true }
        close(descriptor)
        descriptor = -1
        descriptor = try Self.open(path, address: address)
        return false
    }

    private static func reason(_ path: String) -> String {
        "\(path): \(SystemRefusal.words())"
    }
}
