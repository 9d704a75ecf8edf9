import EventLog
import Foundation
import Store
import Synchronization

/// Conversion values: the next value that an install should report to SKAdNetwork or AdAttributionKit.
///
/// `ConversionEngine` is the pure part: it answers a request from the state of its install and the app's model. The
/// answer is an event of the topic `conversion-updates`. `InstallState` is folded from that topic. `InstallStore`
/// keeps the states in one SQLite file, which can be rebuilt from the log. This service runs all of it.
///
/// ```swift
/// let service = try ConversionService(
///     log: log, storePath: "data/conversions.sqlite", apps: ConversionApps(models: models))
/// let answer = try await service.answer(request, nowMilliseconds: now)
/// ```
///
/// One thread answers all requests one after the other, so that two requests of one install never race. Requests that
/// wait at the same time become one durable append.
package final class ConversionService: Sendable {
    private struct State {
        var waiting: [PendingAnswer] = []
        /// The group of requests in progress.
        var turn: [PendingAnswer] = []
        var isStopped = false
        /// The topic is being read, so requests cannot be answered yet.
        var isReading = true
        /// No request waits beyond this instant.
        var waitsEnd: ContinuousClock.Instant?
        var lastFault: (fault: ConversionServiceError, instant: ContinuousClock.Instant)?
    }

    /// The interval of the check for overdue requests.
    private static let watchSeconds = 0.1
    /// The pause before reading a failed log again.
    private static let rereadSeconds = 1.0
    /// The time for which a fault counts as unreadiness. After it, clients may retry even without a new request in
    /// between.
    private static let faultCounts = Duration.seconds(5)

    private let deadlineSeconds: Double
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    static let mostWaiting = 8192
    private static let mostAtOnce = 1024

    /// Reads new records of the topic `conversion-updates`, then answers. Until then requests wait or get `behind`.
    /// If the file is damaged or follows another log, the service sets it aside and rebuilds it.
    ///
    /// - Parameters:
    ///   - log: only the service uses it from now on.
    ///   - storePath: the file of states, `conversions.sqlite`.
    ///   - deadlineSeconds: how long a request waits for its answer.
    ///   - warn: called when the file was set aside.
    /// - Throws: the fault of the log or the file, for example if another program uses it.
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

    /// Answers a request after its event is durable in the log. The event of a request that got `late` may be in the
    /// log anyway; a repeated request is then the same update.
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

    /// Why the service is not reliable; nil if it is.
    package var unreadiness: String? {
        state.withLock { state in
            guard let last = state.lastFault, last.instant.duration(to: .now) < Self.faultCounts
            else { return nil }
            return last.fault.explanation
        }
    }

    /// After this number of seconds no request waits any more: those without an answer get `stopped`.
    package func endWaits(inSeconds seconds: Double) {
        state.withLock { $0.waitsEnd = .now + .seconds(seconds) }
    }

    /// Accepts no more requests, answers the waiting ones, and returns after that or when time is up.
    ///
    /// - Parameter withinSeconds: the time limit; nil for the longest wait of a request.
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

    /// Fails all waiting requests.
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

    /// Answers overdue requests. True if the service is stopped and no request waits.
    private func answerLate() -> Bool {
        let now = ContinuousClock.now
        let (late, error, isOver) = state.withLock { state in
            let isEnding = state.waitsEnd.map { $0 <= now } ?? false
            // All have the same timeout, so the overdue ones come first.
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

    /// Whether the ledger has reached the end of the log.
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

    /// Rebuilds an unusable file before other requests are answered.
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

/// Passes the ledger to its thread.
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

/// Why a request has no answer.
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
    /// The file of states follows another log, or a truncated one.
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

    /// The reason in words for the client, without the places of the log and the file.
    package var explanation: String {
        switch self {
        case .busy, .late, .behind, .stopped: description
        case .log: "the log has not acknowledged: try again"
        case .store, .otherLog, .unwritable: "the collector cannot answer now: try again"
        }
    }

    /// Whether the file is unusable and can be rebuilt from the log.
    package var isOfFile: Bool {
        switch self {
        case .otherLog, .store(.notAStore), .store(.damaged), .store(.newerVersion): true
        case .busy, .late, .behind, .stopped, .log, .store, .unwritable: false
        }
    }
}
