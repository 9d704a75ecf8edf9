import DatabaseFiles
import Foundation
import GRDB

/// Identifies an SQLite file as one of Weir's: `PRAGMA application_id`, and its schema as `user_version`.
package struct StoreMark: Sendable {
    let applicationID: Int32
    /// Grows by one with every migration.
    package let version: Int
    /// The error text for another program's file.
    package let foreign: String

    package init(applicationID: Int32, version: Int, foreign: String) {
        self.applicationID = applicationID
        self.version = version
        self.foreign = foreign
    }

    /// The version of a file; 0 for an empty one. Throws for a file of another program or of a later version.
    package func check(_ db: Database, path: String) throws -> Int {
        let (application, found) = try read(db)
        let isNew = try application == 0 && found == 0 && Self.isEmpty(db)
        guard isNew || application == applicationID else {
            throw StoreError.notAStore(path: path, detail: foreign)
        }
        guard found <= version else {
            throw StoreError.newerVersion(path: path, found: found, supported: version)
        }
        return found
    }

    package func isOn(_ db: Database) throws -> Bool { try read(db).application == applicationID }

    package func read(_ db: Database) throws -> (application: Int32, version: Int) {
        let application = try Int32.fetchOne(db, sql: "PRAGMA application_id")
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version")
        return (application ?? 0, version ?? 0)
    }

    package static func isEmpty(_ db: Database) throws -> Bool {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") == 0
    }

    /// Throws `emptied` for a file without tables.
    package static func requireTables(in db: Database, path: String) throws {
        guard try !isEmpty(db) else { throw StoreError.emptied(path: path) }
    }

    /// Creates the tables of a new file, in one transaction with the writes of `body`.
    package func make(
        _ schema: String, in db: Database, _ body: (Database) throws -> Void
    ) throws {
        try db.inTransaction(.immediate) {
            try db.execute(sql: schema)
            try body(db)
            try db.execute(
                sql: """
                    PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version)
                    """)
            return .commit
        }
    }

    /// Replaces a file by one with these tables and the writes of `body`. Durable when it returns; a crash leaves a
    /// whole file or none.
    package func makeFile(
        _ schema: String, at path: String, pageSize: Int? = nil,
        _ body: (Database) throws -> Void
    ) throws {
        let new = path + ".new"
        // Remains of an old file would be rolled back into the new one, or read as its write-ahead log.
        for file in [path, new].flatMap({ [$0, "\($0)-journal", "\($0)-wal", "\($0)-shm"] })
        where access(file, F_OK) == 0 {
            guard unlink(file) == 0 else {
                throw StoreError.disk(
                    operation: "remove", path: file, detail: SystemRefusal.explanation())
            }
        }
        do {
            let queue = try DatabaseQueue(
                path: new, configuration: CheckedPages.configuration(pageSize: pageSize))
            try queue.inDatabase { try make(schema, in: $0, body) }
            try queue.close()
        } catch let error as DatabaseError {
            throw StoreError(error, operation: "write", path: new)
        }
        try DurableFile.move(new, to: path)
    }
}

