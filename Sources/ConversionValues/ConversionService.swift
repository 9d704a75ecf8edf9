import EventLog
import Foundation
import Synchronization

/// Tells installs their conversion values, on a thread of its own: all requests go through it one
/// after the other, so that those of one install never race, and whatever waits meanwhile becomes one
/// durable append.
public final class ConversionService: Sendable {
    private struct Waiting: Sendable {
        var request: ConversionRequest
        var nowMilliseconds: Int64
        var continuation:
            CheckedContinuation<Result<ConversionAnswer, ConversionServiceError>, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        var isStopped = false
        var fault: ConversionServiceError?
    }

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
    /// - Throws: what is wrong with the log or the file.
    public init(
        log: sending any LogBackend, storePath: String, apps: ConversionApps
    ) throws(ConversionServiceError) {
        let ledger = try InstallLedger(log: log, storePath: storePath, models: apps)
        start(ledger)
    }

    private func start(_ ledger: sending InstallLedger) {
        let box = LedgerBox(ledger)
        Thread.detachNewThread { [self] in
            run(box)
            ended.signal()
        }
    }

    /// Answers a request, once its event is durable in the log.
    ///
    /// - Parameter nowMilliseconds: the instant of the answer, milliseconds since 1970.
    public func answer(
        _ request: ConversionRequest, nowMilliseconds: Int64
    ) async throws(ConversionServiceError) -> ConversionAnswer {
        let result = await withCheckedContinuation { continuation in
            let refusal = enqueue(
                Waiting(
                    request: request, nowMilliseconds: nowMilliseconds, continuation: continuation))
            if let refusal { continuation.resume(returning: .failure(refusal)) }
        }
        return try result.get()
    }

    /// Why it cannot be relied upon just now; nil when it can.
    public var unreadiness: String? { state.withLock { $0.fault?.description } }

    /// Takes no more, answers what waits, and returns when that is done.
    public func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        guard isFirst else { return }
        wake.signal()
        ended.wait()
    }

    private func enqueue(_ waiting: Waiting) -> ConversionServiceError? {
        let refusal = state.withLock { state -> ConversionServiceError? in
            guard !state.isStopped else { return .stopped }
            guard state.waiting.count < Self.mostWaiting else { return .busy }
            state.waiting.append(waiting)
            return nil
        }
        if refusal == nil { wake.signal() }
        return refusal
    }

    /// The ledger, and with it the lock on its file, is gone when this returns.
    private func run(_ box: LedgerBox) {
        guard let ledger = box.take() else { return }
        while true {
            let (turn, isOver) = state.withLock { state in
                let turn = Array(state.waiting.prefix(Self.mostAtOnce))
                state.waiting.removeFirst(turn.count)
                return (turn, state.isStopped && turn.isEmpty)
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

    private func answer(_ turn: [Waiting], _ ledger: InstallLedger) {
        do throws(ConversionServiceError) {
            let answers = try ledger.answer(turn.map { ($0.request, $0.nowMilliseconds) })
            state.withLock { $0.fault = nil }
            for (waiting, answer) in zip(turn, answers) {
                waiting.continuation.resume(returning: .success(answer))
            }
        } catch {
            state.withLock { $0.fault = error }
            for waiting in turn { waiting.continuation.resume(returning: .failure(error)) }
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
