import Foundation
import Synchronization
import Worker

/// A part of `weir up`, on a thread of its own.
final class Component: Sendable {
    /// Pauses before a part that failed is begun again: what made it fail may pass, as a lock on a file
    /// does.
    private static let pauseSeconds = [2.0, 5, 10, 30, 60]
    /// A part that failed counts as failed until it has worked for so long.
    private static let provedSeconds = 10.0
    private static let pollSeconds = 0.05

    private struct State {
        /// Why it failed last.
        var fault: String?
        /// When it was begun last; nil while it is not.
        var begin: ContinuousClock.Instant?
    }

    /// Name of the program that the part is elsewhere.
    let name: String
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    /// Starts the part. What makes it fail is written to standard error at once; the others go on, so that
    /// what comes in by HTTP is still taken, and the part is begun again after a pause.
    init(_ name: String, stop: StopSignal, work: @escaping @Sendable (StopSignal) throws -> Void) {
        self.name = name
        let thread = Thread { [self] in
            var failures = 0
            while true {
                state.withLock { $0.begin = .now }
                do {
                    try work(stop)
                    break
                } catch {
                    failures = hasProved ? 1 : failures + 1
                    note("\(error)")
                }
                guard !stop.isRequested, rest(failures, stop) else { break }
            }
            ended.signal()
        }
        thread.name = name
        thread.stackSize = 8 << 20
        thread.start()
    }

    /// Why it failed; nil when it did not, or has worked well since.
    var fault: String? {
        state.withLock { state in hasProved(state) ? nil : state.fault }
    }

    private var hasProved: Bool { state.withLock { hasProved($0) } }

    private func hasProved(_ state: State) -> Bool {
        state.begin.map { $0.duration(to: .now) > .seconds(Self.provedSeconds) } ?? false
    }

    /// The same words are not written again and again.
    private func note(_ fault: String) {
        let isNew = state.withLock { state in
            let isNew = state.fault != fault || hasProved(state)
            state.fault = fault
            state.begin = nil
            return isNew
        }
        if isNew { Notice.write("\(name): \(fault)") }
    }

    /// Waits before the next try; false when a stop was asked for meanwhile.
    private func rest(_ failures: Int, _ stop: StopSignal) -> Bool {
        let seconds = Self.pauseSeconds[min(failures, Self.pauseSeconds.count) - 1]
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            if stop.isRequested { return false }
            Thread.sleep(forTimeInterval: Self.pollSeconds)
        }
        return true
    }

    /// Waits until it has ended.
    func join() {
        ended.wait()
        // For whoever waits again.
        ended.signal()
    }
}