/// The right to work on a store: a lock on a file beside it, which ends with the process.
package final class StoreLock {
    private let descriptor: Int32

    /// Creates the directory of a store and acquires its lock.
    package convenience init(
        newStore path: String, operation: String = "create"
    ) throws(StoreError) {
        do {
            try FileOwner.createDirectory((path as NSString).deletingLastPathComponent)
        } catch {
            throw .disk(
                operation: operation, path: path, detail: SystemRefusal.explanation(of: error))
        }
        try self.init(storePath: path)
    }

    /// Throws `locked` if another process has the lock.
    package convenience init(storePath: String) throws(StoreError) {
        try self.init(LockFile.descriptor(storePath + ".lock"), LOCK_EX, of: storePath)
    }

    /// Keeps workers away from a store during a copy. Several processes may hold this at the same time, also without
    /// write access there. Nil if the lock file cannot be created: then no worker can use the store either.
    package convenience init?(copying storePath: String) throws(StoreError) {
        guard let descriptor = try LockFile.descriptor(toRead: storePath + ".lock") else {
            return nil
        }
        try self.init(descriptor, LOCK_SH, of: storePath)
    }

    private init(_ file: Int32, _ mode: Int32, of storePath: String) throws(StoreError) {
        descriptor = file
        guard flock(descriptor, mode | LOCK_NB) == 0 else {
            // `deinit` closes it even though this throws.
            throw .locked(path: storePath, owner: LockFile.owner(descriptor))
        }
        LockFile.setOwner(descriptor)
    }

    deinit {
        guard descriptor >= 0 else { return }
        // Closing is not enough: a child process has a copy of the descriptor until it runs its program.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

/// A running promotion in a data directory: `promotion.lock`, locked while its process lives.
///
/// While the file exists, workers of the directory finish their batch, release their stores, and wait. An unlocked
/// file is the remains of a killed promotion and has no effect.
package final class PromotionRequest {
    private let path: String
    private let descriptor: Int32

    private static let fileName = "promotion.lock"
    /// A process that inspects the file locks it for an instant.
    private static let tries = 50
    private static let pauseMicroseconds: UInt32 = 20_000

    /// Asks all workers of a data directory to release their stores. Throws `promotionUnderWay` while another process
    /// promotes.
    package init(directory: String) throws(StoreError) {
        path = PromotionJournal.join(directory, Self.fileName)
        descriptor = try Self.lock(path)
        LockFile.setOwner(descriptor)
    }

    deinit {
        unlink(path)
        close(descriptor)
    }

    private static func lock(_ path: String) throws(StoreError) -> Int32 {
        for _ in 0..<tries {
            let descriptor = try LockFile.descriptor(path)
            // A process that removed the file of a killed promotion may have unlinked this one.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, isCurrent(descriptor, path) {
                return descriptor
            }
            close(descriptor)
            usleep(pauseMicroseconds)
        }
        throw .promotionUnderWay(path: path)
    }

    /// Whether a promotion may be running: checks only that the file exists.
    package static func isMade(in directory: String) -> Bool {
        access(PromotionJournal.join(directory, fileName), F_OK) == 0
    }

    /// Whether a promotion is running. Removes the file of a killed one.
    package static func isHeld(in directory: String) -> Bool {
        let path = PromotionJournal.join(directory, fileName)
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return true }
        if isCurrent(descriptor, path) { unlink(path) }
        return false
    }

    /// Why this program cannot see whether a promotion is running: another user owns its file. Nil if it can.
    package static func refusal(in directory: String) -> StoreError? {
        let path = PromotionJournal.join(directory, fileName)
        guard access(path, R_OK | W_OK) != 0, errno == EACCES else { return nil }
        return .disk(operation: "open", path: path, detail: SystemRefusal.explanation(EACCES))
    }

    /// Whether the open file is the one with the name now.
    private static func isCurrent(_ descriptor: Int32, _ path: String) -> Bool {
        var open = stat()
        var named = stat()
        return fstat(descriptor, &open) == 0 && stat(path, &named) == 0
            && open.st_ino == named.st_ino && open.st_dev == named.st_dev
    }
}

/// A file for locking, which contains the id of the locking process.
private enum LockFile {
    static func descriptor(_ path: String) throws(StoreError) -> Int32 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw .disk(operation: "open", path: path, detail: SystemRefusal.explanation())
        }
        FileOwner.adopt(path)
        return descriptor
    }

    /// The same without write access; nil if the file is missing and cannot be created.
    static func descriptor(toRead path: String) throws(StoreError) -> Int32? {
        do throws(StoreError) {
            return try descriptor(path)
        } catch {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 || errno == ENOENT else { throw error }
            return descriptor >= 0 ? descriptor : nil
        }
    }

    static func setOwner(_ descriptor: Int32) {
        ftruncate(descriptor, 0)
        let owner = "\(getpid())\n"
        _ = owner.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }

    /// The owner, as words that follow an error; empty if unknown.
    static func owner(_ descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        let digits = String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return digits.isEmpty ? "" : " (process \(digits))"
    }
}

/// A small file that is replaced as a whole: after a crash it has either the old or the new content. All functions
/// are durable when they return.
package enum DurableFile {
    package static func replace(_ path: String, with bytes: Data) throws(StoreError) {
        try replaceContent(path, with: bytes)
        try syncName(of: path)
    }

    /// The same without the sync of its directory: after a power loss, the file may be missing or the old one.
    package static func replaceContent(_ path: String, with bytes: Data) throws(StoreError) {
        let new = path + ".new"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("write", new) }
        defer { close(descriptor) }
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                write(descriptor, $0.baseAddress.map { $0 + written }, bytes.count - written)
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw failure("write", new)
            }
            written += count
        }
        guard fsync(descriptor) == 0 else { throw failure("write", new) }
        try rename(new, to: path)
    }

    /// Moves a durable file to the path of another.
    package static func move(_ new: String, to path: String) throws(StoreError) {
        try rename(new, to: path)
        try syncName(of: path)
    }

    private static func rename(_ new: String, to path: String) throws(StoreError) {
        FileOwner.adopt(new)
        guard Foundation.rename(new, path) == 0 else { throw failure("replace", path) }
    }

    /// Syncs the directory of a file, so that a power loss cannot restore the previous file.
    package static func syncName(of path: String) throws(StoreError) {
        let parent = (path as NSString).deletingLastPathComponent
        let directory = open(parent.isEmpty ? "." : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw failure("write", parent) }
        defer { close(directory) }
        // EINVAL: the file system does not support the sync of a directory.
        guard fsync(directory) == 0 || errno == EINVAL else { throw failure("write", parent) }
    }

    private static func failure(_ operation: String, _ path: String) -> StoreError {
        .disk(operation: operation, path: path, detail: SystemRefusal.explanation())
    }
}
