import Foundation
import Synchronization

/// Says when files of the configuration are to be read again: after they were changed, or at SIGHUP. Looks once
/// a second, at their times and sizes.
package struct ConfigurationWatch {
    /// Why to read again.
    package enum Cause: Equatable {
        /// Files are others than they were, and were left alone since the last look.
        case changed
        /// SIGHUP.
        case asked
    }

    private static let interval = Duration.seconds(1)

    /// Files, and directories whose files count, down to the second level.
    package var paths: [String]
    private let signal: ReloadSignal
    private var known: [String: FileStamp]
    private var seen: [String: FileStamp]
    private var requests: Int
    private var lastLook = ContinuousClock.now
    private let interval: Duration

    /// Watches what is there now.
    package init(
        _ paths: [String], signal: ReloadSignal = .ofProcess,
        interval: Duration = ConfigurationWatch.interval
    ) {
        self.paths = paths
        self.signal = signal
        self.interval = interval
        known = FileStamp.all(paths)
        seen = known
        requests = signal.count
    }

    /// Why to read again now; nil when there is no cause.
    ///
    /// A change counts at the look after it was seen, when nothing has changed further: a file that is
    /// just being written is not read half.
    package mutating func look() -> Cause? {
        let now = ContinuousClock.now
        let isAsked = signal.count != requests
        guard isAsked || lastLook.duration(to: now) >= interval else { return nil }
        lastLook = now
        let stamps = FileStamp.all(paths)
        let isSettled = stamps == seen
        seen = stamps
        if isAsked {
            requests = signal.count
            known = stamps
            return .asked
        }
        guard isSettled, stamps != known else { return nil }
        known = stamps
        return .changed
    }

    /// What was read is wrong: the next look is a cause to read it again, since what mends it may be a file
    /// that is not watched.
    package mutating func tryAgain() {
        known = [:]
    }
}

/// What is wrong with files that are followed. Several parts of one process read the same files: a fault that one
/// of them has reported is not reported by the others, as long as it stands.
package final class StandingFault: Sendable {
    /// How many stand at each fault.
    private static let standing = Mutex<[String: Int]>([:])
    private let own = Mutex<String?>(nil)

    /// Stands at none.
    package init() {}

    deinit { clear() }

    /// Whether a fault, which stands from now on in place of the one before, is to be reported.
    package func isNews(_ fault: String) -> Bool {
        own.withLock { own in
            guard own != fault else { return false }
            return Self.standing.withLock { standing in
                if let own { Self.remove(own, from: &standing) }
                own = fault
                standing[fault, default: 0] += 1
                return standing[fault] == 1
            }
        }
    }

    /// Nothing is wrong any more.
    package func clear() {
        own.withLock { own in
            guard let fault = own else { return }
            Self.standing.withLock { Self.remove(fault, from: &$0) }
            own = nil
        }
    }

    private static func remove(_ fault: String, from standing: inout [String: Int]) {
        standing[fault] = standing[fault].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
}

/// What a file has that changes with its content.
private struct FileStamp: Equatable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    let modified: [Int]

    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = [Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec)]
    }

    /// The files of these paths that are there.
    static func all(_ paths: [String]) -> [String: FileStamp] {
        var stamps: [String: FileStamp] = [:]
        for path in paths { add(path, levels: 2, to: &stamps) }
        return stamps
    }

    private static func add(_ path: String, levels: Int, to stamps: inout [String: FileStamp]) {
        if let stamp = FileStamp(path) {
            stamps[path] = stamp
        } else if levels > 0, let names = try? FileManager.default.contentsOfDirectory(atPath: path)
        {
            for name in names where !name.hasPrefix(".") {
                add("\(path)/\(name)", levels: levels - 1, to: &stamps)
            }
        }
    }
}
