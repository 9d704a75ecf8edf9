import Dispatch
import Foundation
import Synchronization

/// A caller's content for a `GroupCommit`.
package protocol GroupedContent: Sendable {
    var recordCount: Int { get }
    /// Its size while it waits, in bytes.
    var byteCount: Int { get }
}

/// Commits the content of many callers, in groups and on one thread: content that arrives during a commit joins the
/// next group. Any task or thread may submit. Each caller gets one answer, by its deadline.
///
/// The owner starts the thread, which takes a group at a time with `nextGroup`, answers it, and ends it with `endGroup`.
package final class GroupCommit<
    Content: GroupedContent, Success: Sendable, Failure: Error
>: Sendable {
    package typealias Pending = PendingRequest<Content, Success, Failure>

    package struct Limits: Sendable {
        /// The maximum number of waiting records; further requests are rejected.
        let queuedRecords: Int
        let queuedBytes: Int
        /// The maximum number of records in one commit, except that a request is never split.
        let groupRecords: Int
        /// The longest wait of a request.
        let deadlineSeconds: Double

        package init(
            queuedRecords: Int, queuedBytes: Int = .max, groupRecords: Int, deadlineSeconds: Double
        ) {
            self.queuedRecords = queuedRecords
            self.queuedBytes = queuedBytes
            self.groupRecords = groupRecords
            self.deadlineSeconds = deadlineSeconds
        }
    }

    /// The errors of requests that are not committed.
    package struct Refusals: Sendable {
        /// The request was rejected as a whole.
        let full: Failure
        let late: Failure
        let stopped: Failure

        package init(full: Failure, late: Failure, stopped: Failure) {
            self.full = full
            self.late = late
            self.stopped = stopped
        }
    }

    private struct State {
        var queue: [Pending] = []
        var queuedRecords = 0
        var queuedBytes = 0
        /// The group that is being committed.
        var group: [Pending] = []
        var isThreadWaiting = false
        var isStopped = false
        /// All waits end at this instant.
        var waitsEnd: ContinuousClock.Instant?
        /// The reason why commits are suspended.
        var hindrance: Failure?
        var lastFault: (fault: Failure, instant: ContinuousClock.Instant)?

        mutating func append(_ pending: Pending) {
            queue.append(pending)
            queuedRecords += pending.content.recordCount
            queuedBytes += pending.content.byteCount
        }

        static func recordCount(_ requests: [Pending]) -> Int {
            requests.reduce(0) { $0 + $1.content.recordCount }
        }

        mutating func removeFirst(_ count: Int) -> [Pending] {
            let removed = Array(queue.prefix(count))
            queue.removeFirst(count)
            queuedRecords -= Self.recordCount(removed)
            queuedBytes -= removed.reduce(0) { $0 + $1.content.byteCount }
            return removed
        }
    }

    /// The interval between searches for overdue requests.
    private static var watchSeconds: Double { 0.1 }
    /// The lifetime of a fault. After that, clients may retry even without submissions since then.
    private static var faultCounts: Duration { .seconds(5) }

    private let limits: Limits
    private let refusals: Refusals
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    package init(_ limits: Limits, _ refusals: Refusals) {
        self.limits = limits
        self.refusals = refusals
    }

    /// Starts the thread, which ends when `work` returns: after `nextGroup` has returned nil.
    package func start(_ work: @escaping @Sendable () -> Void) {
        Thread.detachNewThread { [self] in
            work()
            ended.signal()
        }
        Thread.detachNewThread { [weak self] in
            while let isOver = self?.answerLate(), !isOver {
                Thread.sleep(forTimeInterval: Self.watchSeconds)
            }
        }
    }

    /// Returns once the content is committed. After `full`, the content is not committed; after other errors it may be.
    package func submit(_ content: Content) async throws(Failure) -> Success {
        let pending = Pending(content, deadline: .now + .seconds(limits.deadlineSeconds))
        let (refusal, wakes) = state.withLock { state -> (Failure?, Bool) in
            guard !state.isStopped else { return (refusals.stopped, false) }
            // If the queue is empty, a request of any size is accepted.
            let isFull =
                state.queuedRecords + content.recordCount > limits.queuedRecords
                || state.queuedBytes + content.byteCount > limits.queuedBytes
            guard state.queue.isEmpty || !isFull else { return (refusals.full, false) }
            state.append(pending)
            defer { state.isThreadWaiting = false }
            return (nil, state.isThreadWaiting)
        }
        if let refusal { throw refusal }
        if wakes { wake.signal() }
        return try await pending.wait().get()
    }

    /// The present fault, if any.
    package var fault: Failure? {
        state.withLock { state in
            guard let last = state.lastFault, last.instant.duration(to: .now) < Self.faultCounts
            else { return nil }
            return last.fault
        }
    }

    /// The number of waiting records, including the group that is being committed.
    package var depth: Int {
        state.withLock { $0.queuedRecords + State.recordCount($0.group) }
    }

    package var isStopped: Bool { state.withLock(\.isStopped) }

    /// After this time all waits end: requests without an answer get `stopped`.
    package func endWaits(inSeconds seconds: Double) {
        state.withLock { $0.waitsEnd = .now + .seconds(seconds) }
    }

    /// Accepts no more requests, commits the waiting ones, and returns when all are answered, or after a timeout.
    ///
    /// - Parameter seconds: the timeout; nil for the longest wait of a request.
    package func stop(withinSeconds seconds: Double? = nil) {
        let (isFirst, wakes) = state.withLock { state in
            defer {
                state.isStopped = true
                state.isThreadWaiting = false
            }
            return (!state.isStopped, state.isThreadWaiting)
        }
        guard isFirst else { return }
        if wakes { wake.signal() }
        // A hanging log does not delay the end: all requests are answered by then.
        _ = ended.wait(timeout: .now() + (seconds ?? limits.deadlineSeconds + 1))
        refuseAll(refusals.stopped)
    }
}

