import CPageChecksums
import Foundation
import GRDB

/// The meaning of an SQLite error for the file.
package enum FileFault: Equatable, Sendable {
    /// The file does not hold the bytes that were written to it; the text names the page.
    case damaged(String)
    /// The file is not a database.
    case noDatabase
    /// The operating system refused; the text contains the remedy.
    case refused(String)
    /// The file, its `-wal` or its `-shm` is not the one that was opened; the text contains the remedy.
    case moved(String)
    /// Other programs keep it locked.
    case locked
    /// Anything else.
    case other(String)

    /// - Parameter path: the path of the file; the files that SQLite keeps beside it are included.
    package init(_ error: DatabaseError, path: String) {
        switch error.resultCode {
        case .SQLITE_CORRUPT: self = .damaged(Self.damage(of: path) ?? Self.explanation(error))
        case .SQLITE_NOTADB:
            self = Self.looksLikeDatabase(path) ? .damaged(Self.explanation(error)) : .noDatabase
        case .SQLITE_FULL: self = .refused(SystemRefusal.full.explanation)
        case .SQLITE_NOMEM: self = .refused(SystemRefusal.outOfMemory.explanation)
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .locked
        case _ where error.extendedResultCode == .SQLITE_READONLY_DBMOVED:
            self = .moved(Self.movedWords(error.message ?? ""))
        case .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_IOERR:
            self = Self.reading(error, path)
        default: self = .other(Self.explanation(error))
        }
    }

    /// The text for a file that is not the one at its path any more.
    ///
    /// - Parameter end: "-wal" or "-shm" for these files of SQLite; empty for the file itself.
    package static func movedWords(_ end: String = "") -> String {
        let file = ["-wal", "-shm"].contains(end) ? "its \(end)" : "the file"
        return
            "\(file) was moved, deleted or replaced while this program had it open, so the program no longer reads or writes it: restore it, or check that the present file is the right one, then restart. A file and its -wal and -shm belong together (ops/runbooks/damaged-file.md)"
    }

    private static func reading(_ error: DatabaseError, _ path: String) -> FileFault {
        var fault = weir_fault()
        let isKnown = weir_fault_take(path, &fault)
        if error.isOfDamagedPage {
            return .damaged(
                isKnown && weir_fault_is_damage(fault) ? explanation(fault) : explanation(error))
        }
        if isKnown, !weir_fault_is_damage(fault),
            let refusal = SystemRefusal(errorNumber: fault.error_number)
        {
            // A directory can be opened, but not read or locked.
            return .refused(
                (SystemRefusal(opening: path, writing: false) ?? refusal).explanationHere)
        }
        let isAboutRights = error.resultCode != .SQLITE_IOERR
        if let refusal = SystemRefusal(opening: path, writing: isAboutRights) {
            return .refused(refusal.explanation)
        }
        if !isAboutRights || error.resultCode == .SQLITE_CANTOPEN, SystemRefusal.isFull(at: path) {
            return .refused(SystemRefusal.full.explanation)
        }
        let byDefault: SystemRefusal = isAboutRights ? .permission : .failed
        return .refused("\(byDefault.explanation) (\(explanation(error)))")
    }

    /// Describes the last damage found in a file; nil if none is known.
    package static func damage(of path: String) -> String? {
        var fault = weir_fault()
        guard weir_fault_take(path, &fault), weir_fault_is_damage(fault) else { return nil }
        return explanation(fault)
    }

    private static func explanation(_ fault: weir_fault) -> String {
        if fault.is_in_wal, fault.page == 0 { return "the header of its -wal is wrong" }
        return fault.is_in_wal
            ? "the checksum of frame \(fault.page) of its -wal is wrong"
            : "the checksum of page \(fault.page) is wrong"
    }

    private static func explanation(_ error: DatabaseError) -> String {
        "\(error.message ?? "SQLite error") (SQLite \(error.extendedResultCode.rawValue))"
    }

    /// Distinguishes a damaged header from another kind of file: most of its first bytes are intact.
    private static func looksLikeDatabase(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path),
            let bytes = try? file.read(upToCount: 16), bytes.count == 16
        else { return false }
        return zip(bytes, Array("SQLite format 3\0".utf8)).count { $0 != $1 } <= 4
    }
}

extension DatabaseError {
    /// Whether the checksum of a page is wrong. A retry does not help.
    package var isOfDamagedPage: Bool {
        extendedResultCode == .SQLITE_IOERR_DATA
    }
}

