import EventLog
import Program

package enum ReadLimit: Equatable {
    /// This offset, in every partition.
    case offset(Int64)
    /// The first record of this time or later, milliseconds since 1970.
    case time(Int64)

    /// The offset in a partition, clamped to what the partition holds.
    func offset(in bounds: PartitionBounds, of reader: any LogReader) throws(LogError) -> Int64 {
        let wanted =
            switch self {
            case .offset(let offset): offset
            case .time(let time):
                try reader.offset(partition: bounds.partition, atOrAfter: time) ?? bounds.endOffset
            }
        return min(max(wanted, bounds.earliestOffset), bounds.endOffset)
    }
}

/// Reads a range of a topic, partition by partition, and then the records appended to it.
package struct TopicReading {
    private let reader: any LogReader
    private let batch = RecordBatch()
    /// The partitions to read, each with its next and its end offset.
    private var ranges: [(partition: Int32, next: Int64, end: Int64)] = []
    /// The highest end of the partitions.
    package let endOffset: Int64

    private static let batchRecords = 1000
    private static let batchBytes = 4 << 20
    private static let waitMilliseconds = 1000
    /// A log that returns no records for this long before the end of a range has failed.
    private let patience: Duration

    /// Selects all records in the topic now, within the limits.
    ///
    /// - Parameter patience: the longest time without records before the end of a range.
    package init(
        _ reader: any LogReader, partition: Int32?, from: ReadLimit?, to: ReadLimit?,
        patience: Duration = .seconds(30)
    ) throws(LogError) {
        self.reader = reader
        self.patience = patience
        let bounds = try reader.bounds()
        if let partition, !bounds.contains(where: { $0.partition == partition }) {
            throw .unknownPartition(
                TopicPartition(topic: reader.topic, partition: partition),
                partitionCount: Int32(bounds.count))
        }
        let chosen = bounds.filter { partition == nil || $0.partition == partition }
        endOffset = chosen.map(\.endOffset).max() ?? 0
        for bounds in chosen {
            ranges.append(
                (
                    bounds.partition,
                    try from?.offset(in: bounds, of: reader) ?? bounds.earliestOffset,
                    try to?.offset(in: bounds, of: reader) ?? bounds.endOffset
                ))
        }
    }

    /// Calls `body` with each record of the range. The range ends at the topic's end at the start. Waits for pending
    /// fetches, and skips offsets without a record.
    package mutating func readRange(_ body: (RecordView) throws -> Void) throws {
        try readBatches { batch, count in
            for index in 0..<count { try body(batch[index]) }
        }
    }

    /// Like `readRange`, but calls `body` with batches of a partition. The first `count` records of a batch are in the
    /// range.
    package mutating func readBatches(
        _ body: (_ batch: RecordBatch, _ count: Int) throws -> Void
    ) throws {
        for index in ranges.indices {
            let (partition, _, end) = ranges[index]
            guard ranges[index].next < end else { continue }
            try assign([index])
            var lastMove = ContinuousClock.now
            while ranges[index].next < end {
                if try readBatch(waitMilliseconds: Self.waitMilliseconds / 10) {
                    try body(batch, (0..<batch.count).prefix { batch[$0].offset < end }.count)
                }
                // `follow` reads the records appended since the start.
                let position = min(reader.position(partition: partition) ?? 0, end)
                if position > ranges[index].next {
                    ranges[index].next = position
                    lastMove = .now
                } else if lastMove.duration(to: .now) > patience {
                    throw silence(partition, end: end, from: ranges[index].next)
                }
            }
        }
    }

    private func silence(_ partition: Int32, end: Int64, from offset: Int64) -> CommandError {
        .failure(
            "\(reader.topic)/\(partition) returned no records from offset \(offset) within "
                + "\(patience.components.seconds) s, and ends at \(end): its broker does not answer; "
                + "check weir lag and the cluster, then continue with --from \(offset)")
    }

    /// Calls `body` with each record after the range, indefinitely, and `pause` after each batch.
    package mutating func follow(
        _ body: (RecordView) throws -> Void, pause: () throws -> Void
    ) throws {
        try assign(Array(ranges.indices))
        while true {
            guard try readBatch(waitMilliseconds: Self.waitMilliseconds) else { continue }
            for recordIndex in 0..<batch.count { try body(batch[recordIndex]) }
            try pause()
        }
    }

    private func assign(_ indices: [Int]) throws(LogError) {
        try reader.subscribe(.partitions(indices.map { ranges[$0].partition }))
        _ = try readBatch(waitMilliseconds: 0)
        for index in indices {
            try reader.seek(partition: ranges[index].partition, to: ranges[index].next)
        }
    }

    /// Fills the batch; returns false if it stays empty.
    private func readBatch(waitMilliseconds: Int) throws(LogError) -> Bool {
        try reader.read(
            into: batch, maxRecords: Self.batchRecords, maxBytes: Self.batchBytes,
            waitMilliseconds: waitMilliseconds) == .records
    }
}
