import EventLog
import Foundation
import Synchronization

/// Tells installs their conversion values, on a thread of its own: all requests go through it one
/// after the other, so that those of one install never race, and whatever waits meanwhile becomes one
/// durable append.
public final class ConversionService: Sendable {
    private struct State {
        var waiting: [PendingAnswer] = []
        /// What is being answered.
        var turn: [PendingAnswer] = []
        var isStopped = false
        var lastFault: (fault: ConversionServiceError, instant: ContinuousClock.Instant)?
    }

    /// How often requests that wait for too long are looked for.
    private static let watchSeconds = 0.1
    /// After a fault it is worth to try again, even when nobody asks anything.
    private static let faultCounts = Duration.seconds(5)

    private let deadlineSeconds: Double
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// So many requests may wait.
    static let mostWaiting = 8192
    /// So many are answered at once.
    private static let mostAtOnce = 1024

    /// Reads on in the topic `conversion-updates` and then answers. Returns when that is done.
    ///
    /// - Parameters:
    ///   - log: the log; it is the service's own from now on.
    ///   - storePath: the file of what is known of installs, `conversions.sqlite`.
    ///   - apps: the apps and their models.
    ///   - deadlineSeconds: how long a request waits for its answer.
    /// - Throws: what is wrong with the log or the file.
    public init(
        log: sending any LogBackend, storePath: String, apps: ConversionApps,
        deadlineSeconds: Double = 10
    ) throws(ConversionServiceError) {
        self.deadlineSeconds = deadlineSeconds
        let ledger = try InstallLedger(log: log, storePath: storePath, models: apps)
        start(ledger)
    }

    private func start(_ ledger: sending InstallLedger) {
        let box = LedgerBox(ledger)
        Thread.detachNewThread { [self] in
            run(box)
            ended.signal()
        }
        Thread.detachNewThread { [weak self] in
            while let isStopped = self?.answerLate(), !isStopped {
                Thread.sleep(forTimeInterval: Self.watchSeconds)
            }
        }
    }

    /// Answers a request, once its event is durable in the log. One that is `late` may be there all the
    /// same: repeated, it is the same update.
    ///
    /// - Parameter nowMilliseconds: the instant of the answer, milliseconds since 1970.
    public func answer(
        _ request: ConversionRequest, nowMilliseconds: Int64
    ) async throws(ConversionServiceError) -> ConversionAnswer {
        let pending = PendingAnswer(
            request, nowMilliseconds: nowMilliseconds, deadline: .now + .seconds(deadlineSeconds))
        try enqueue(pending)
        return try await pending.wait().get()
    }

    /// Why it cannot be relied upon just now; nil when it can.
    public var unreadiness: String? {
        state.withLock { state in
            guard let last = state.lastFault, last.instant.duration(to: .now) < Self.faultCounts
            else { return nil }
            return last.fault.description
        }
    }

    /// Takes no more, answers what waits, and returns when that is done, or too late.
    public func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        guard isFirst else { return }
        wake.signal()
        // A log that hangs does not hold up the end: everybody was told so by then.
        _ = ended.wait(timeout: .now() + deadlineSeconds + 1)
    }

    private func enqueue(_ pending: PendingAnswer) throws(ConversionServiceError) {
        let refusal = state.withLock { state -> ConversionServiceError? in
            guard !state.isStopped else { return .stopped }
            guard state.waiting.count < Self.mostWaiting else { return .busy }
            state.waiting.append(pending)
            return nil
        }
        if let refusal { throw refusal }
        wake.signal()
    }

    /// Answers those who have waited for too long; says whether nobody will wait any more.
    private func answerLate() -> Bool {
        let now = ContinuousClock.now
        let (late, isOver) = state.withLock { state in
            // All wait equally long, so that the first are the latest.
            let late =
                state.turn.filter { $0.deadline <= now && !$0.isAnswered }
                + state.waiting.prefix { $0.deadline <= now }
            state.waiting.removeAll { $0.deadline <= now }
            if !late.isEmpty { state.lastFault = (.late, now) }
            return (late, state.isStopped && state.turn.isEmpty && state.waiting.isEmpty)
        }
        for pending in late { pending.answer(.failure(.late)) }
        return isOver
    }

    /// The ledger, and with it the lock on its file, is gone when this returns.
    private func run(_ box: LedgerBox) {
        guard let ledger = box.take() else { return }
        while true {
            let (turn, isOver) = state.withLock { state in
                state.turn = Array(state.waiting.prefix(Self.mostAtOnce))
                state.waiting.removeFirst(state.turn.count)
                return (state.turn, state.isStopped && state.turn.isEmpty)
            }
            if isOver { break }
            if turn.isEmpty {
                wake.wait()
            } else {
                answer(turn, ledger)
            }
        }
        ledger.close()
    }

    private func answer(_ turn: [PendingAnswer], _ ledger: InstallLedger) {
        let result: Result<[ConversionAnswer], ConversionServiceError>
        do throws(ConversionServiceError) {
            result = .success(try ledger.answer(turn.map { ($0.request, $0.nowMilliseconds) }))
        } catch {
            result = .failure(error)
        }
        state.withLock { state in
            state.turn = []
            if case .failure(let error) = result {
                state.lastFault = (error, .now)
            } else {
                state.lastFault = nil
            }
        }
        switch result {
        case .success(let answers):
            for (pending, answer) in zip(turn, answers) { pending.answer(.success(answer)) }
        case .failure(let error):
            for pending in turn { pending.answer(.failure(error)) }
        }
    }
}

/// Carries the ledger to its thread.
///
/// `@unchecked Sendable`: only that thread uses the ledger.
private final class LedgerBox: @unchecked Sendable {
    private var ledger: InstallLedger?

    init(_ ledger: InstallLedger) {
        self.ledger = ledger
    }

    func take() -> InstallLedger? {
        defer { ledger = nil }
        return ledger
    }
}
