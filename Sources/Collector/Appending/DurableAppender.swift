import ConfigurationFiles
import Dispatch
import EventLog
import Foundation
import Logging
import Synchronization

/// Appends the records of all requests to a log, in groups and on its own thread: records that arrive while one group
/// becomes durable go into the next. Any task or thread may append.
final class DurableAppender: Sendable {
    private struct State {
        var queue: [PendingAppend] = []
        var queuedRecords = 0
        var queuedBytes = 0
        /// The group that is being appended.
        var turn: [PendingAppend] = []
        var isThreadWaiting = false
        var isStopped = false
        var lastFault: (explanation: String, instant: ContinuousClock.Instant)?
    }

    /// The interval of the check for overdue requests.
    private static let watchSeconds = 0.1
    /// The time for which a fault counts as unreadiness. After it, clients may retry even without a new request in
    /// between.
    private static let faultCounts = Duration.seconds(5)

    private let limits: AppendLimits
    private let metrics: CollectorMetrics
    private let logger: Logger
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// Opens a writer of the log, which only the thread uses from now on. Throws errors of opening.
    init(
        _ log: sending any LogBackend, limits: AppendLimits, metrics: CollectorMetrics,
        logger: Logger
    ) throws(LogError) {
        self.limits = limits
        self.logger = logger
        self.metrics = metrics
        let turns = AppendTurns(log: log, writer: try log.writer())
        Thread.detachNewThread { [self] in run(turns) }
        Thread.detachNewThread { [weak self] in
            while let isStopped = self?.answerLate(), !isStopped {
                Thread.sleep(forTimeInterval: Self.watchSeconds)
            }
        }
    }

    /// Appends records in order and returns their positions, in the same order, once all of them are durable. After
    /// `full` none was accepted; after other refusals the log may contain them or not.
    func append(_ records: [OutgoingRecord]) async throws(AppendRefusal) -> [RecordPosition] {
        guard !records.isEmpty else { return [] }
        let pending = PendingAppend(
            AppendContent(records), deadline: .now + .seconds(limits.deadlineSeconds))
        try enqueue(pending)
        return try await pending.wait().get()
    }

    private func enqueue(_ pending: PendingAppend) throws(AppendRefusal) {
        let (refusal, wakes) = state.withLock { state -> (AppendRefusal?, Bool) in
            guard !state.isStopped else { return (.stopped, false) }
            // If the queue is empty, a request of any size is accepted.
            let isFull =
                state.queuedRecords + pending.content.records.count > limits.maxQueuedRecords
                || state.queuedBytes + pending.content.byteCount > limits.maxQueuedBytes
            guard state.queue.isEmpty || !isFull else { return (.full, false) }
            state.queue.append(pending)
            state.queuedRecords += pending.content.records.count
            state.queuedBytes += pending.content.byteCount
            defer { state.isThreadWaiting = false }
            return (nil, state.isThreadWaiting)
        }
        if let refusal { throw refusal }
        if wakes { wake.signal() }
    }

    /// Accepts no more, makes waiting records durable, and returns once everything was appended or refused.
    func stop() {
        let (isFirst, wakes) = state.withLock { state in
            defer {
                state.isStopped = true
                state.isThreadWaiting = false
            }
            return (!state.isStopped, state.isThreadWaiting)
        }
        guard isFirst else { return }
        if wakes { wake.signal() }
        // A log that hangs does not delay the end: by then every request was answered.
        _ = ended.wait(timeout: .now() + .seconds(limits.deadlineSeconds + 1))
        refuseAll(.stopped)
    }

    /// Why the log is not reliable; nil if it is.
    var unreadiness: String? {
        state.withLock { state in
            guard let fault = state.lastFault,
                fault.instant.duration(to: .now) < Self.faultCounts
            else { return nil }
            return fault.explanation
        }
    }

