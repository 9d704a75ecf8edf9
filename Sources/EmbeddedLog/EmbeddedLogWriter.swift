import DatabaseFiles
import EventLog
import Foundation
import GRDB
import GRDBSQLite

/// Appends to an embedded log. Each call is one transaction and durable when it returns.
final class EmbeddedLogWriter: LogWriter {
    private let connection: EmbeddedWriteConnection
    private let address: String

    init(connection: EmbeddedWriteConnection, address: String) {
        self.connection = connection
        self.address = address
    }

    /// Appends all records or none. Throws `unknownTopic`, `unknownPartition`, `disk`, or `busy` after 30 seconds.
    @discardableResult
    func append(
        _ records: [OutgoingRecord], while _: () -> Bool
    ) throws(LogError) -> [RecordPosition] {
        guard !records.isEmpty else { return [] }
        return try connection.transaction("append to") { db in
            var append = try EmbeddedAppend(db, address: address)
            return try append.run(records)
        }
    }
}

/// The state of one append during its transaction.
struct EmbeddedAppend {
    private let db: Database
    private let address: String
    private let insertion: EmbeddedInsertion
    private let nowMilliseconds: Int64
    private var tails: [EmbeddedTail] = []
    /// The range of each topic in `tails`.
    private var ranges: [String: Range<Int>] = [:]
    private var currentTopic = ""
    private var currentRange = 0..<0
    private var headerBytes: [UInt8] = []

    init(_ db: Database, address: String) throws {
        self.db = db
        self.address = address
        nowMilliseconds = WallClock.milliseconds
        insertion = try EmbeddedInsertion(db)
    }

    /// Returns the positions in the order of the records.
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
                detail: "contains a copy of topic '\(topic)' from another log: append to that log, "
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
            detail: "a partition of '\(topic)' has no offsets left"
        )
    }
}

/// The end of a partition during a transaction that appends to it.
struct EmbeddedTail {
    private(set) var partition: EmbeddedPartition
    private let endBefore: Int64
    /// The last record's block of the time index, and the largest timestamp in it.
    private var block: Int64 = -1
    private var latestMilliseconds = Int64.min

    init(_ partition: EmbeddedPartition) {
        self.partition = partition
        endBefore = partition.endOffset
    }

    /// Moves the end past a record.
    mutating func append(
        offset: Int64, timestampMilliseconds: Int64, in db: Database
    ) throws {
        let block = offset >> EmbeddedSchema.blockBits
        if block != self.block {
            try writeTime(in: db)
            self.block = block
            latestMilliseconds = timestampMilliseconds
        } else if timestampMilliseconds > latestMilliseconds {
            latestMilliseconds = timestampMilliseconds
        }
        partition.endOffset = offset + 1
    }

    /// Moves the end past offsets without records; never back.
    mutating func extend(to end: Int64) {
        partition.endOffset = max(partition.endOffset, end)
    }

    func write(in db: Database) throws {
        guard partition.endOffset > endBefore else { return }
        try writeTime(in: db)
        try db.cachedStatement(sql: "UPDATE partitions SET end_offset = ? WHERE ref = ?")
            .execute(arguments: [partition.endOffset, partition.ref])
    }

    private func writeTime(in db: Database) throws {
        guard block >= 0 else { return }
        try db.cachedStatement(
            sql: """
                INSERT INTO times (ref, block, latest_ms) VALUES (?, ?, ?)
                ON CONFLICT DO UPDATE SET latest_ms = max(latest_ms, excluded.latest_ms)
                """
        ).execute(arguments: [partition.ref, block, latestMilliseconds])
    }
}

/// Inserts records without copying their bytes first: SQLite copies them into its pages during the step.
struct EmbeddedInsertion {
    private let db: Database
    private let insertion: Statement

    init(_ db: Database) throws {
        self.db = db
        insertion = try db.cachedStatement(
            sql: """
                INSERT INTO records (position, timestamp_ms, checksum, key, headers, value)
                VALUES (?, ?, ?, ?, ?, ?)
                """
        )
    }

    /// - Parameter headers: in the encoding of `RecordHeaders`; nil without headers.
    func insert(
        at position: Int64,
        timestampMilliseconds: Int64,
        key: UnsafeRawBufferPointer?,
        headers: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?
    ) throws {
        let statement = insertion.sqliteStatement
        defer { sqlite3_reset(statement) }
        sqlite3_bind_int64(statement, 1, position)
        sqlite3_bind_int64(statement, 2, timestampMilliseconds)
        let checksum = RecordSum.of(
            offset: position & (EmbeddedSchema.offsetLimit - 1),
            timestampMilliseconds: timestampMilliseconds, key: key, headers: headers, value: value)
        sqlite3_bind_int64(statement, 3, checksum)
        var code = Self.bind(key, to: statement, 4)
        if code == SQLITE_OK { code = Self.bind(headers, to: statement, 5) }
        if code == SQLITE_OK { code = Self.bind(value, to: statement, 6) }
        if code == SQLITE_OK { code = sqlite3_step(statement) }
        guard code == SQLITE_DONE else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code),
                message: db.lastErrorMessage
            )
        }
    }

    /// Releases the bytes bound last.
    func finish() {
        sqlite3_clear_bindings(insertion.sqliteStatement)
    }

    /// No destructor: the bytes stay in place until the statement was stepped. An empty blob has no address, which
    /// SQLite would treat as NULL.
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
}
