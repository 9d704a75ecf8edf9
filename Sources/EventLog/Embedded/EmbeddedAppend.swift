import Foundation
import GRDB
import GRDBSQLite

/// One append: the state that it keeps while its transaction is open.
struct EmbeddedAppend {
    /// Where a partition ends, and what of it is to be written back.
    private struct Tail {
        var partition: EmbeddedPartition
        var firstOffset: Int64
        /// The block of the time index that the last record fell into, with its largest timestamp.
        var block: Int64 = -1
        var latestMilliseconds = Int64.min
    }

    private let db: Database
    private let address: String
    private let insertion: Statement
    private let nowMilliseconds: Int64
    private var tails: [Tail] = []
    /// Where each topic's tails lie in `tails`.
    private var ranges: [String: Range<Int>] = [:]
    private var currentTopic = ""
    private var currentRange = 0..<0
    private var headerBytes: [UInt8] = []

    init(_ db: Database, address: String) throws {
        self.db = db
        self.address = address
        nowMilliseconds = Int64(Date().timeIntervalSince1970 * 1000)
        insertion = try db.cachedStatement(
            sql: """
                INSERT INTO records (position, timestamp_ms, key, headers, value)
                VALUES (?, ?, ?, ?, ?)
                """
        )
    }

    /// Appends the records and returns their positions in the same order.
    mutating func run(_ records: [OutgoingRecord]) throws -> [RecordPosition] {
        defer { sqlite3_clear_bindings(insertion.sqliteStatement) }
        var positions: [RecordPosition] = []
        positions.reserveCapacity(records.count)
        for record in records {
            let tail = try tailIndex(of: record)
            let timestamp = record.timestampMilliseconds ?? nowMilliseconds
            let offset = tails[tail].partition.endOffset
            guard offset < EmbeddedSchema.offsetLimit - 1 else { throw isFull(record.topic) }
            try insert(
                record,
                timestamp,
                at: EmbeddedSchema.position(ref: tails[tail].partition.ref, offset: offset)
            )
            try noteTime(timestamp, offset, tail)
            tails[tail].partition.endOffset = offset + 1
            positions.append(
                RecordPosition(partition: tails[tail].partition.partition, offset: offset)
            )
        }
        try writeTails()
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
        let first = tails.count
        tails += partitions.map { Tail(partition: $0, firstOffset: $0.endOffset) }
        ranges[topic] = first..<tails.count
        return first..<tails.count
    }

    /// Binds the bytes where they lie; SQLite copies them into its pages within the step.
    private mutating func insert(
        _ record: OutgoingRecord,
        _ timestamp: Int64,
        at position: Int64
    ) throws {
        headerBytes.removeAll(keepingCapacity: true)
        RecordHeaders.encode(record.headers, onto: &headerBytes)
        let statement = insertion.sqliteStatement
        sqlite3_bind_int64(statement, 1, position)
        sqlite3_bind_int64(statement, 2, timestamp)
        let code = record.key.withBytes { key in
            (headerBytes.isEmpty ? nil : headerBytes).withBytes { headers in
                record.value.withBytes { value in
                    var code = Self.bind(key, to: statement, 3)
                    if code == SQLITE_OK { code = Self.bind(headers, to: statement, 4) }
                    if code == SQLITE_OK { code = Self.bind(value, to: statement, 5) }
                    return code == SQLITE_OK ? sqlite3_step(statement) : code
                }
            }
        }
        defer { sqlite3_reset(statement) }
        guard code == SQLITE_DONE else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code),
                message: db.lastErrorMessage
            )
        }
    }

    /// No destructor: the bytes stay in place until the statement has been stepped. An empty blob has
    /// no address, which SQLite would take for NULL.
    private static func bind(
        _ bytes: UnsafeRawBufferPointer?,
        to statement: OpaquePointer?,
        _ index: Int32
    ) -> Int32 {
        guard let bytes else { return sqlite3_bind_null(statement, index) }
        guard bytes.count > 0 else { return sqlite3_bind_zeroblob(statement, index, 0) }
        return sqlite3_bind_blob64(
            statement,
            index,
            bytes.baseAddress,
            sqlite3_uint64(bytes.count),
            nil
        )
    }

    private mutating func noteTime(_ timestamp: Int64, _ offset: Int64, _ index: Int) throws {
        let block = offset >> EmbeddedSchema.blockBits
        if block != tails[index].block {
            try writeTime(tails[index])
            tails[index].block = block
            tails[index].latestMilliseconds = timestamp
        } else if timestamp > tails[index].latestMilliseconds {
            tails[index].latestMilliseconds = timestamp
        }
    }

    private func writeTime(_ tail: Tail) throws {
        guard tail.block >= 0 else { return }
        try db.cachedStatement(
            sql: """
                INSERT INTO times (ref, block, latest_ms) VALUES (?, ?, ?)
                ON CONFLICT DO UPDATE SET latest_ms = max(latest_ms, excluded.latest_ms)
                """
        ).execute(arguments: [tail.partition.ref, tail.block, tail.latestMilliseconds])
    }

    private func writeTails() throws {
        for tail in tails where tail.partition.endOffset > tail.firstOffset {
            try writeTime(tail)
            try db.cachedStatement(sql: "UPDATE partitions SET end_offset = ? WHERE ref = ?")
                .execute(arguments: [tail.partition.endOffset, tail.partition.ref])
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
