import ConfigurationValues
import EventLog

/// How a worker works, once its options and its pipeline are read.
package struct WorkerSettings {
    /// The program's name.
    package var name: String
    /// Its consumer group.
    var group: String
    /// Which partitions to own.
    package var assignment: LogAssignment
    /// How many partitions the topic has.
    var partitionCount: Int32
    /// Whether to stop at the end that the log had at the start.
    package var untilEnd = false
    /// Most records that are committed together.
    package var batchRecords: Int
    /// How long records wait at most for their commit.
    package var commitIntervalMilliseconds: Int
    /// How often the log is looked at without a reason: how many partitions the topic has, and whether it
    /// still holds what was folded.
    var lookInterval = Duration.seconds(30)
    /// Most ids that may be remembered; nil for no bound.
    var dedupeMaxIDs: Int?
    /// How many records are left for later, when these are folded: for the time that is left.
    package var recordsLater: Int64 = 0
    /// Whether progress is shown on a terminal.
    package var showsProgress = true

    /// The settings that a stream's file gives, of a worker that is named for its topic and goes on without
    /// end.
    package init(_ stream: StreamSettings, assignment: LogAssignment, partitionCount: Int32) {
        name = stream.topic
        group = stream.group
        self.assignment = assignment
        self.partitionCount = partitionCount
        batchRecords = stream.batchRecords
        commitIntervalMilliseconds = stream.commitIntervalMilliseconds
        dedupeMaxIDs = stream.dedupeMaxIDs
    }
}

/// Why a worker has ended.
package enum WorkerEnd {
    /// Everything that it was to do is done.
    case reachedEnd
    /// It was asked to stop.
    case stopped
    /// Something else wants the store.
    case interrupted
}

/// What ends a worker's work early beside a stop, such as a promotion that wants its store: looked at a few
/// times a second.
struct Interruption {
    private static let interval = Duration.milliseconds(100)

    private let isWanted: () -> Bool
    private var lastLook = ContinuousClock.now
    /// Whether it was seen.
    private(set) var isMade = false

    /// Asks `isWanted` now and then; by default nothing interrupts.
    init(_ isWanted: @escaping () -> Bool = { false }) {
        self.isWanted = isWanted
    }

    /// Whether to end; looks again when it has not for a while.
    mutating func look() -> Bool {
        let now = ContinuousClock.now
        guard !isMade, lastLook.duration(to: now) >= Self.interval else { return isMade }
        lastLook = now
        isMade = isWanted()
        return isMade
    }
}
