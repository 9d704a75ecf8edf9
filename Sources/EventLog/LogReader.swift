/// The result of one read.
package enum LogReading: Equatable, Sendable {
    case records
    case idle
    /// The reader now owns these partitions. Before the next read the caller gives each a position with `seek`;
    /// otherwise it starts at its earliest record.
    case assigned([Int32])
    /// The reader has lost these partitions and reads nothing more from them. Offsets committed before the next read
    /// still count.
    case revoked([Int32])
}

/// Which partitions a reader reads.
package enum LogAssignment: Equatable, Sendable {
    case all
    case partitions([Int32])
    /// A share of the partitions, assigned by the consumer group. The embedded log assigns all.
    case shared
}

/// The progress of a consumer group in a partition.
package struct GroupOffset: Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// All records below this offset are done.
    package var next: Int64
    /// Committed with the offset, as metadata on Kafka. The embedded log does not store it: it deletes a topic's
    /// offsets with the topic.
    package var metadata: String

    package init(_ next: Int64, metadata: String = "") {
        self.next = next
        self.metadata = metadata
    }

    package init(integerLiteral value: Int64) { self.init(value) }
}

package struct PartitionBounds: Equatable, Sendable {
    package var partition: Int32
    /// Offset of the oldest record; equal to `endOffset` if the partition is empty.
    package var earliestOffset: Int64
    /// Offset of the log's oldest record. `earliestOffset` is higher for a reader that begins later.
    package let logStart: Int64
    /// Offset of the next record to be appended.
    package var endOffset: Int64

    package init(partition: Int32, earliestOffset: Int64, endOffset: Int64) {
        self.partition = partition
        self.earliestOffset = earliestOffset
        logStart = earliestOffset
        self.endOffset = endOffset
    }
}

/// Reads one topic, from one thread.
///
/// `read` returns the assignment, as with a Kafka consumer: the first read after `subscribe` returns `assigned`, and
/// the caller seeks. Between processes a reader keeps only committed offsets.
package protocol LogReader: AnyObject {
    var topic: String { get }

    /// Identifies the log, so that offsets are never applied to another one. The embedded log distinguishes a topic
    /// from a deleted one of the same name; Kafka distinguishes clusters only.
    func identity() throws(LogError) -> String

    /// The current number of partitions.
    func partitionCount() throws(LogError) -> Int32

    /// In order of partition. Throws `unknownPartition`.
    func bounds(of partitions: [Int32]) throws(LogError) -> [PartitionBounds]

    /// The bounds of the partitions that answer, in order of partition, and the errors of the others. Throws only if
    /// it cannot ask any.
    func knownBounds(
        of partitions: [Int32]
    ) throws(LogError) -> (bounds: [PartitionBounds], faults: [Int32: LogError])

    /// The next `read` returns `assigned`.
    func subscribe(_ assignment: LogAssignment) throws(LogError)

    /// The next read of the partition begins at `offset`, or at the first record after it.
    func seek(partition: Int32, to offset: Int64) throws(LogError)

    /// Empties `batch`, fills it with the next records of the assigned partitions, in order of offset within each
    /// partition, and advances. Waits for records at most `waitMilliseconds`.
    ///
    /// - Parameters:
    ///   - maxRecords: the limit of records.
    ///   - maxBytes: the read stops after the record that reaches this size.
    func read(
        into batch: RecordBatch,
        maxRecords: Int,
        maxBytes: Int,
        waitMilliseconds: Int
    ) throws(LogError) -> LogReading

    /// The largest useful size of a batch in bytes, from the memory limit of the log.
    var batchBytes: Int { get }

    /// Whether the last read reached the end of every assigned partition.
    var isCaughtUp: Bool { get }

    /// The next offset to read: every lower one was read or is not a record, such as Kafka's control records. Nil if
    /// the partition is not assigned.
    func position(partition: Int32) -> Int64?

    /// Stops reading an assigned partition until `resume`.
    func pause(partition: Int32) throws(LogError)

    /// Continues a paused partition at the offset of its last `seek`.
    func resume(partition: Int32) throws(LogError)

    /// Whether the topic may have been replaced since the last call: it was unknown for a while, ended earlier than
    /// before, or returned offsets a second time.
    func takeDoubt() -> Bool

    /// Checks that the log answers, after a sign that it does not. A read without records is not such a sign.
    ///
    /// - Throws: `LogError.unavailable`.
    func requireAnswer() throws(LogError)

    /// The first offset with a timestamp of at least `timestampMilliseconds`; nil without such a record.
    func offset(partition: Int32, atOrAfter timestampMilliseconds: Int64) throws(LogError) -> Int64?

    /// Whether the log stores the notes of committed offsets.
    var keepsMetadata: Bool { get }

    /// The committed offsets of the consumer group for this topic, by partition.
    func committedOffsets() throws(LogError) -> [Int32: GroupOffset]

    /// Commits offsets for the consumer group. If a busy Kafka cluster rejects some, the next commit sends them
    /// again.
    func commit(_ offsets: [Int32: GroupOffset]) throws(LogError)

    /// Waits until the group has accepted the committed offsets. Throws `notTaken` after `patience`. On Kafka this
    /// happens if other members share the group's partitions and this reader is not a member.
    func awaitCommits(_ patience: Duration) throws(LogError)

    /// Leaves the consumer group. The reader cannot be used afterwards.
    func close()
}

