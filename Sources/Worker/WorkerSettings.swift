import EventLog

/// How a worker works, once its options and its pipeline are read.
struct WorkerSettings {
    /// The program's name.
    var name: String
    /// Its consumer group.
    var group: String
    /// Which partitions to own.
    var assignment: LogAssignment
    /// How many partitions the topic has.
    var partitionCount: Int32
    /// Whether to stop at the end that the log had at the start.
    var untilEnd: Bool
    /// Most records that are committed together.
    var batchRecords: Int
    /// Once a batch holds so many bytes it takes no further record.
    var batchBytes = 32 << 20
    /// How long records wait at most for their commit.
    var commitIntervalMilliseconds: Int
    /// How often the log is looked at without a reason: how many partitions the topic has, and whether it
    /// still holds what was folded.
    var lookInterval = Duration.seconds(30)
    /// Most ids that may be remembered; nil for no bound.
    var dedupeMaxIDs: Int?
    /// How many records are left for later, when these are folded: for the time that is left.
    var recordsLater: Int64 = 0
    /// Whether a person at the terminal is told how far it is.
    var showsProgress = true
}
