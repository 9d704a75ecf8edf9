extension EmbeddedLog {
    private static let recordsAtOnce = 10_000
    private static let bytesAtOnce = 16 << 20

    /// Reads every record that the log holds, so that each is held against its checksum. Throws
    /// `damagedRecord` or `damaged`.
    ///
    /// - Parameter progress: is called with the number of records read so far.
    /// - Returns: how many there are.
    @discardableResult
    package func verifyRecords(_ progress: (Int) -> Void = { _ in }) throws(LogError) -> Int {
        let batch = RecordBatch()
        var count = 0
        for topic in try topics() {
            let reader = try openReader(topic: topic.name, group: nil)
            let ends = try reader.bounds()
            try reader.subscribe(.all)
            // What is appended meanwhile is not waited for.
            while ends.contains(where: {
                (reader.position(partition: $0.partition) ?? $0.endOffset) < $0.endOffset
            }) {
                _ = try reader.read(
                    into: batch, maxRecords: Self.recordsAtOnce, maxBytes: Self.bytesAtOnce,
                    waitMilliseconds: 0)
                count += batch.count
                progress(count)
            }
        }
        return count
    }
}
