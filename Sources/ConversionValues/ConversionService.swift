import EventLog
import Foundation
import Synchronization

/// Tells installs their conversion values, on a thread of its own: all requests go through it one
/// after the other, so that those of one install never race, and whatever waits meanwhile becomes one
/// durable append.
package final class ConversionService: Sendable {
    private struct State {
        var waiting: [PendingAnswer] = []
        /// What is being answered.
        var turn: [PendingAnswer] = []
        var isStopped = false
        /// What installs were told is being read, so that nobody can be answered yet.
        var isReading = true
        /// Nobody waits for longer.
        var waitsEnd: ContinuousClock.Instant?
        var lastFault: (fault: ConversionServiceError, instant: ContinuousClock.Instant)?
    }

    /// How often requests that wait for too long are looked for.
    private static let watchSeconds = 0.1
    /// When a log that could not be read is tried again.
    private static let rereadSeconds = 1.0
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

    /// Reads on in the topic `conversion-updates`, and then answers: requests wait for that, or are told
    /// that it is `behind`. A file that is damaged or follows another log is set aside and made again.
    ///
    /// - Parameters:
    ///   - log: the log; it is the service's own from now on.
    ///   - storePath: the file of what is known of installs, `conversions.sqlite`.
    ///   - apps: the apps and their models.
    ///   - deadlineSeconds: how long a request waits for its answer.
    ///   - warn: is told when the file was set aside.
    /// - Throws: what is wrong with the log or the file, as when another program uses it.
    package init(
        log: sending any LogBackend, storePath: String, apps: ConversionApps,
        deadlineSeconds: Double = 10, warn: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ConversionServiceError) {
        self.deadlineSeconds = deadlineSeconds
        let ledger = try InstallLedger(log: log, storePath: storePath, models: apps, warn: warn)
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
    package func answer(
        _ request: ConversionRequest, nowMilliseconds: Int64
    ) async throws(ConversionServiceError) -> ConversionAnswer {
        let pending = PendingAnswer(
            AnswerContent(request: request, nowMilliseconds: nowMilliseconds),
            deadline: .now + .seconds(deadlineSeconds))
        try enqueue(pending)
        return try await pending.wait().get()
    }

    /// Why it cannot be relied upon just now; nil when it can.
    package var unreadiness: String? {
        state.withLock { state in
            guard let last = state.lastFault, last.instant.duration(to: .now) < Self.faultCounts
            else { return nil }
            return last.fault.words
        }
    }

    /// From so many seconds on nobody waits: what is not answered by then is `stopped`.
    package func endWaits(inSeconds seconds: Double) {
        state.withLock { $0.waitsEnd = .now + .seconds(seconds) }
    }

    /// Takes no more, answers what waits, and returns when that is done, or too late.
    ///
    /// - Parameter withinSeconds: how long it may take; nil for as long as a request may wait.
    package func stop(withinSeconds: Double? = nil) {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        guard isFirst else { return }
        wake.signal()
        // A log that hangs does not hold up the end: everybody was told so by then.
        _ = ended.wait(timeout: .now() + (withinSeconds ?? deadlineSeconds + 1))
        fail(.stopped)
    }

    /// Gives all that wait this answer.
    private func fail(_ error: ConversionServiceError) {
        let left = state.withLock { state in
            defer { state.waiting = [] }
            return state.turn + state.waiting
        }
        for pending in left { pending.answer(.failure(error)) }
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
        let (late, error, isOver) = state.withLock { state in
            let isEnding = state.waitsEnd.map { $0 <= now } ?? false
            // All wait equally long, so that the first are the latest.
            let late =
                state.turn.filter { (isEnding || $0.deadline <= now) && !$0.isAnswered }
                + state.waiting.prefix { isEnding || $0.deadline <= now }
            state.waiting.removeAll { isEnding || $0.deadline <= now }
            let error: ConversionServiceError =
                isEnding ? .stopped : state.isReading ? .behind : .late
            if !late.isEmpty, error == .late { state.lastFault = (.late, now) }
            let isOver = state.isStopped && state.turn.isEmpty && state.waiting.isEmpty
            return (late, error, isOver)
        }
        for pending in late { pending.answer(.failure(error)) }
        return isOver
    }

    /// The ledger, and with it the lock on its file, is gone when this returns.
    private func run(_ box: LedgerBox) {
        guard let ledger = box.take() else { return }
        while true {
            if ledger.isBehind, !catchUp(ledger) {
                if state.withLock(\.isStopped) { break }
                Thread.sleep(forTimeInterval: Self.rereadSeconds)
                continue
            }
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

    /// Says whether the ledger has what the log has.
    private func catchUp(_ ledger: InstallLedger) -> Bool {
        do throws(ConversionServiceError) {
            try ledger.catchUp()
            state.withLock { $0.isReading = false }
            return true
        } catch {
            state.withLock { $0.lastFault = (error, .now) }
            fail(error)
            return false
        }
    }

    /// A file that turns out to be of no use is made again before anybody else is answered.
    private func renew(_ ledger: InstallLedger, _ reason: ConversionServiceError) {
        state.withLock { $0.isReading = true }
        do throws(ConversionServiceError) {
            try ledger.makeAnew(reason)
        } catch {
            state.withLock { $0.lastFault = (error, .now) }
        }
    }

    private func answer(_ turn: [PendingAnswer], _ ledger: InstallLedger) {
        let result: Result<[ConversionAnswer], ConversionServiceError>
        do throws(ConversionServiceError) {
            result = .success(
                try ledger.answer(turn.map { ($0.content.request, $0.content.nowMilliseconds) }))
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
            if error.isOfFile { renew(ledger, error) }
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
