import DatabaseFiles
import EventLog
import GRDB
import GRDBSQLite

/// A record in SQLite's memory. Its bytes are valid until the next step of the statement.
struct EmbeddedRecord {
    let offset: Int64
    let timestampMilliseconds: Int64
    let key: UnsafeRawBufferPointer?
    /// In the encoding of `RecordHeaders`; nil without headers.
    let headers: UnsafeRawBufferPointer?
    let value: UnsafeRawBufferPointer?
    /// Nil for a record of a log without checksums.
    private let checksum: Int64?

    /// Prepares a statement that returns the records of a partition from an offset on. The caller resets it.
    static func select(
        _ db: Database, ref: Int64, from offset: Int64, hasChecksums: Bool,
        order: String = "position"
    ) throws -> OpaquePointer {
        let statement = try db.cachedStatement(
            sql: """
                SELECT position, timestamp_ms, key, headers, value,
                  \(hasChecksums ? "checksum" : "NULL")
                FROM records WHERE position >= ? AND position < ? ORDER BY \(order)
                """
        ).sqliteStatement
        sqlite3_bind_int64(statement, 1, EmbeddedSchema.position(ref: ref, offset: offset))
        sqlite3_bind_int64(statement, 2, (ref + 1) << EmbeddedSchema.offsetBits)
        return statement
    }

    /// Steps to the next record of a statement of `select`; nil at the end.
    static func next(_ statement: OpaquePointer, _ db: Database) throws -> EmbeddedRecord? {
        let code = sqlite3_step(statement)
        if code == SQLITE_ROW { return EmbeddedRecord(statement) }
        if code == SQLITE_DONE { return nil }
        throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
    }

    private init(_ row: OpaquePointer) {
        offset = sqlite3_column_int64(row, 0) & (EmbeddedSchema.offsetLimit - 1)
        timestampMilliseconds = sqlite3_column_int64(row, 1)
        key = Self.bytes(row, 2)
        headers = Self.bytes(row, 3)
        value = Self.bytes(row, 4)
        checksum = sqlite3_column_type(row, 5) == SQLITE_NULL ? nil : sqlite3_column_int64(row, 5)
    }

    /// The bytes of a column; nil for NULL.
    private static func bytes(_ row: OpaquePointer, _ column: Int32) -> UnsafeRawBufferPointer? {
        guard sqlite3_column_type(row, column) != SQLITE_NULL else { return nil }
        let start = sqlite3_column_blob(row, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(row, column)))
    }

    /// Whether it matches its checksum, if it has one.
    var isIntact: Bool {
        guard let checksum else { return true }
        return checksum
            == RecordSum.of(
                offset: offset, timestampMilliseconds: timestampMilliseconds, key: key,
                headers: headers, value: value)
    }
}

extension EmbeddedPartition {
    /// A copy of the last record; nil if the partition is empty.
    static func lastRecord(
        _ db: Database, ref: Int64, of topicPartition: TopicPartition, address: String
    ) throws -> RecordCopy? {
        let statement = try EmbeddedRecord.select(
            db, ref: ref, from: 0, hasChecksums: EmbeddedSchema.hasChecksums(db),
            order: "position DESC LIMIT 1")
        defer { sqlite3_reset(statement) }
        guard let record = try EmbeddedRecord.next(statement, db) else { return nil }
        guard record.isIntact else {
            throw LogError.damagedRecord(topicPartition, offset: record.offset, address: address)
        }
        return RecordCopy(
            partition: topicPartition.partition, offset: record.offset,
            timestampMilliseconds: record.timestampMilliseconds, key: record.key.map { Array($0) },
            headers: record.headers.map { Array($0) } ?? [], value: record.value.map { Array($0) })
    }
}
