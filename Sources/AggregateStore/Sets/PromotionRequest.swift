import DatabaseFiles
import Foundation

/// A promotion that is under way in a data directory: `promotion.lock`, locked while its process lives.
///
/// While it is there workers of the directory finish their batch, give their stores up, and wait; a file
/// that nobody has locked any more is of a promotion that died, and means nothing.
package final class PromotionRequest {
    private let path: String
    private let descriptor: Int32

    private static let fileName = "promotion.lock"
    /// Whoever looks at the file locks it for an instant.
    private static let tries = 50
    private static let pauseMicroseconds: UInt32 = 20_000

    /// Asks all workers of a data directory to give their stores up. Throws `promotionUnderWay` when another
    /// process is at it.
    package init(directory: String) throws(StoreError) {
        path = StoreSets.join(directory, Self.fileName)
        descriptor = try Self.lock(path)
        ftruncate(descriptor, 0)
        let owner = "\(getpid())\n"
        _ = owner.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }

    deinit {
        unlink(path)
        close(descriptor)
    }

    private static func lock(_ path: String) throws(StoreError) -> Int32 {
        for _ in 0..<tries {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else {
                throw .disk(operation: "open", path: path, detail: SystemRefusal.words())
            }
            // Whoever removed the file of a dead promotion may have taken this one's name away.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, isCurrent(descriptor, path) {
                return descriptor
            }
            close(descriptor)
            usleep(pauseMicroseconds)
        }
        throw .promotionUnderWay(path: path)
    }

    /// Whether a promotion may be under way: one look at a name.
    package static func isMade(in directory: String) -> Bool {
        access(StoreSets.join(directory, fileName), F_OK) == 0
    }

    /// Whether a promotion is under way. What a dead one has left is removed.
    package static func isHeld(in directory: String) -> Bool {
        let path = StoreSets.join(directory, fileName)
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return true }
        if isCurrent(descriptor, path) { unlink(path) }
        return false
    }

    /// Whether the open file is the one that has the name now.
    private static func isCurrent(_ descriptor: Int32, _ path: String) -> Bool {
        var open = stat()
        var named = stat()
        return fstat(descriptor, &open) == 0 && stat(path, &named) == 0
            && open.st_ino == named.st_ino && open.st_dev == named.st_dev
    }
}