extension LogReader {
    /// A log without leaders answers for all partitions or for none.
    package func knownBounds(
        of partitions: [Int32]
    ) throws(LogError) -> (bounds: [PartitionBounds], faults: [Int32: LogError]) {
        (try bounds(of: partitions), [:])
    }

    package var batchBytes: Int { 32 << 20 }

    package var keepsMetadata: Bool { false }

    /// A log that stops at a recreated topic raises no doubt.
    package func takeDoubt() -> Bool { false }

    /// A log in a file always answers.
    package func requireAnswer() throws(LogError) {}

    /// A log that commits at once has nothing to wait for.
    package func awaitCommits(_: Duration) throws(LogError) {}

    /// In order of partition.
    package func bounds() throws(LogError) -> [PartitionBounds] {
        try bounds(of: Array(0..<partitionCount()))
    }
}

package struct TopicPartition: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var topic: String
    package var partition: Int32

    package init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    package var description: String { "\(topic)/\(partition)" }

    package static func < (left: TopicPartition, right: TopicPartition) -> Bool {
        (left.topic, left.partition) < (right.topic, right.partition)
    }
}

/// The first record of each of some partitions at or after an offset.
package struct FirstRecords {
    /// Timestamps in milliseconds since 1970.
    package private(set) var timestamps: [Int32: Int64] = [:]
    /// Partitions without a record from there on.
    package private(set) var isAtEnd: Set<Int32> = []

    private static let patience = Duration.seconds(10)

    /// Reads the records. A partition that does not answer within 10 s is in neither result.
    package init(at offsets: [Int32: Int64], of reader: any LogReader) throws(LogError) {
        guard !offsets.isEmpty else { return }
        let numbers = offsets.keys.sorted()
        let ends = try reader.bounds(of: numbers)
        let batch = RecordBatch()
        try reader.subscribe(.partitions(numbers))
        _ = try reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        for number in numbers { try reader.seek(partition: number, to: offsets[number] ?? 0) }
        let deadline = ContinuousClock.now + Self.patience
        while timestamps.count + isAtEnd.count < numbers.count, ContinuousClock.now < deadline {
            _ = try reader.read(
                into: batch, maxRecords: 100, maxBytes: 1 << 20, waitMilliseconds: 100)
            for index in 0..<batch.count where timestamps[batch[index].partition] == nil {
                let number = batch[index].partition
                timestamps[number] = batch[index].timestampMilliseconds
                try reader.pause(partition: number)
            }
            for end in ends where timestamps[end.partition] == nil {
                let position = reader.position(partition: end.partition) ?? 0
                if position >= end.endOffset { isAtEnd.insert(end.partition) }
            }
        }
    }
}
