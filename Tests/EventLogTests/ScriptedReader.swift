import EventLog
import TestKit

/// A reader of records that a test wrote down, with gaps, and ends behind the last record, as Kafka has
/// them. Reads a few records at a time.
final class ScriptedReader: LogReader {
    let topic = "bids"
    var name = "kafka:one"
    var count: Int32 = 2
    /// What the log holds, of each partition in order of offset.
    var records: [ReadRecord] = []
    var earliest: [Int32: Int64] = [:]
    /// Ends that lie behind the last record.
    var ends: [Int32: Int64] = [:]
    /// Called before each read, to change the log meanwhile.
    var onRead: () -> Void = {}
    /// What the group gives and takes, told by the next reads.
    var changes: [LogReading] = []
    private var positions: [Int32: Int64] = [:]
    private var paused: Set<Int32> = []
    private var isNew = false
    private(set) var reads = 0

    func identity() throws(LogError) -> String { name }

    func partitionCount() throws(LogError) -> Int32 { count }

    func bounds(of partitions: [Int32]) throws(LogError) -> [PartitionBounds] {
        if let unknown = partitions.first(where: { $0 >= count }) {
            throw .unknownPartition(
                TopicPartition(topic: topic, partition: unknown), partitionCount: count)
        }
        return partitions.map { number in
            let own = records.filter { $0.partition == number }.map(\.offset)
            let first = earliest[number] ?? 0
            return PartitionBounds(
                partition: number, earliestOffset: first,
                endOffset: max(own.last.map { $0 + 1 } ?? first, ends[number] ?? 0, first))
        }
    }

    func subscribe(_ assignment: LogAssignment) throws(LogError) {
        var numbers = Array(0..<count)
        if case .partitions(let chosen) = assignment { numbers = chosen }
        positions = [:]
        for number in numbers { positions[number] = 0 }
        isNew = true
    }

    func seek(partition: Int32, to offset: Int64) throws(LogError) { positions[partition] = offset }

    func read(
        into batch: RecordBatch, maxRecords: Int, maxBytes: Int, waitMilliseconds: Int
    ) throws(LogError) -> LogReading {
        batch.removeAll()
        reads += 1
        if isNew {
            isNew = false
            return .assigned(positions.keys.sorted())
        }
        onRead()
        if !changes.isEmpty { return take(changes.removeFirst()) }
        for number in positions.keys.sorted() where !paused.contains(number) {
            let first = max(positions[number] ?? 0, earliest[number] ?? 0)
            let found = records.filter { $0.partition == number && $0.offset >= first }.prefix(3)
            for record in found { batch.append(record) }
            if let last = found.last {
                positions[number] = last.offset + 1
            } else {
                positions[number] = try bounds(of: [number])[0].endOffset
            }
        }
        return batch.isEmpty ? .idle : .records
    }

    private func take(_ change: LogReading) -> LogReading {
        switch change {
        case .assigned(let partitions): for partition in partitions { positions[partition] = 0 }
        case .revoked(let partitions): for partition in partitions { positions[partition] = nil }
        case .records, .idle: break
        }
        return change
    }

    var isCaughtUp: Bool { false }

    func position(partition: Int32) -> Int64? { positions[partition] }

    func pause(partition: Int32) throws(LogError) { paused.insert(partition) }

    func resume(partition: Int32) throws(LogError) { paused.remove(partition) }

    func offset(partition: Int32, atOrAfter timestampMilliseconds: Int64) throws(LogError) -> Int64?
    {
        records.first {
            $0.partition == partition && $0.timestampMilliseconds >= timestampMilliseconds
        }?.offset
    }

    func committedOffsets() throws(LogError) -> [Int32: GroupOffset] { [:] }

    func commit(_ offsets: [Int32: GroupOffset]) throws(LogError) {}

    func close() {}
}
