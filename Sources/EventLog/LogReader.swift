/// What a reader answers to one read.
package enum LogReading: Equatable, Sendable {
    /// The batch holds at least one record.
    case records
    /// Nothing new came within the time given.
    case idle
    /// These partitions now belong to this reader. Each is to be given a position with `seek` before
    /// the next read; without one it starts at its earliest record.
    case assigned([Int32])
    /// These partitions no longer belong to this reader; nothing of them is read from now on. Offsets
    /// that are committed before the next read still count.
    case revoked([Int32])
}

/// Which partitions a reader is to read.
package enum LogAssignment: Equatable, Sendable {
    /// All partitions of the topic.
    case all
    /// These partitions only.
    case partitions([Int32])
    /// Whatever the members of the consumer group share out. The embedded log gives all partitions.
    case shared
}

/// The offsets that a partition holds.
package struct PartitionBounds: Equatable, Sendable {
    /// Number of the partition, from 0.
    package var partition: Int32
    /// Offset of the oldest record still there; equal to `endOffset` when there is none.
    package var earliestOffset: Int64
    /// Offset that the next record will get.
    package var endOffset: Int64

    /// Makes the bounds of a partition.
    package init(partition: Int32, earliestOffset: Int64, endOffset: Int64) {
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
package protocol LogReader: AnyObject {
    /// Name of the topic that is read.
    var topic: String { get }

    /// What tells this log from others, so that offsets are never taken for those of another one. The
    /// embedded log tells a topic from one of the same name that was deleted and created again; Kafka
    /// tells clusters apart only.
    func identity() throws(LogError) -> String

    /// How many partitions the topic has now.
    func partitionCount() throws(LogError) -> Int32

    /// The bounds of these partitions, in order of their numbers. Throws `unknownPartition`.
    func bounds(of partitions: [Int32]) throws(LogError) -> [PartitionBounds]

    /// The bounds of those of these partitions that answer, in order of their numbers, and why the others
    /// do not. Throws what keeps all of them from being asked.
    func knownBounds(
        of partitions: [Int32]
    ) throws(LogError) -> (bounds: [PartitionBounds], faults: [Int32: LogError])

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

    /// True when the last read met the end of every assigned partition.
    var isCaughtUp: Bool { get }

    /// Everything of a partition below this offset was read or is no record, as Kafka's control records
    /// at its end; nil when the partition is not assigned.
    func position(partition: Int32) -> Int64?

    /// Reads nothing of an assigned partition until it is resumed.
    func pause(partition: Int32) throws(LogError)

    /// Reads on with a paused partition, from the offset that it was last told to seek to.
    func resume(partition: Int32) throws(LogError)

    /// Whether something happened, since this was asked last, after which the topic may hold other records
    /// than before: nobody knew it for a while, it ended earlier than it had, or it gave offsets again.
    func takeDoubt() -> Bool

    /// Offset of the first record of a partition whose timestamp is at least `timestampMilliseconds`;
    /// nil when there is none.
    func offset(partition: Int32, atOrAfter timestampMilliseconds: Int64) throws(LogError) -> Int64?

    /// The offsets that the consumer group has committed for this topic, by partition.
    func committedOffsets() throws(LogError) -> [Int32: Int64]

    /// Commits offsets for the consumer group: everything below them is dealt with. On Kafka what a
    /// busy cluster does not take now is told with the next commit.
    func commit(_ offsets: [Int32: Int64]) throws(LogError)

    /// Waits until what was committed is taken. Throws `notTaken` when it is not within `patience`, as
    /// on Kafka while a group that shares partitions out has members and this reader is none.
    func settleCommits(_ patience: Duration) throws(LogError)

    /// Ends reading, and leaves the consumer group. Nothing may be asked of the reader afterwards.
    func close()
}

extension LogReader {
    /// Where partitions have no leaders of their own, all of them answer or none.
    package func knownBounds(
        of partitions: [Int32]
    ) throws(LogError) -> (bounds: [PartitionBounds], faults: [Int32: LogError]) {
        (try bounds(of: partitions), [:])
    }

    /// Where a topic that was made anew is not read on there is nothing to doubt.
    package func takeDoubt() -> Bool { false }

    /// Nothing is waited for where a commit is taken at once.
    package func settleCommits(_: Duration) throws(LogError) {}

    /// The bounds of every partition of the topic, in order of their numbers.
    package func bounds() throws(LogError) -> [PartitionBounds] {
        try bounds(of: Array(0..<partitionCount()))
    }
}
