import EventLog
import Foundation
import Logging
import Program

/// Waits for a log that does not accept records: reports the wait, and gives up soon after a stop was requested. The
/// next start publishes unacknowledged records.
final class EmissionPatience {
    /// Longer waits are reported.
    private static let usualWait = Duration.seconds(5)
    /// The time for publishing after a stop was requested.
    private static let stopWait = Duration.seconds(5)

    private let address: String
    private let stop: StopSignal
    private let logger: Logger
    private let metrics: WorkerMetrics?
    private var began = ContinuousClock.now
    private var stopSeen: ContinuousClock.Instant?
    private var isTold = false

    init(address: String, stop: StopSignal, logger: Logger, metrics: WorkerMetrics?) {
        self.address = address
        self.stop = stop
        self.logger = logger
        self.metrics = metrics
    }

    /// Publishes, repeatedly while the log is unreachable; false if it gave up. Throws errors that waiting does not
    /// fix.
    func keepTrying(_ publish: (() -> Bool) throws(LogError) -> Void) throws(LogError) -> Bool {
        began = .now
        defer { endWait() }
        while true {
            do throws(LogError) {
                try publish(goOn)
                return true
            } catch {
                guard case .unavailable = error else { throw error }
                tell("\(error)")
                guard goOn() else { return false }
                usleep(200_000)
            }
        }
    }

    /// Whether to keep waiting.
    private func goOn() -> Bool {
        metrics?.wait(for: nil)
        if isTold { metrics?.setBrokerWait(began.duration(to: .now) / .seconds(1)) }
        if began.duration(to: .now) > Self.usualWait {
            tell(
                "\(address) does not accept partner postbacks or dead letters: a partition's leader is "
                    + "unavailable, or too few replicas are in sync")
        }
        guard stop.isRequested else { return true }
        let seen = stopSeen ?? .now
        stopSeen = seen
        return seen.duration(to: .now) < Self.stopWait
    }

    private func tell(_ reason: String) {
        metrics?.wait(for: reason)
        guard !isTold else { return }
        isTold = true
        logger.warning("publishing waits", metadata: ["reason": "\(reason)"])
    }

    private func endWait() {
        guard isTold else { return }
        isTold = false
        metrics?.goOn()
        logger.notice("publishing no longer waits")
    }
}
