import Collector
import EventLog
import Foundation
import Inspection
import Synchronization
import Worker

/// The parts of `weir up` beside the collector.
final class Components: Sendable {
    /// The name of a part, and what it does until it is asked to stop.
    typealias Part = (name: String, work: @Sendable (StopSignal) throws -> Void)

    /// How long parts may take to fold what is in the log when everything ends.
    private static let catchUpSeconds = 10.0
    private static let pollSeconds = 0.05

    private let directory: String
    private let address: LogAddress
    private let signal = StopSignal()
    private let all = Mutex<[Component]>([])

    /// None yet, of a log and a directory of stores.
    init(directory: String, log address: LogAddress) {
        self.directory = directory
        self.address = address
    }

    /// Starts parts.
    func start(_ parts: [Part]) {
        all.withLock { all in
            all += parts.map { part in Component(part.name, stop: signal, work: part.work) }
        }
    }

    /// Those that failed, and why.
    var failures: [(name: String, fault: String)] {
        all.withLock { all in all.compactMap { part in part.fault.map { (part.name, $0) } } }
    }

    /// Which failed, for those who may ask anybody's machine, and so without a reason.
    var states: [ProgramPart] {
        all.withLock { all in
            all.map { ProgramPart($0.name, hasFailed: $0.fault != nil) }
        }
    }

    /// Waits until nothing is left in the log that a part which works has not folded, for some seconds at
    /// most. A cluster has others that write and fold: there nothing is waited for.
    func catchUp() {
        guard case .sqlite = address else { return }
        let deadline = ContinuousClock.now + .seconds(Self.catchUpSeconds)
        while ContinuousClock.now < deadline, isBehind {
            Thread.sleep(forTimeInterval: Self.pollSeconds)
        }
    }

    private var isBehind: Bool {
        let failed = failures.map(\.name)
        guard
            let report = try? LagReport(
                directories: [directory], log: LogOptions.open(address, .existing),
                nowMilliseconds: nil)
        else { return true }
        let parts = all.withLock { all in all.map(\.name) }
        // A store that is being made is behind too.
        let streams = StoreSet.streams.filter { parts.contains("weir-\($0)") }
        return report.streams.contains { $0.lag > 0 && !failed.contains("weir-\($0.stream)") }
            || streams.contains { stream in
                !failed.contains("weir-\(stream)")
                    && !report.streams.contains { $0.stream == stream }
            }
    }

    /// Asks all to stop, and waits until they have.
    func stop() {
        signal.request()
        for part in all.withLock({ $0 }) { part.join() }
    }
}
