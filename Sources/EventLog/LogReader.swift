/// What a reader answers to one read.
public enum LogReading: Equatable, Sendable {
    /// The batch holds at least one record.
    case records
    /// Nothing new came within the time given.
    case idle
    /// These partitions now belong to this reader. Each is to be given a position with `seek` before
    /// the next read; without one it starts at its earliest record.
    case assigned([Int32])
    /// These partitions no longer belong to this reader; nothing of them is read from now on.
    case revoked([Int32])
}

/// Which partitions a reader is to read.
public enum LogAssignment: Equatable, Sendable {
    /// All partitions of the topic.
    case all
    /// These partitions only.
    case partitions([Int32])
    /// Whatever the members of this consumer group share out. The embedded log gives all partitions.
    case group(String)
}

/// The offsets that a partition holds.
public struct PartitionBounds: Equatable, Sendable {
    /// Number of the partition, from 0.
    public var partition: Int32
    /// Offset of the oldest record still there; equal to `endOffset` when there is none.
    public var earliestOffset: Int64
    /// Offset that the next record will get.
    public var endOffset: Int64

    /// Makes the bounds of a partition.
    public init(partition: Int32, earliestOffset: Int64, endOffset: Int64) {
        self.partition = partition
        self.earliestOffset = earliestOffset
        self.endOffset = endOffset
    }
}

/// Reads one topic of an event log, from one thread.
///
/// Assignment comes out of `read`, as it does from a Kafka consumer: the first read after `subscribe`
/// answers `assigned`, and the caller seeks. Positions are the caller's: a reader remembers nothing
/// between processes but what `commit` was told.
public protocol LogReader: AnyObject {
    /// Name of the topic that is read.
    var topic: String { get }

    /// What tells this topic from one of the same name that was deleted and created again.
    func identity() throws(LogError) -> String

    /// The bounds of every partition of the topic, in order of their numbers.
    func bounds() throws(LogError) -> [PartitionBounds]

    /// Chooses what to read. The next `read` answers `assigned`.
    func subscribe(_ assignment: LogAssignment) throws(LogError)

    /// The next read of this partition begins at `offset`, or at the first record after it.
    func seek(partition: Int32, to offset: Int64) throws(LogError)

    /// Empties `batch`, fills it with the next records of the assigned partitions, in order of offset
    /// within each partition, and moves on behind them. Waits for at most `waitMilliseconds` when
    /// there is nothing.
    ///
    /// - Parameters:
    ///   - maxRecords: at most so many records.
    ///   - maxBytes: stops after the record that brings the batch to this size.
    func read(
        into batch: RecordBatch,
        maxRecords: Int,
        maxBytes: Int,
        waitMilliseconds: Int
    ) throws(LogError) -> LogReading

    /// Offset of the first record of a partition whose timestamp is at least `timestampMilliseconds`;
    /// nil when there is none.
    func offset(partition: Int32, atOrAfter timestampMilliseconds: Int64) throws(LogError) -> Int64?

    /// The offsets that a consumer group has committed for this topic, by partition.
    func committedOffsets(group: String) throws(LogError) -> [Int32: Int64]

    /// Commits offsets for a consumer group: everything below them is dealt with.
    func commit(group: String, offsets: [Int32: Int64]) throws(LogError)
}
