import EventLog

/// What became of reading a stretch of a partition.
package struct StretchReading: Equatable, Sendable {
    /// Number of records that were there.
    package internal(set) var records: Int64 = 0
    /// Offsets of the stretch that the log no longer has at its beginning; nil when it has all.
    package internal(set) var gone: Range<Int64>?
    /// Offsets of the stretch that lie after the end of the log; nil when none do.
    package internal(set) var beyondEnd: Range<Int64>?
}

/// Reads stretches of a topic, partition by partition.
final class StretchReader {
    private let reader: any LogReader
    private let batch = RecordBatch()
    /// The partition that the reader is assigned.
    private var assigned: Int32?
    /// A log that gives nothing for so long before the end of a stretch has failed.
    private let patience: Duration

    private static let batchRecords = 2000
    private static let batchBytes = 8 << 20

    /// Reads with a reader that was not subscribed yet.
    init(_ reader: any LogReader, patience: Duration = .seconds(30)) {
        self.reader = reader
        self.patience = patience
    }

    deinit { reader.close() }

    /// Calls `body` with batches of the records of a stretch, in order.
    func read(
        partition: Int32, offsets: Range<Int64>, _ body: (RecordBatch) throws -> Void
    ) throws -> StretchReading {
        var reading = StretchReading()
        guard !offsets.isEmpty,
            let bounds = try reader.bounds(of: [partition]).first
        else { return reading }
        let start = min(max(offsets.lowerBound, bounds.earliestOffset), offsets.upperBound)
        if start > offsets.lowerBound { reading.gone = offsets.lowerBound..<start }
        let end = min(offsets.upperBound, bounds.endOffset)
        if end < offsets.upperBound {
            reading.beyondEnd = max(end, offsets.lowerBound)..<offsets.upperBound
        }
        guard start < end else { return reading }
        try assign(partition)
        try reader.seek(partition: partition, to: start)
        var next = start
        var lastMove = ContinuousClock.now
        while next < end {
            let answer = try reader.read(
                into: batch, maxRecords: Int(min(end - next, Int64(Self.batchRecords))),
                maxBytes: Self.batchBytes,
                waitMilliseconds: 100)
            if answer == .records {
                while batch.count > 0, batch.position(batch.count - 1).offset >= end {
                    batch.remove(at: batch.count - 1)
                }
                reading.records += Int64(batch.count)
                try body(batch)
            }
            let position = min(reader.position(partition: partition) ?? 0, end)
            if position > next {
                next = position
                lastMove = .now
            } else if lastMove.duration(to: .now) > patience {
                throw ExplanationError.silentLog(
                    topic: reader.topic, partition: partition, offset: next, end: end,
                    seconds: patience.components.seconds)
            }
        }
        return reading
    }

    /// The position of a partition is its end as soon as it is met: none is read ahead of its stretch.
    private func assign(_ partition: Int32) throws(LogError) {
        guard assigned != partition else { return }
        try reader.subscribe(.partitions([partition]))
        _ = try reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        assigned = partition
    }
}
