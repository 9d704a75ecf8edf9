import EventLog

/// Reads a range of each partition and nothing else, without a group: it commits nothing.
///
/// The ends may grow while it reads.
final class BoundedLogReader: LogReader {
    private static let refreshInterval = Duration.milliseconds(200)

    private let reader: any LogReader
    private let starts: [Int32: Int64]
    private var ends: [Int32: Int64]
    private let refresh: (() -> [Int32: Int64])?
    private var lastRefresh = ContinuousClock.now
    /// Partitions at their end, with the offset where they continue.
    private var paused: [Int32: Int64] = [:]
    private var assigned: Set<Int32> = []

    /// Bounds a reader that was not subscribed yet.
    ///
    /// - Parameters:
    ///   - stretches: for each partition the range of its offsets.
    ///   - refresh: called a few times a second for the present ends of the partitions; nil if they are fixed.
    init(
        _ reader: any LogReader, stretches: [Int32: Range<Int64>],
        refresh: (() -> [Int32: Int64])? = nil
    ) {
        self.reader = reader
        starts = stretches.mapValues(\.lowerBound)
        ends = stretches.mapValues(\.upperBound)
        self.refresh = refresh
    }

    var topic: String { reader.topic }
    func identity() throws(LogError) -> String { try reader.identity() }
    func partitionCount() throws(LogError) -> Int32 { try reader.partitionCount() }

    /// The ranges, as far as the log has them.
    func bounds(of partitions: [Int32]) throws(LogError) -> [PartitionBounds] {
        try reader.bounds(of: partitions).map { bounds in
            var bounds = bounds
            bounds.endOffset = min(bounds.endOffset, ends[bounds.partition] ?? .max)
            let start = starts[bounds.partition] ?? 0
            bounds.earliestOffset = max(bounds.earliestOffset, min(start, bounds.endOffset))
            return bounds
        }
    }

    func subscribe(_ assignment: LogAssignment) throws(LogError) {
        try reader.subscribe(assignment)
    }

    func seek(partition: Int32, to offset: Int64) throws(LogError) {
        try reader.seek(partition: partition, to: offset)
        if offset >= end(of: partition), paused[partition] == nil {
            try reader.pause(partition: partition)
            paused[partition] = offset
        }
    }

    func read(
        into batch: RecordBatch, maxRecords: Int, maxBytes: Int, waitMilliseconds: Int
    ) throws(LogError) -> LogReading {
        try goOn()
        let reading = try reader.read(
            into: batch, maxRecords: maxRecords, maxBytes: maxBytes,
            waitMilliseconds: refresh == nil && isAtEnd ? 0 : waitMilliseconds)
        switch reading {
        case .assigned(let partitions): assigned.formUnion(partitions)
        case .revoked(let partitions): assigned.subtract(partitions)
        case .idle: break
        case .records:
            try cut(batch)
            if batch.isEmpty { return .idle }
        }
        return reading
    }

    var isCaughtUp: Bool { reader.isCaughtUp || isAtEnd }

    var batchBytes: Int { reader.batchBytes }

    func position(partition: Int32) -> Int64? {
        paused[partition] ?? reader.position(partition: partition)
    }

    func takeDoubt() -> Bool { reader.takeDoubt() }

    func requireAnswer() throws(LogError) { try reader.requireAnswer() }
    func pause(partition: Int32) throws(LogError) { try reader.pause(partition: partition) }
    func resume(partition: Int32) throws(LogError) { try reader.resume(partition: partition) }

    func offset(
        partition: Int32, atOrAfter timestampMilliseconds: Int64
    ) throws(LogError) -> Int64? {
        try reader.offset(partition: partition, atOrAfter: timestampMilliseconds)
    }

    /// Nothing was published.
    func committedOffsets() throws(LogError) -> [Int32: GroupOffset] { [:] }
    func commit(_: [Int32: GroupOffset]) throws(LogError) {}
    func close() { reader.close() }

    private var isAtEnd: Bool { !assigned.isEmpty && assigned.allSatisfy { paused[$0] != nil } }

    private func end(of partition: Int32) -> Int64 { ends[partition] ?? .max }

    /// Removes records beyond the ends from the batch, and pauses their partitions.
    private func cut(_ batch: RecordBatch) throws(LogError) {
        var beyond: [Int32: Int64] = [:]
        batch.removeAll { record in
            guard record.offset >= end(of: record.partition) else { return false }
            beyond[record.partition] = min(beyond[record.partition] ?? record.offset, record.offset)
            return true
        }
        for partition in assigned.sorted() where paused[partition] == nil {
            let position = beyond[partition] ?? reader.position(partition: partition)
            guard let position, position >= end(of: partition) else { continue }
            try reader.pause(partition: partition)
            paused[partition] = position
        }
    }

    /// Resumes partitions with a new end.
    private func goOn() throws(LogError) {
        guard let refresh, lastRefresh.duration(to: .now) >= Self.refreshInterval else { return }
        lastRefresh = .now
        for (partition, end) in refresh() { ends[partition] = max(end, self.end(of: partition)) }
        for (partition, position) in paused.sorted(by: { $0.key < $1.key })
        where position < end(of: partition) {
            paused[partition] = nil
            try reader.seek(partition: partition, to: position)
            try reader.resume(partition: partition)
        }
    }
}
