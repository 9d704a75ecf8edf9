import DatabaseFiles
import GRDB
import GRDBSQLite

/// Inserts records, and binds their bytes where they lie: SQLite copies them into its pages within the
/// step.
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

    /// Inserts one record. `headers` are in the form of `RecordHeaders`, and nil when there are none.
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

    /// Lets go of the bytes that were bound last.
    func finish() {
        sqlite3_clear_bindings(insertion.sqliteStatement)
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
}
