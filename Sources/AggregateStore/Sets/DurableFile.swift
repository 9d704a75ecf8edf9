import DatabaseFiles
import Foundation

/// A small file that is replaced as a whole.
package enum DurableFile {
    /// Puts `bytes` in the place of what a file holds: after a crash at any instant it holds the one or
    /// the other. Durable when it returns.
    package static func replace(_ path: String, with bytes: Data) throws(StoreError) {
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
        try move(new, to: path)
    }

    /// Puts a file that is durable in the place of another. Durable when it returns.
    package static func move(_ new: String, to path: String) throws(StoreError) {
        guard rename(new, path) == 0 else { throw failure("replace", path) }
        let parent = (path as NSString).deletingLastPathComponent
        let directory = open(parent.isEmpty ? "." : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw failure("write", parent) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw failure("write", parent) }
    }

    private static func failure(_ operation: String, _ path: String) -> StoreError {
        .disk(operation: operation, path: path, detail: SystemRefusal.words())
    }
}