/// Why the operating system refuses the use of a file, in words that say what to do. One list for
/// stores, logs and deliveries; `docs/reference/operating-system-errors.md` shows it.
package enum SystemRefusal: Equatable, Sendable, CaseIterable {
    case permission
    case readOnlyFileSystem
    case directory
    case missingDirectory
    case noDirectory
    case full
    case failed
    case tooManyFiles
    case tooLarge
    case tooLong
    case noLocks
    case outOfMemory

    /// Its error numbers, each with its name in manuals.
    package var errors: [(name: String, number: Int32)] {
        switch self {
        case .permission: [("EACCES", EACCES), ("EPERM", EPERM)]
        case .readOnlyFileSystem: [("EROFS", EROFS)]
        case .directory: [("EISDIR", EISDIR)]
        case .missingDirectory: [("ENOENT", ENOENT)]
        case .noDirectory: [("ENOTDIR", ENOTDIR), ("ELOOP", ELOOP)]
        case .full: [("ENOSPC", ENOSPC), ("EDQUOT", EDQUOT)]
        case .failed: [("EIO", EIO), ("ENXIO", ENXIO), ("ENODEV", ENODEV), ("ESTALE", ESTALE)]
        case .tooManyFiles: [("EMFILE", EMFILE), ("ENFILE", ENFILE)]
        case .tooLarge: [("EFBIG", EFBIG), ("EOVERFLOW", EOVERFLOW)]
        case .tooLong: [("ENAMETOOLONG", ENAMETOOLONG)]
        case .noLocks: [("ENOLCK", ENOLCK), ("EOPNOTSUPP", EOPNOTSUPP)]
        case .outOfMemory: [("ENOMEM", ENOMEM)]
        }
    }

    /// The reason and the remedy, as the end of a sentence.
    package var explanation: String {
        switch self {
        case .permission:
            "permission denied: allow the user of this program to read and write the file and its directory, then restart"
        case .readOnlyFileSystem:
            "the file system is read-only: mount it writable, then restart (if it became read-only by itself, the disk is failing: check dmesg)"
        case .directory:
            "the path is a directory: move it away, or name another file"
        case .missingDirectory:
            "the file or its directory does not exist: check the path, and that the disk is mounted"
        case .noDirectory:
            "a part of the path is not a directory, or is a circular link: name another path"
        case .full:
            "the disk or the quota is full: free space, then restart. Committed data is not lost"
        case .failed:
            "the disk failed: check dmesg, move the files to another disk or restore a backup, then restart"
        case .tooManyFiles:
            "too many open files: raise the limit (ulimit -n, LimitNOFILE of the service), then restart"
        case .tooLarge:
            "the file is larger than the file system or a limit (ulimit -f) allows: move it to another file system or raise the limit, then restart"
        case .tooLong: "the path is too long: name a shorter one"
        case .noLocks:
            "the file system does not support locks: move the files to a local disk, then restart"
        case .outOfMemory:
            "there is not enough memory: give the program or the machine more, then restart"
        }
    }

    /// The explanation, with the limit of this process if one caused the error.
    var explanationHere: String {
        var limit = rlimit()
        guard self == .tooLarge, getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0,
            limit.rlim_cur < rlim_t(Int64.max)
        else { return explanation }
        return "\(explanation) (the limit of this process is \(limit.rlim_cur) bytes)"
    }

    /// Nil for a number that is not in the list.
    init?(errorNumber: Int32) {
        let found = Self.allCases.first { refusal in
            refusal.errors.contains { $0.number == errorNumber }
        }
        guard let found else { return nil }
        self = found
    }

    /// Explains an error number of the operating system, by default `errno`.
    package static func explanation(_ errorNumber: Int32 = errno) -> String {
        SystemRefusal(errorNumber: errorNumber)?.explanationHere
            ?? String(cString: strerror(errorNumber))
    }

    /// Explains an error of Foundation about a file.
    package static func explanation(of error: any Error) -> String {
        var next: NSError? = error as NSError
        while let found = next {
            if found.domain == NSPOSIXErrorDomain { return explanation(Int32(found.code)) }
            next = (found.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError }
        }
        return error.localizedDescription
    }

    /// Tries to open a file; nil if that works.
    init?(opening path: String, writing: Bool) {
        var found = stat()
        if stat(path, &found) == 0 {
            if found.st_mode & S_IFMT == S_IFDIR {
                self = .directory
                return
            }
            let file = open(path, (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC)
            if file < 0 {
                self.init(errorNumber: errno)
                return
            }
            close(file)
        } else if errno != ENOENT {
            self.init(errorNumber: errno)
            return
        }
        // SQLite creates files in the directory.
        let directory = (path as NSString).deletingLastPathComponent
        guard access(directory.isEmpty ? "." : directory, W_OK | X_OK) != 0 else { return nil }
        self.init(errorNumber: errno)
    }

    /// Whether the file's disk is full.
    static func isFull(at path: String) -> Bool {
        var found = statvfs()
        guard statvfs(path, &found) == 0 else { return false }
        return found.f_bavail == 0 || (found.f_files > 0 && found.f_favail == 0)
    }
}
