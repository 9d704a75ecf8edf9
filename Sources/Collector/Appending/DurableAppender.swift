import Dispatch
import EventLog
import Foundation
import Logging
import Synchronization

/// Appends the records of all requests to a log, from a thread of its own, in groups: whatever arrives while
/// the log makes one group durable goes with the next. Any task and any thread may append.
package final class DurableAppender: Sendable {
    private struct State {
        var queue: [PendingAppend] = []
        var queuedRecords = 0
        var queuedBytes = 0
        /// What the log is being asked to take.
        var turn: [PendingAppend] = []
        var isThreadWaiting = false
        var isStopped = false
        var lastFault: (words: String, instant: ContinuousClock.Instant)?
    }

    /// How often requests that wait for too long are looked for.
    private static let watchSeconds = 0.1
    /// After a fault it is worth to try again, even when nobody sends anything.
    private static let faultCounts = Duration.seconds(5)

    private let limits: AppendLimits
    private let metrics: CollectorMetrics
    private let logger: Logger
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// Begins to work with a log, whose writer it opens, and which the thread uses alone. Throws what
    /// opening a writer throws.
    package convenience init(
        _ log: sending any LogBackend, limits: AppendLimits = AppendLimits()
    ) throws(LogError) {
        try self.init(
            log, limits: limits, metrics: .unwatched, logger: Logger(label: "weir-collector"))
    }

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

    /// Appends records in order and returns once all of them are durable, with their positions in the same
    /// order. Nothing of them is taken when it throws `full` or `stopped`; of other refusals nobody knows.
    package func append(
        _ records: [OutgoingRecord]
    ) async throws(AppendRefusal) -> [RecordPosition] {
        guard !records.isEmpty else { return [] }
        let pending = PendingAppend(
            AppendContent(records), deadline: .now + .seconds(limits.deadlineSeconds))
        try enqueue(pending)
        return try await pending.wait().get()
    }

    private func enqueue(_ pending: PendingAppend) throws(AppendRefusal) {
        let (refusal, wakes) = state.withLock { state -> (AppendRefusal?, Bool) in
            guard !state.isStopped else { return (.stopped, false) }
            // A request of its own is always taken when nothing waits.
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

    /// Takes no more, makes durable what waits, and returns when that is done or refused.
    package func stop() {
        let (isFirst, wakes) = state.withLock { state in
            defer {
                state.isStopped = true
                state.isThreadWaiting = false
            }
            return (!state.isStopped, state.isThreadWaiting)
        }
        guard isFirst else { return }
        if wakes { wake.signal() }
        // A log that hangs does not hold up the end: everybody was told so by then.
        _ = ended.wait(timeout: .now() + limits.deadlineSeconds + 1)
        refuseAll(.stopped)
    }

    /// Why the log cannot be relied upon just now; nil when it can.
    package var unreadiness: String? {
        state.withLock { state in
            guard let fault = state.lastFault,
                fault.instant.duration(to: .now) < Self.faultCounts
            else { return nil }
            return fault.words
        }
    }

    /// How many records wait, those included that the log is being asked to take.
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
            defer { state.lastFault = fault.map { (AppendRefusal.log($0).words, .now) } }
            return (state.lastFault == nil) != (fault == nil)
        }
        guard isNew else { return }
        if let fault {
            logger.error("the log refuses records: \(fault)")
        } else {
            logger.notice("the log takes records again")
        }
    }

    /// What is to be appended together; waits for it. Nil at the end.
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
        // Those who were told that it is too late send it again themselves.
        state.turn = taken.filter { !$0.isAnswered }
        state.queue.removeFirst(count)
        guard state.turn.isEmpty, !state.queue.isEmpty else { return state.turn }
        return takeTurn(&state)
    }
}

// MARK: Deadlines

extension DurableAppender {
    /// Answers those who have waited for too long; says whether the appender is stopped.
    private func answerLate() -> Bool {
        let now = ContinuousClock.now
        let (late, isStopped) = state.withLock { state -> ([PendingAppend], Bool) in
            // All wait equally long, so that the first are the latest.
            let late =
                Array(state.turn.prefix { $0.deadline <= now })
                + state.queue.prefix { $0.deadline <= now }
            if !late.isEmpty {
                state.lastFault = (AppendRefusal.late.words, now)
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
