import Foundation

/// Why the operating system does not let a file be used, in words that say what to do. One list for
/// stores, logs and deliveries; `docs/operating-system-errors.md` shows it.
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

    /// Its numbers, each with the name that manuals give it.
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

    /// What it is and what to do, as the end of a sentence.
    package var words: String {
        switch self {
        case .permission:
            "permission denied: give the user of this program the right to read and write the file and its directory, then start again"
        case .readOnlyFileSystem:
            "the file system is read-only: mount it writable (one that became so by itself has a failing disk: see dmesg), then start again"
        case .directory:
            "a directory is in the place of the file: move it away, or name another file"
        case .missingDirectory:
            "the file or its directory is not there: is the disk mounted, and the path right?"
        case .noDirectory:
            "a part of the path is no directory, or is a link in a circle: name another path"
        case .full:
            "the disk or the quota is full: make room, then start again; nothing that was committed is lost"
        case .failed:
            "the disk failed: see dmesg, bring the files to another disk or a backup back, then start again"
        case .tooManyFiles:
            "too many open files: raise the limit (ulimit -n, LimitNOFILE of the service), then start again"
        case .tooLarge:
            "the file is larger than the file system or a limit (ulimit -f) allows: move it to another file system or raise the limit, then start again"
        case .tooLong: "the path is too long: name a shorter one"
        case .noLocks:
            "the file system has no locks: bring the files to a local disk, then start again"
        case .outOfMemory:
            "no memory is left: give the program or the machine more, then start again"
        }
    }

    /// What a number of the operating system means; nil for one that is not in the list.
    package init?(errorNumber: Int32) {
        let found = Self.allCases.first { refusal in
            refusal.errors.contains { $0.number == errorNumber }
        }
        guard let found else { return nil }
        self = found
    }

    /// The words for a number of the operating system, which is `errno` unless another is given.
    package static func words(_ errorNumber: Int32 = errno) -> String {
        SystemRefusal(errorNumber: errorNumber)?.words ?? String(cString: strerror(errorNumber))
    }

    /// The words for an error of Foundation about a file.
    package static func words(of error: any Error) -> String {
        var next: NSError? = error as NSError
        while let found = next {
            if found.domain == NSPOSIXErrorDomain { return words(Int32(found.code)) }
            next = (found.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError }
        }
        return error.localizedDescription
    }

    /// Why a file cannot be opened, as trying it says; nil when nothing is in the way.
    package init?(opening path: String, writing: Bool) {
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
        // SQLite keeps files beside it.
        let directory = (path as NSString).deletingLastPathComponent
        guard access(directory.isEmpty ? "." : directory, W_OK | X_OK) != 0 else { return nil }
        self.init(errorNumber: errno)
    }

    /// Whether nothing can grow on the disk of a file.
    static func isFull(at path: String) -> Bool {
        var found = statvfs()
        guard statvfs(path, &found) == 0 else { return false }
        return found.f_bavail == 0 || (found.f_files > 0 && found.f_favail == 0)
    }
}
