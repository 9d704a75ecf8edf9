import GRDB
import GRDBSQLite
import Streams

/// Binds and runs a prepared statement, row by row, directly from borrowed bytes, so that a value needs no
/// allocation.
final class StatementRow {
    private let statement: Statement
    private let handle: OpaquePointer
    /// The index of the last bound value, from 1.
    private var index: Int32 = 0

    init(_ statement: Statement) {
        self.statement = statement
        handle = statement.sqliteStatement
    }

    /// Prepares the statement for the values of a row.
    func begin() {
        sqlite3_reset(handle)
        index = 0
    }

    func bind(_ integer: Int64) {
        sqlite3_bind_int64(handle, nextIndex(), integer)
    }

    func bindNull() { sqlite3_bind_null(handle, nextIndex()) }

    /// Copies the bytes, which are UTF-8.
    func bind(text: UnsafeRawBufferPointer) {
        let start = text.baseAddress?.assumingMemoryBound(to: CChar.self)
        sqlite3_bind_text(
            handle, nextIndex(), start ?? Self.noText, Int32(text.count), Self.copied)
    }

    func bind(text: StaticString) {
        bind(text: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Copies the text.
    func bind(_ text: some StringProtocol) {
        bind(Array(text.utf8))
    }

    /// Copies the bytes, which are UTF-8.
    func bind(_ text: [UInt8]) {
        text.withUnsafeBytes { bind(text: $0) }
    }

    /// The bytes must stay until `step`.
    func bind(blob: UnsafeRawBufferPointer?) {
        guard let blob else {
            bindNull()
            return
        }
        if blob.isEmpty {
            sqlite3_bind_zeroblob(handle, nextIndex(), 0)
        } else {
            sqlite3_bind_blob64(
                handle, nextIndex(), blob.baseAddress, sqlite3_uint64(blob.count), nil)
        }
    }

    /// Copies the bytes.
    func bind(copyOf blob: [UInt8]) {
        guard !blob.isEmpty else {
            sqlite3_bind_zeroblob(handle, nextIndex(), 0)
            return
        }
        _ = blob.withUnsafeBytes { bytes in
            sqlite3_bind_blob(
                handle, nextIndex(), bytes.baseAddress, Int32(bytes.count), Self.copied)
        }
    }

    func bind(_ value: MemoryValue) {
        switch value {
        case .none: bindNull()
        case .integer(let integer): bind(integer)
        case .text(let text): bind(text)
        case .bytes(let bytes): bind(copyOf: bytes)
        case .id(let id): bind(id)
        }
    }

    /// The 16 bytes of an id.
    func bind(_ id: RecordID) {
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { bytes in
            id.write(to: bytes)
            _ = sqlite3_bind_blob(handle, nextIndex(), bytes.baseAddress, 16, Self.copied)
        }
    }

    /// Runs the statement, which returns no row, with these values.
    func run(_ values: [MemoryValue]) throws {
        begin()
        for value in values { bind(value) }
        try step()
    }

    /// Runs the statement, which returns no row.
    func step() throws {
        let code = sqlite3_step(handle)
        if code == SQLITE_DONE { return }
        try fail()
    }

    /// Runs the statement, which returns one integer.
    func stepForInteger() throws -> Int64 {
        guard sqlite3_step(handle) == SQLITE_ROW else {
            try fail()
            return 0
        }
        let integer = sqlite3_column_int64(handle, 0)
        try step()
        return integer
    }

    /// Runs the statement up to its next row; false at the end.
    func next() throws -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code != SQLITE_DONE { try fail() }
        sqlite3_reset(handle)
        return false
    }

    /// A column of the present row, from 0.
    func integer(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

    /// A blob of the present row, from 0.
    func bytes(_ column: Int) -> [UInt8] {
        let bytes = sqlite3_column_blob(handle, Int32(column))
        let count = Int(sqlite3_column_bytes(handle, Int32(column)))
        return Array(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    /// Lends a blob of the present row, from 0.
    func withBlob<Result>(
        _ column: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let bytes = sqlite3_column_blob(handle, Int32(column))
        let count = Int(sqlite3_column_bytes(handle, Int32(column)))
        return try body(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    func isNull(_ column: Int) -> Bool {
        sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL
    }

    /// A column of the present row, from 0, including any NULs.
    func text(_ column: Int) -> String {
        let bytes = sqlite3_column_blob(handle, Int32(column))
        let count = Int(sqlite3_column_bytes(handle, Int32(column)))
        return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    private func fail() throws {
        let error = DatabaseError(
            resultCode: ResultCode(rawValue: sqlite3_extended_errcode(sqlite3_db_handle(handle))),
            message: String(cString: sqlite3_errmsg(sqlite3_db_handle(handle))))
        sqlite3_reset(handle)
        if error.extendedResultCode.rawValue == Self.datatypeConstraint {
            throw StoreError.overflow
        }
        throw error
    }

    private func nextIndex() -> Int32 {
        index += 1
        return index
    }

    /// SQLITE_CONSTRAINT_DATATYPE: a value of another type for a column of a STRICT table.
    private static let datatypeConstraint: Int32 = 19 | (12 << 8)
    private static var copied: sqlite3_destructor_type {
        unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }
    private static var noText: UnsafePointer<CChar> {
        UnsafeRawPointer(("" as StaticString).utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
