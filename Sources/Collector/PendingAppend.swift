import EventLog
import Synchronization

/// Records that wait to be durable, and whoever waits with them.
final class PendingAppend: Sendable {
    typealias Answer = Result<[RecordPosition], AppendRefusal>

    private enum State {
        case waiting
        case awaited(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }

    let records: [OutgoingRecord]
    let byteCount: Int
    let deadline: ContinuousClock.Instant
    private let state = Mutex<State>(.waiting)

    init(_ records: [OutgoingRecord], byteCount: Int, deadline: ContinuousClock.Instant) {
        self.records = records
        self.byteCount = byteCount
        self.deadline = deadline
    }

    /// True once the answer is given, be it the deadline's.
    var isAnswered: Bool {
        state.withLock { if case .answered = $0 { true } else { false } }
    }

    /// Gives the answer; only the first one counts.
    func answer(_ answer: Answer) {
        let waiter = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            switch state {
            case .waiting:
                state = .answered(answer)
                return nil
            case .awaited(let waiter):
                state = .answered(answer)
                return waiter
            case .answered: return nil
            }
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
