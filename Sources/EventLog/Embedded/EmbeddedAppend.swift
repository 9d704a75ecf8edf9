import Foundation
import GRDB

/// One append: the state that it keeps while its transaction is open.
struct EmbeddedAppend {
    private let db: Database
    private let address: String
    private let insertion: EmbeddedInsertion
    private let nowMilliseconds: Int64
    private var tails: [EmbeddedTail] = []
    /// Where each topic's tails lie in `tails`.
    private var ranges: [String: Range<Int>] = [:]
    private var currentTopic = ""
    private var currentRange = 0..<0
    private var headerBytes: [UInt8] = []

    init(_ db: Database, address: String) throws {
        self.db = db
        self.address = address
        nowMilliseconds = Int64(Date().timeIntervalSince1970 * 1000)
        insertion = try EmbeddedInsertion(db)
    }

    /// Appends the records and returns their positions in the same order.
    mutating func run(_ records: [OutgoingRecord]) throws -> [RecordPosition] {
        defer { insertion.finish() }
        var positions: [RecordPosition] = []
        positions.reserveCapacity(records.count)
        for record in records {
            let tail = try tailIndex(of: record)
            let partition = tails[tail].partition
            let timestamp = record.timestampMilliseconds ?? nowMilliseconds
            let offset = partition.endOffset
            guard offset < EmbeddedSchema.offsetLimit - 1 else { throw isFull(record.topic) }
            try insert(
                record,
                timestamp,
                at: EmbeddedSchema.position(ref: partition.ref, offset: offset)
            )
            try tails[tail].append(offset: offset, timestampMilliseconds: timestamp, in: db)
            positions.append(RecordPosition(partition: partition.partition, offset: offset))
        }
        for tail in tails { try tail.write(in: db) }
        return positions
    }

    private mutating func tailIndex(of record: OutgoingRecord) throws -> Int {
        if record.topic != currentTopic || currentRange.isEmpty {
            currentRange = try ranges[record.topic] ?? load(record.topic)
            currentTopic = record.topic
        }
        let count = Int32(currentRange.count)
        let partition =
            record.partition
            ?? KeyPartitioner.partition(
                key: record.key,
                value: record.value,
                partitionCount: count
            )
        guard (0..<count).contains(partition) else {
            throw LogError.unknownPartition(
                TopicPartition(topic: record.topic, partition: partition),
                partitionCount: count
            )
        }
        return currentRange.lowerBound + Int(partition)
    }

    private mutating func load(_ topic: String) throws -> Range<Int> {
        let partitions = try EmbeddedPartition.all(db, topic: topic)
        guard !partitions.isEmpty else { throw LogError.unknownTopic(topic, address: address) }
        guard try !EmbeddedSchema.isArchive(db, topic: topic) else {
            throw LogError.badArchive(
                address: address,
                detail: "is a copy of topic '\(topic)' of another log: append to that log, "
                    + "and run weir archive again"
            )
        }
        let first = tails.count
        tails += partitions.map(EmbeddedTail.init)
        ranges[topic] = first..<tails.count
        return first..<tails.count
    }

    private mutating func insert(
        _ record: OutgoingRecord,
        _ timestamp: Int64,
        at position: Int64
    ) throws {
        headerBytes.removeAll(keepingCapacity: true)
        RecordHeaders.encode(record.headers, onto: &headerBytes)
        try record.key.withBytes { key in
            try (headerBytes.isEmpty ? nil : headerBytes).withBytes { headers in
                try record.value.withBytes { value in
                    try insertion.insert(
                        at: position, timestampMilliseconds: timestamp, key: key,
                        headers: headers, value: value
                    )
                }
            }
        }
    }

    private func isFull(_ topic: String) -> LogError {
        .backend(
            operation: "append to",
            address: address,
            detail: "a partition of '\(topic)' has used up its offsets"
        )
    }
}
