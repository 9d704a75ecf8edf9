import Synchronization

/// Whether a worker lives and is of use, told by its loop and asked by whoever watches it.
package final class Health: Sendable {
    private struct State {
        var lastTurn: ContinuousClock.Instant
        var fault: String?
    }

    /// A loop that has not turned for so long is stuck.
    package static let stallSeconds = 60

    private let allowed: Duration
    private let state: Mutex<State>

    /// A worker that begins now and is not ready yet. Its loop may wait for `waitMilliseconds` for records,
    /// beside the time it may be stuck.
    package init(waitMilliseconds: Int, now: ContinuousClock.Instant = .now) {
        allowed = .seconds(Self.stallSeconds) + .milliseconds(waitMilliseconds)
        state = Mutex(State(lastTurn: now, fault: "no partition is assigned yet"))
    }

    /// The loop has turned.
    package func turn(now: ContinuousClock.Instant = .now) {
        state.withLock { $0.lastTurn = now }
    }

    /// The worker is ready, or says why it is not.
    package func setReady(unless fault: String?) {
        state.withLock { $0.fault = fault }
    }

    /// Why the worker counts as dead; nil while it lives.
    package func stall(now: ContinuousClock.Instant = .now) -> String? {
        let rested = state.withLock { $0.lastTurn }.duration(to: now)
        guard rested > allowed else { return nil }
        return "the worker's loop has not turned for \(rested.components.seconds) s"
    }

    /// Why the worker is not ready; nil when it is.
    package var unreadiness: String? { state.withLock { $0.fault } }
}
