import EventLog
import Foundation
import KafkaLog

/// The contents of the log, read without Weir's folds: the reference for the stores.
struct SoakLogContents {
    private(set) var records: Int64 = 0
    /// Auctions in the log, each counted once.
    private(set) var auctions: Int64 = 0
    /// Numbers of the first published auctions that are missing.
    private(set) var missing: [Int64] = []
    /// Offsets of undecodable records, by partition.
    private(set) var poison: [Int32: [Int64]] = [:]
    /// Offsets of dead-lettered records, by partition of the topic, in the order of the dead letters.
    private(set) var deadLetters: [Int32: [Int64]] = [:]
    /// The first offsets of partitions that no longer begin at 0.
    private(set) var trimmed: [Int32: Int64] = [:]
    /// The end offset of each partition.
    private(set) var ends: [Int32: Int64] = [:]

    init(of workspace: SoakWorkspace, auctions count: Int64) throws {
        let log = try workspace.openLog()
        var seen = Array(repeating: false, count: Int(count))
        var poison = poison
        for bounds in try Self.read(
            workspace.topic, of: log,
            { record in
                let key = record.key.map { String(decoding: $0, as: UTF8.self) } ?? ""
                if key.hasPrefix(SoakPublisher.poisonKey) {
                    poison[record.partition, default: []].append(record.offset)
                } else if let number = Int(key), seen.indices.contains(number) {
                    seen[number] = true
                }
            })
        {
            records += bounds.endOffset - bounds.earliestOffset
            ends[bounds.partition] = bounds.endOffset
            if bounds.earliestOffset > 0 { trimmed[bounds.partition] = bounds.earliestOffset }
        }
        self.poison = poison
        auctions = Int64(seen.count { $0 })
        missing = seen.indices.filter { !seen[$0] }.prefix(5).map(Int64.init)
        deadLetters = try Self.deadLetters(of: workspace, log)
    }

    private static func deadLetters(
        of workspace: SoakWorkspace, _ log: KafkaLog
    ) throws -> [Int32: [Int64]] {
        var letters: [Int32: [Int64]] = [:]
        try read(workspace.topic + ".dlq", of: log) { record in
            guard let partition = number("weir_partition", record.headers),
                let offset = number("weir_offset", record.headers)
            else { return }
            letters[Int32(partition), default: []].append(offset)
        }
        return letters
    }

    private static func number(_ name: StaticString, _ headers: RecordHeaders) -> Int64? {
        headers.first(named: name).flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
    }

    /// Reads a topic from its beginning to its end, and returns these bounds.
    @discardableResult
    private static func read(
        _ topic: String, of log: KafkaLog, _ body: (RecordView) -> Void
    ) throws -> [PartitionBounds] {
        let reader = try log.reader(topic: topic)
        defer { reader.close() }
        let bounds = try reader.bounds()
        let batch = RecordBatch()
        let deadline = ContinuousClock.now + .seconds(120)
        try reader.subscribe(.all)
        while bounds.contains(where: {
            (reader.position(partition: $0.partition) ?? 0) < $0.endOffset
        }) {
            guard ContinuousClock.now < deadline else {
                throw SoakFailure("\(topic) was not read to its end within 120 s")
            }
            _ = try reader.read(
                into: batch, maxRecords: 10_000, maxBytes: 32 << 20, waitMilliseconds: 200)
            for index in 0..<batch.count { body(batch[index]) }
        }
        return bounds
    }
}
