import Synchronization

/// A request that waits for its answer, and whoever waits with it.
final class PendingAnswer: Sendable {
    typealias Answer = Result<ConversionAnswer, ConversionServiceError>

    private enum State {
        case waiting
        case awaited(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }

    let request: ConversionRequest
    let nowMilliseconds: Int64
    let deadline: ContinuousClock.Instant
    private let state = Mutex<State>(.waiting)

    init(
        _ request: ConversionRequest, nowMilliseconds: Int64, deadline: ContinuousClock.Instant
    ) {
        self.request = request
        self.nowMilliseconds = nowMilliseconds
        self.deadline = deadline
    }

    /// True once the answer is given, be it the deadline's.
    var isAnswered: Bool {
        state.withLock { if case .answered = $0 { true } else { false } }
    }

    /// Gives the answer; only the first one counts.
    func answer(_ answer: Answer) {
        let waiter = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            defer { if case .answered = state {} else { state = .answered(answer) } }
            if case .awaited(let waiter) = state { return waiter }
            return nil
        }
        waiter?.resume(returning: answer)
    }

    /// Waits for the answer; to be called once.
    func wait() async -> Answer {
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
