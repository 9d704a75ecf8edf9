import EventLog
import Foundation
import Logging

/// Repeats a request to an unresponsive log for a bounded time, so that a worker survives brokers that restart or are
/// unreachable for minutes. The worker reads and folds nothing during that time.
package final class BrokerPatience {
    /// A stop was requested while the log did not answer.
    package struct Stopped: Error {
        package init() {}
    }

    private static let pauseMicroseconds: UInt32 = 200_000

    private let seconds: Int
    private let isStopped: () -> Bool
    private let logger: Logger
    private let report: (_ reason: String?, _ seconds: Double) -> Void

    /// - Parameters:
    ///   - seconds: how long to wait for an answer, from the request on; 0: not at all.
    ///   - isStopped: whether to end the wait.
    ///   - report: called about five times a second while the log does not answer, with its error and the time since
    ///     its last
    ///     answer, and once with nil when it answers again.
    package init(
        seconds: Int, isStopped: @escaping () -> Bool, logger: Logger,
        report: @escaping (_ reason: String?, _ seconds: Double) -> Void = { _, _ in }
    ) {
        self.seconds = seconds
        self.isStopped = isStopped
        self.logger = logger
        self.report = report
    }

    /// Asks until there is an answer. Waits only after errors that mean an unresponsive log.
    ///
    /// - Throws: `Stopped`; `LogError.unavailable` once the time is over; every other error at once.
    package func wait<Answer>(_ ask: () throws -> Answer) throws -> Answer {
        let began = ContinuousClock.now
        var isWaiting = false
        while true {
            do {
                let answer = try ask()
                if isWaiting {
                    logger.notice("the log answers again")
                    report(nil, 0)
                }
                return answer
            } catch LogError.unavailable(let operation, let address, let detail) {
                let waited = began.duration(to: .now)
                guard waited < .seconds(seconds) else {
                    throw LogError.unavailable(
                        operation: operation, address: address,
                        detail: "\(detail); waited \(waited.components.seconds) s, the limit of "
                            + "broker_patience_seconds")
                }
                guard !isStopped() else { throw Stopped() }
                if !isWaiting {
                    isWaiting = true
                    logger.warning(
                        "the log does not answer: waiting until it answers",
                        metadata: [
                            "reason": "cannot \(operation) \(address): \(detail)",
                            "at_most_seconds": "\(seconds)",
                        ])
                }
                report("cannot \(operation) \(address): \(detail)", waited / .seconds(1))
                usleep(Self.pauseMicroseconds)
            }
        }
    }
}
