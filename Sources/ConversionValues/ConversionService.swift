import EventLog
import Foundation
import Store
import Synchronization

/// Conversion values: what an install should tell SKAdNetwork or AdAttributionKit next.
///
/// `ConversionEngine` is the pure part: it answers a request from the state of its install and the
/// app's model. The answer is an event of the topic `conversion-updates`, `InstallState` is folded
/// from that topic, and `InstallStore` keeps the states in one SQLite file that can be made again
/// from the log. This service runs all of it.
///
/// ```swift
/// let service = try ConversionService(
///     log: log, storePath: "data/conversions.sqlite", apps: ConversionApps(models: models))
/// let answer = try await service.answer(request, nowMilliseconds: now)
/// ```
///
/// All requests are answered one after the other on one thread, so that two requests of one install
/// never race. The requests that wait meanwhile become one durable append.
package final class ConversionService: Sendable {
    private struct State {
        var waiting: [PendingAnswer] = []
        /// The group that is being answered.
        var turn: [PendingAnswer] = []
        var isStopped = false
        /// The topic is being read, so that nobody can be answered yet.
        var isReading = true
        /// No request waits beyond this instant.
        var waitsEnd: ContinuousClock.Instant?
        var lastFault: (fault: ConversionServiceError, instant: ContinuousClock.Instant)?
    }

    /// How often overdue requests are looked for.
    private static let watchSeconds = 0.1
    /// The pause before a log that could not be read is tried again.
    private static let rereadSeconds = 1.0
    /// How long a fault counts as unreadiness. After that, clients may try again even when nobody
    /// has asked anything meanwhile.
    private static let faultCounts = Duration.seconds(5)

    private let deadlineSeconds: Double
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    static let mostWaiting = 8192
    private static let mostAtOnce = 1024

    /// Reads what is new in the topic `conversion-updates`, and then answers. Requests wait for
    /// that, or get `behind`. A file that is damaged or follows another log is set aside and made
    /// again.
    ///
    /// - Parameters:
    ///   - log: the service alone uses it from now on.
    ///   - storePath: the file of states, `conversions.sqlite`.
    ///   - deadlineSeconds: how long a request waits for its answer.
    ///   - warn: called when the file was set aside.
    /// - Throws: what is wrong with the log or the file, for instance when another program uses it.
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

    /// Answers a request after its event is durable in the log. The event of a request that got
    /// `late` may be in the log all the same; when the request is repeated, it is the same update.
    ///
    /// - Parameter nowMilliseconds: the instant of the answer, in milliseconds since 1970.
    package func answer(
        _ request: ConversionRequest, nowMilliseconds: Int64
    ) async throws(ConversionServiceError) -> ConversionAnswer {
        let pending = PendingAnswer(
            AnswerContent(request: request, nowMilliseconds: nowMilliseconds),
            deadline: .now + .seconds(deadlineSeconds))
        try enqueue(pending)
        return try await pending.wait().get()
    }

    /// Why the service cannot be relied on; nil when it can.
    package var unreadiness: String? {
        state.withLock { state in
            guard let last = state.lastFault, last.instant.duration(to: .now) < Self.faultCounts
            else { return nil }
            return last.fault.explanation
        }
    }

    /// After so many seconds no request waits any more: those without an answer get `stopped`.
    package func endWaits(inSeconds seconds: Double) {
        state.withLock { $0.waitsEnd = .now + .seconds(seconds) }
    }

    /// Takes no more, answers what waits, and returns after that, or when time is up.
    ///
    /// - Parameter withinSeconds: how long it may take; nil for as long as a request may wait.
    package func stop(withinSeconds: Double? = nil) {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        guard isFirst else { return }
        wake.signal()
        // A log that hangs does not delay the end: by then every request was answered.
        _ = ended.wait(timeout: .now() + (withinSeconds ?? deadlineSeconds + 1))
        fail(.stopped)
    }

    /// Fails all requests that wait.
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

    /// Answers overdue requests. True when the service is stopped and nothing waits.
    private func answerLate() -> Bool {
        let now = ContinuousClock.now
        let (late, error, isOver) = state.withLock { state in
            let isEnding = state.waitsEnd.map { $0 <= now } ?? false
            // All wait equally long, so the overdue ones stand first.
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

    /// The ledger, and with it the lock on its file, is freed before this returns.
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

    /// Whether the ledger has everything that the log has.
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

    /// Makes an unusable file again before anybody else is answered.
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

/// Hands the ledger to its thread.
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

typealias PendingAnswer = PendingRequest<AnswerContent, ConversionAnswer, ConversionServiceError>

struct AnswerContent: Sendable {
    let request: ConversionRequest
    /// The instant of the answer, in milliseconds since 1970.
    let nowMilliseconds: Int64
}

/// Why there is no answer.
package enum ConversionServiceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Too many requests wait.
    case busy
    /// Not answered in time. Whether the event is in the log is unknown.
    case late
    /// The topic is still being read.
    case behind
    case stopped
    case log(LogError)
    case store(StoreError)
    /// The file of states follows another log, or a log that was truncated.
    case otherLog(path: String, detail: String)
    case unwritable(detail: String)

    package var description: String {
        switch self {
        case .busy: "too much waits for the log: try again"
        case .late: "the log has not acknowledged in time: try again"
        case .behind: "what installs were told is being read from the log: try again"
        case .stopped: "the collector is stopping: try again"
        case .log(let error): error.description
        case .store(let error): error.description
        case .otherLog(let path, let detail):
            "\(path) does not follow this log (\(detail)): move the file away, and what installs were "
                + "told is read from the log again"
        case .unwritable(let detail): "an answer could not be written as an event: \(detail)"
        }
    }

    /// The reason in words for the client. It does not say where the log and the file are.
    package var explanation: String {
        switch self {
        case .busy, .late, .behind, .stopped: description
        case .log: "the log has not acknowledged: try again"
        case .store, .otherLog, .unwritable: "the collector cannot answer now: try again"
        }
    }

    /// Whether the file cannot be used as it is and can be made again from the log.
    package var isOfFile: Bool {
        switch self {
        case .otherLog, .store(.notAStore), .store(.damaged), .store(.newerVersion): true
        case .busy, .late, .behind, .stopped, .log, .store, .unwritable: false
        }
    }
}
