import ConfigurationFiles
import EventLog
import Logging

/// Appends the records of all requests to a log, in groups and on its own thread. Any task or thread may append.
final class DurableAppender: Sendable {
    private let commits: GroupCommit<AppendContent, [RecordPosition], AppendRefusal>
    private let metrics: CollectorMetrics
    private let logger: Logger

    /// Opens a writer of the log, which only the thread uses from now on. Throws errors of opening.
    init(
        _ log: sending any LogBackend, limits: AppendLimits, metrics: CollectorMetrics,
        logger: Logger
    ) throws(LogError) {
        self.logger = logger
        self.metrics = metrics
        commits = GroupCommit(
            .init(
                queuedRecords: limits.maxQueuedRecords, queuedBytes: limits.maxQueuedBytes,
                turnRecords: limits.maxTurnRecords, deadlineSeconds: Double(limits.deadlineSeconds)),
            .init(full: .full, late: .late, stopped: .stopped))
        let turns = AppendTurns(log: log, writer: try log.writer())
        commits.start { [self] in run(turns) }
    }

    /// Appends records in order and returns their positions, in the same order, once all of them are durable. After
    /// `full` no record was accepted; after other refusals the log may contain them.
    func append(_ records: [OutgoingRecord]) async throws(AppendRefusal) -> [RecordPosition] {
        guard !records.isEmpty else { return [] }
        return try await commits.submit(AppendContent(records))
    }

    /// Accepts no more requests, makes the waiting records durable, and returns when all requests are answered.
    func stop() { commits.stop() }

    /// The reason why the log is unreliable; nil if it is reliable.
    var unreadiness: String? { commits.fault?.explanation }

    /// The number of waiting records, including the group that is being appended.
    var depth: Int { commits.depth }

    private func run(_ turns: AppendTurns) {
        while let turn = commits.nextTurn() {
            let begun = ContinuousClock.now
            let fault = turns.append(turn, noting: note)
            metrics.count(turn: turn, took: begun.duration(to: .now), fault: fault)
            commits.endTurn()
        }
    }

    private func note(_ fault: LogError?) {
        guard commits.note(fault.map { .log($0) }) else { return }
        if let fault {
            logger.error("the log rejects records: \(fault)")
        } else {
            logger.notice("the log accepts records again")
        }
    }
}

/// The reason why records were not acknowledged. Except after `full`, the log may contain them: the sender sends them
/// again.
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
        case .full: "too many records are waiting for the log: try again"
        case .late: "the log has not acknowledged in time: try again"
        case .log(.unknownTopic(let topic, _)): "the log has no topic '\(topic)'"
        case .log: "the log has not acknowledged: try again"
        case .stopped: "the collector is stopping: try again"
        }
    }
}
