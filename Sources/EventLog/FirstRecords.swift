/// Looks at one record of each of some partitions.
package struct FirstRecords {
    /// Timestamps of the first records at or behind the offsets, milliseconds since 1970.
    package private(set) var timestamps: [Int32: Int64] = [:]
    /// Partitions that hold no record from there on.
    package private(set) var isAtEnd: Set<Int32> = []

    private static let patience = Duration.seconds(10)

    /// Reads them. A partition that does not answer within 10 s is in neither.
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
