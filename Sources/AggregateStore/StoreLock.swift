import DatabaseFiles
import Foundation

/// The right to work on a store: an exclusive lock on a file beside it, which ends with the process.
package final class StoreLock {
    private let descriptor: Int32

    /// Takes the lock. Throws `locked` when another process has it.
    package init(storePath: String) throws(StoreError) {
        let path = storePath + ".lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw .disk(operation: "open", path: path, detail: SystemRefusal.words())
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            // Closed by `deinit`, which runs although this throws.
            throw .locked(path: storePath, owner: Self.readOwner(descriptor))
        }
        ftruncate(descriptor, 0)
        let owner = "\(getpid())\n"
        _ = owner.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    private static func readOwner(_ descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        let digits = String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return digits.isEmpty ? "" : " (process \(digits))"
    }
}
