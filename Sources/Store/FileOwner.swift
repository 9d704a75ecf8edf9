import Foundation

/// The owner of the files that root creates.
///
/// The workers of a data directory run as the user that owns it. A file that an operator creates there as root gets the
/// owner of its directory, and its group may read it if it may read the directory. SQLite does the same for the files
/// beside a database.
package enum FileOwner {
    /// Gives a new file or directory to the owner of its directory. No effect unless the program is root.
    package static func adopt(_ path: String) {
        guard geteuid() == 0 else { return }
        let parent = (path as NSString).deletingLastPathComponent
        var directory = stat()
        var found = stat()
        guard stat(parent.isEmpty ? "." : parent, &directory) == 0, lstat(path, &found) == 0,
            directory.st_uid != 0, found.st_uid == 0,
            // Another name of the file could be in a directory of root.
            found.st_nlink == 1 || found.st_mode & S_IFMT == S_IFDIR
        else { return }
        // A container may forbid it. Then the file stays as a program without this step would leave it.
        guard lchown(path, directory.st_uid, directory.st_gid) == 0 else { return }
        var mode = found.st_mode & 0o7777
        if directory.st_mode & S_IRGRP != 0 { mode |= S_IRGRP }
        if found.st_mode & S_IFMT == S_IFDIR { mode |= directory.st_mode & S_IXGRP }
        if mode != found.st_mode & 0o7777 { _ = chmod(path, mode) }
    }

    /// Creates a directory that is going to replace another one, with its owner and mode.
    package static func createDirectory(_ path: String, replacing other: String) throws {
        try createDirectory(path)
        var found = stat()
        guard stat(other, &found) == 0 else { return }
        if geteuid() == 0 { _ = lchown(path, found.st_uid, found.st_gid) }
        _ = chmod(path, found.st_mode & 0o7777)
    }

    /// Creates a directory with its missing parents.
    package static func createDirectory(_ path: String) throws {
        var missing: [String] = []
        var next = path
        while !next.isEmpty, next != "/", access(next, F_OK) != 0 {
            missing.append(next)
            next = (next as NSString).deletingLastPathComponent
        }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for path in missing.reversed() { adopt(path) }
    }
}
