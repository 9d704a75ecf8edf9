import Synchronization

/// What a request asks of a thread that writes to the log for many of them at once, and the task that waits
/// for the answer.
package final class PendingRequest<Content: Sendable, Success: Sendable, Failure: Error>: Sendable {
    package typealias Answer = Result<Success, Failure>

    private enum State {
        case waiting
        case awaited(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }

    /// What it asks.
    package let content: Content
    /// Nobody waits for longer.
    package let deadline: ContinuousClock.Instant
    private let state = Mutex<State>(.waiting)

    package init(_ content: Content, deadline: ContinuousClock.Instant) {
        self.content = content
        self.deadline = deadline
    }

    /// True once the answer is given, be it the deadline's.
    package var isAnswered: Bool {
        state.withLock { if case .answered = $0 { true } else { false } }
    }

    /// Gives the answer; only the first one counts.
    package func answer(_ answer: Answer) {
        let waiter = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            defer { if case .answered = state {} else { state = .answered(answer) } }
            if case .awaited(let waiter) = state { return waiter }
            return nil
        }
        waiter?.resume(returning: answer)
    }

    /// Waits for the answer; to be called once.
    package func wait() async -> Answer {
        await withCheckedContinuation { waiter in
            let known = state.withLock { state -> Answer? in
                if case .answered(let answer) = state { return answer }
                state = .awaited(waiter)
                return nil
            }
            if let known { waiter.resume(returning: known) }
        }
    }
}
