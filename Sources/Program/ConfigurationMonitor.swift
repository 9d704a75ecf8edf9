import Foundation
import Synchronization

/// Detects when to reload configuration files: after a change, or at SIGHUP. Compares their times and sizes once a
/// second.
package struct ConfigurationMonitor {
    /// Why to reload.
    package enum Cause: Equatable {
        /// Files have changed, and then stayed the same until the next look.
        case changed
        /// SIGHUP.
        case asked
    }

    private static let interval = Duration.seconds(1)

    /// Files and directories; the files of a directory count down to the second level.
    package var paths: [String]
    private let signal: ReloadSignal
    private var applied: [String: FileStamp]
    private var seen: [String: FileStamp]
    private var requests: Int
    private var lastLook = ContinuousClock.now
    private let interval: Duration

    /// Watches the present state.
    package init(
        _ paths: [String], signal: ReloadSignal = .ofProcess,
        interval: Duration = ConfigurationMonitor.interval
    ) {
        self.paths = paths
        self.signal = signal
        self.interval = interval
        applied = FileStamp.all(paths)
        seen = applied
        requests = signal.count
    }

    /// Why to reload now; nil without a cause.
    ///
    /// A change counts at the first look without a further change, so that no half-written file is read.
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
            applied = stamps
            return .asked
        }
        guard isSettled, stamps != applied else { return nil }
        applied = stamps
        return .changed
    }

    /// Makes the next look a cause to reload, after faulty contents: their repair may be in a file that is not
    /// watched.
    package mutating func tryAgain() {
        applied = [:]
    }
}

/// The fault of reloaded files. Several parts of one process read the same files: once one of them has reported a
/// fault, the others do not report it while it persists.
package final class StandingFault: Sendable {
    /// How many parts have each fault.
    private static let standing = Mutex<[String: Int]>([:])
    private let own = Mutex<String?>(nil)

    /// Starts without a fault.
    package init() {}

    deinit { clear() }

    /// Replaces the current fault; returns whether to report the new one.
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

    /// Ends the current fault.
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

/// Properties of a file that change with its content.
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

    /// The existing files of these paths.
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