// MARK: The thread

extension GroupCommit {
    /// Waits for the next group; nil at the end.
    ///
    /// - Parameter seconds: after this time without requests, it returns an empty group; nil to wait for requests.
    package func nextGroup(within seconds: Double? = nil) -> [Pending]? {
        while true {
            let (group, isOver) = state.withLock { state -> ([Pending], Bool) in
                state.group = takeGroup(&state)
                state.isThreadWaiting = state.group.isEmpty
                return (state.group, state.isStopped)
            }
            if !group.isEmpty { return group }
            if isOver { return nil }
            guard let seconds else {
                wake.wait()
                continue
            }
            guard wake.wait(timeout: .now() + seconds) == .success else { return [] }
        }
    }

    private func takeGroup(_ state: inout State) -> [Pending] {
        var count = 0
        var records = 0
        while count < state.queue.count, count == 0 || records < limits.groupRecords {
            records += state.queue[count].content.recordCount
            count += 1
        }
        return state.removeFirst(count)
    }

    /// Ends the group, which was committed or rejected; all its requests have answers.
    package func endGroup() {
        state.withLock { $0.group = [] }
    }

    /// Records the present fault, or nil. Returns whether the state changed.
    @discardableResult
    package func setFault(_ fault: Failure?) -> Bool {
        state.withLock { state in
            defer { state.lastFault = fault.map { ($0, .now) } }
            return (state.lastFault == nil) != (fault == nil)
        }
    }

    /// Sets the reason why commits are suspended, or nil to resume them. Overdue requests get this error.
    package func hinder(_ reason: Failure?) {
        state.withLock { $0.hindrance = reason }
    }

    /// Answers all waiting requests.
    package func refuseAll(_ refusal: Failure) {
        let left = state.withLock { $0.group + $0.removeFirst($0.queue.count) }
        for pending in left { pending.answer(.failure(refusal)) }
    }

    /// Answers overdue requests. Returns true at the end: the group commit is stopped and no request waits.
    private func answerLate() -> Bool {
        let now = ContinuousClock.now
        let (late, refusal, isOver) = state.withLock { state -> ([Pending], Failure, Bool) in
            let isEnding = state.waitsEnd.map { $0 <= now } ?? false
            // All requests wait equally long, so the overdue ones come first.
            func isOverdue(_ pending: Pending) -> Bool { isEnding || pending.deadline <= now }
            // A caller with an answer submits again.
            let late =
                Array(state.group.prefix(while: isOverdue))
                + state.removeFirst(state.queue.prefix(while: isOverdue).count)
            let refusal = isEnding ? refusals.stopped : state.hindrance ?? refusals.late
            if !late.isEmpty, !isEnding, state.hindrance == nil {
                state.lastFault = (refusals.late, now)
            }
            return (
                late, refusal, state.isStopped && state.group.isEmpty && state.queue.isEmpty
            )
        }
        for pending in late { pending.answer(.failure(refusal)) }
        return isOver
    }
}

/// A request from one of many tasks to the one thread that writes to the log, and the answer to it.
package final class PendingRequest<Content: Sendable, Success: Sendable, Failure: Error>: Sendable {
    package typealias Answer = Result<Success, Failure>

    private enum State {
        case waiting
        case awaited(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }

    package let content: Content
    /// The caller gives up at this time.
    package let deadline: ContinuousClock.Instant
    private let state = Mutex<State>(.waiting)

    package init(_ content: Content, deadline: ContinuousClock.Instant) {
        self.content = content
        self.deadline = deadline
    }

    /// True once there is an answer, including that of the deadline.
    package var isAnswered: Bool {
        state.withLock { if case .answered = $0 { true } else { false } }
    }

    /// Only the first answer counts.
    package func answer(_ answer: Answer) {
        let waiter = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            defer { if case .answered = state {} else { state = .answered(answer) } }
            if case .awaited(let waiter) = state { return waiter }
            return nil
        }
        waiter?.resume(returning: answer)
    }

    /// Called once.
    package func wait() async -> Answer {
        await withCheckedContinuation { waiter in
            let present = state.withLock { state -> Answer? in
                if case .answered(let answer) = state { return answer }
                state = .awaited(waiter)
                return nil
            }
            if let present { waiter.resume(returning: present) }
        }
    }
}
