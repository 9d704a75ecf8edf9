import ConfigurationValues
import EventLog

/// The settings of a worker, from its options and its pipeline.
package struct WorkerSettings {
    package var name: String
    var group: String
    /// The partitions to own.
    package var assignment: LogAssignment
    /// The topic's number of partitions.
    var partitionCount: Int32
    /// Whether to stop at the end that the log had at the start.
    package var untilEnd = false
    /// Most records of one commit.
    package var batchRecords: Int
    /// Most records that are read and folded at once, if a commit gathers several batches. The smaller they are, the
    /// less memory they take and the sooner the lanes have work.
    var gatheredRecords: Int { (batchRecords + 19) / 20 }
    /// The longest time that records wait for their commit while few arrive.
    package var commitIntervalMilliseconds: Int
    /// The interval of periodic checks of the log: its number of partitions, and whether it still holds the folded
    /// records.
    var lookInterval = Duration.seconds(30)
    /// Most remembered ids; nil for no bound.
    var dedupeMaxIDs: Int?
    /// The days that the index of explanations covers.
    var explainDays: Int
    /// Whether a new store must have all records that its group has folded. If the log has lost its beginning, a
    /// partition would otherwise have other numbers in each store.
    package var requiresAllRecords = false
    /// The number of records to fold after these, for the remaining time.
    package var recordsLater: Int64 = 0
    /// Whether progress is shown on a terminal.
    package var showsProgress = true

    /// The settings from a stream's file, for a worker that is named after its topic and runs without end.
    package init(_ stream: StreamSettings, assignment: LogAssignment, partitionCount: Int32) {
        name = stream.topic
        group = stream.group
        self.assignment = assignment
        self.partitionCount = partitionCount
        batchRecords = stream.batchRecords
        commitIntervalMilliseconds = stream.commitIntervalMilliseconds
        explainDays = stream.explainDays
        dedupeMaxIDs = stream.dedupeMaxIDs
    }
}

/// Why a worker has ended.
package enum WorkerEnd {
    /// All its work is done.
    case reachedEnd
    /// A stop was requested.
    case stopped
    /// The store is needed elsewhere, for example by a promotion.
    case interrupted
}

/// Ends a worker's work early for another reason than a stop, such as a promotion of another store. Checked a few
/// times a second.
struct Interruption {
    private static let interval = Duration.milliseconds(100)

    private let isWanted: () -> Bool
    private var lastLook = ContinuousClock.now
    /// Whether an interruption was seen.
    private(set) var isMade = false

    /// Calls `isWanted` periodically; by default nothing interrupts.
    init(_ isWanted: @escaping () -> Bool = { false }) {
        self.isWanted = isWanted
    }

    /// Whether to end; checks again after the interval.
    mutating func look() -> Bool {
        let now = ContinuousClock.now
        guard !isMade, lastLook.duration(to: now) >= Self.interval else { return isMade }
        lastLook = now
        isMade = isWanted()
        return isMade
    }
}