    /// The number of waiting records, including the group that is being appended.
    var depth: Int {
        state.withLock { state in
            state.queuedRecords + state.turn.reduce(0) { $0 + $1.content.records.count }
        }
    }
}

// MARK: The thread

extension DurableAppender {
    private func run(_ turns: AppendTurns) {
        while let turn = nextTurn() {
            let begun = ContinuousClock.now
            let fault = turns.append(turn, noting: note)
            metrics.count(turn: turn, took: begun.duration(to: .now), fault: fault)
            state.withLock { $0.turn = [] }
        }
        ended.signal()
    }

    private func note(_ fault: LogError?) {
        let isNew = state.withLock { state in
            defer { state.lastFault = fault.map { (AppendRefusal.log($0).explanation, .now) } }
            return (state.lastFault == nil) != (fault == nil)
        }
        guard isNew else { return }
        if let fault {
            logger.error("the log refuses records: \(fault)")
        } else {
            logger.notice("the log takes records again")
        }
    }

    /// Waits for the next group. Nil at the end.
    private func nextTurn() -> [PendingAppend]? {
        while true {
            let (turn, isOver) = state.withLock { state -> ([PendingAppend], Bool) in
                let turn = takeTurn(&state)
                if turn.isEmpty { state.isThreadWaiting = true }
                return (turn, state.isStopped)
            }
            if !turn.isEmpty { return turn }
            if isOver { return nil }
            wake.wait()
        }
    }

    private func takeTurn(_ state: inout State) -> [PendingAppend] {
        var count = 0
        var records = 0
        while count < state.queue.count, count == 0 || records < limits.maxTurnRecords {
            records += state.queue[count].content.records.count
            count += 1
        }
        let taken = state.queue[..<count]
        state.queuedRecords -= records
        state.queuedBytes -= taken.reduce(0) { $0 + $1.content.byteCount }
        // After the answer `late`, the sender sends the records again.
        state.turn = taken.filter { !$0.isAnswered }
        state.queue.removeFirst(count)
        guard state.turn.isEmpty, !state.queue.isEmpty else { return state.turn }
        return takeTurn(&state)
    }
}

// MARK: Deadlines

extension DurableAppender {
    /// Answers overdue requests. True if the appender is stopped and no request waits.
    private func answerLate() -> Bool {
        let now = ContinuousClock.now
        let (late, isStopped) = state.withLock { state -> ([PendingAppend], Bool) in
            // All have the same timeout, so the overdue ones come first.
            let late =
                Array(state.turn.prefix { $0.deadline <= now })
                + state.queue.prefix { $0.deadline <= now }
            if !late.isEmpty {
                state.lastFault = (AppendRefusal.late.explanation, now)
            }
            return (late, state.isStopped && state.turn.isEmpty && state.queue.isEmpty)
        }
        for pending in late { pending.answer(.failure(.late)) }
        return isStopped
    }

    private func refuseAll(_ refusal: AppendRefusal) {
        let left = state.withLock { state -> [PendingAppend] in
            defer {
                state.queue = []
                state.queuedRecords = 0
                state.queuedBytes = 0
            }
            return state.turn + state.queue
        }
        for pending in left { pending.answer(.failure(refusal)) }
    }
}

/// Why records were not acknowledged. Except after `full`, the log may contain them: the sender sends them again.
enum AppendRefusal: Error, Equatable, Sendable {
    /// Too many records wait for the log.
    case full
    case late
    case log(LogError)
    case stopped

    var retryAfterSeconds: Int {
        switch self {
        case .full, .stopped: 1
        case .late, .log: 5
        }
    }

    /// The reason in words for the sender, without the place of the log.
    var explanation: String {
        switch self {
        case .full: "too much waits for the log: try again"
        case .late: "the log has not acknowledged in time: try again"
        case .log(.unknownTopic(let topic, _)): "the log has no topic '\(topic)'"
        case .log: "the log has not acknowledged: try again"
        case .stopped: "the collector is stopping: try again"
        }
    }
}
