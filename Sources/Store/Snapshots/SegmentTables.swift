import DatabaseFiles
import Foundation
import GRDB
import GRDBSQLite
import Streams

/// Rows of a table in a segment: those that meet a condition, in an order.
struct SegmentRows {
    let table: String
    let condition: String
    let order: String
    /// Whether the first column is a unique number.
    let isNumbered: Bool

    init(_ table: String, where condition: String, order: String, isNumbered: Bool = false) {
        self.table = table
        self.condition = condition
        self.order = order
        self.isNumbered = isNumbered
    }
}

/// The tables of a fold's stores, as the segments of a partition have them. Tables that follow from others are not in
/// segments.
struct SegmentTables {
    private let aggregates: [AggregateTable]
    /// Memory by offset, and other memory.
    private let byOffset: [String]
    private let lasting: [String]
    private let emits: Bool

    init(_ fold: any StreamFold.Type) {
        aggregates = fold.tables + [OutcomeKey.table]
        emits = fold.emits
        byOffset =
            ["refused", "recollections"]
            + fold.memoryTables.filter(Self.isByOffset).map(\.name)
        lasting = fold.memoryTables.filter { !Self.isByOffset($0) }.map(\.name)
    }

    /// Whether rows of memory are in the order of the offsets of their records.
    static func isByOffset(_ table: MemoryTable) -> Bool {
        table.hasIDs || table.columns.first?.name == "offset"
    }

    /// The keys of aggregates, which are shared by all partitions of a store.
    var keys: [String] { aggregates.map { "\($0.sqlName)_keys" } }

    /// The sums of aggregates, with their keys.
    var sums: [(sums: String, keys: String)] {
        aggregates.map { ("\($0.sqlName)_sums", "\($0.sqlName)_keys") }
    }

    /// The names of aggregates, with their tables of keys.
    var aggregateKeys: [(name: String, keys: String)] {
        aggregates.map { ($0.name, "\($0.sqlName)_keys") }
    }

    /// Whether rows of a table are not those of one segment alone: they stay when it is replaced.
    func isShared(_ table: String) -> Bool {
        ["store", "slots", "partitions", "epochs"].contains(table) || keys.contains(table)
    }

    /// All tables with a column for the partition.
    func byPartition(_ db: Database) throws -> [String] {
        let tables =
            ["partitions", "epochs", "hours", StoreSchema.contributions, StoreSchema.unknownBefore]
            + byOffset + lasting + ["dedupe", "outbox", "slots"]
        return try tables.filter { try db.tableExists($0) }
    }

    /// Throws `SnapshotFault` unless the tables of the attached segment have the columns of the store's, in the same
    /// order: blocks of the index of explanations depend on it.
    func requireColumnsOfSegment(_ db: Database) throws {
        let present = try String.fetchAll(
            db, sql: "SELECT name FROM segment.sqlite_schema WHERE type = 'table'")
        for table in present {
            let columns = try ["main", "segment"].map { schema in
                try String.fetchAll(
                    db, sql: "SELECT name FROM pragma_table_info(?, ?)",
                    arguments: [table, schema])
            }
            guard columns[0] == columns[1] else {
                throw SnapshotFault(
                    "another version of Weir has written it: its table \(table) has other columns than the store's"
                )
            }
        }
    }

    /// The end of the numbers of keys.
    func keyCount(_ db: Database) throws -> Int64 {
        try keys.reduce(0) {
            max($0, try Int64.fetchOne(db, sql: "SELECT max(key) + 1 FROM \($1)") ?? 0)
        }
    }

    /// All segments of a partition with rows, in an order in which they can be stored.
    func segments(of partition: PartitionState, in db: Database) throws -> [Segment] {
        let days = try String.fetchAll(
            db,
            sql: """
                SELECT DISTINCT substr(hour, 1, instr(hour || 'T', 'T') - 1) FROM slots
                WHERE partition = ? ORDER BY 1
                """, arguments: [partition.partition])
        return SegmentRange.covering(0, try keyCount(db)).map(Segment.keys)
            + days.map(Segment.day)
            + SegmentRange.covering(partition.firstOffset, partition.nextOffset)
            .map(Segment.records)
            + (emits ? SegmentRange.covering(0, partition.outboxNext).map(Segment.documents) : [])
            + (lasting.isEmpty ? [] : [.memory]) + [.state]
    }

    /// The rows of a segment of a partition.
    func rows(
        of segment: Segment, partition: Int32, in db: Database
    ) throws -> [SegmentRows] {
        switch segment {
        case .state:
            return [SegmentRows("store", where: "true", order: "stream")]
                + ["partitions", "epochs"].map {
                    SegmentRows($0, where: "partition = \(partition)", order: "partition")
                }
        case .keys(let range):
            return keys.map {
                SegmentRows(
                    $0, where: "key >= \(range.first) AND key < \(range.end)", order: "key",
                    isNumbered: true)
            }
        case .records(let range):
            let condition = { (column: String) in
                "partition = \(partition) AND \(column) >= \(range.first) AND \(column) < \(range.end)"
            }
            return byOffset.map { SegmentRows($0, where: condition("offset"), order: "offset") }
                + (try db.tableExists("dedupe")
                    ? [
                        SegmentRows(
                            "dedupe", where: condition("first_offset"), order: "first_offset")
                    ] : [])
        case .documents(let range):
            let condition =
                "partition = \(partition) AND sequence >= \(range.first) AND sequence < \(range.end)"
            return [SegmentRows("outbox", where: condition, order: "sequence")]
        case .memory:
            return lasting.map { SegmentRows($0, where: "partition = \(partition)", order: "2") }
        case .day(let day):
            let hours = try Row.fetchAll(
                db, sql: "SELECT slot, hour FROM slots WHERE partition = ? ORDER BY slot",
                arguments: [partition]
            ).filter { Segment.day(ofHour: $0["hour"]) == segment }
            let slots = hours.map { $0["slot"] as Int64 }
            let list = slots.map(String.init).joined(separator: ", ")
            return [
                SegmentRows("slots", where: "slot IN (\(list))", order: "slot", isNumbered: true)
            ]
                + sums.flatMap { sums, _ in
                    slots.map { slot in
                        let first = RowNumbers.number(slot: slot, key: 0)
                        let end = RowNumbers.number(slot: slot + 1, key: 0)
                        return SegmentRows(
                            sums, where: "number >= \(first) AND number < \(end)", order: "number",
                            isNumbered: true)
                    }
                }
                + slots.map {
                    SegmentRows(
                        "contributions", where: "slot = \($0)", order: "slot, aggregate, block")
                }
                + [
                    SegmentRows(
                        "hours",
                        where: """
                            partition = \(partition)
                            AND substr(hour, 1, instr(hour || 'T', 'T') - 1) = '\(day)'
                            """, order: "hour")
                ]
        }
    }
}

/// Writes the rows of a segment to a file: an SQLite database with tables of the same names and columns.
enum SegmentFile {
    /// Writes a file, durably, and returns the number of its rows.
    static func write(_ rows: [SegmentRows], from db: Database, to path: String) throws -> Int {
        unlink(path)
        let queue = try DatabaseQueue(
            path: path,
            configuration: CheckedPages.configuration(
                pageSize: 4096,
                pragmas: """
                    PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
                    PRAGMA locking_mode = EXCLUSIVE
                    """))
        var count = 0
        try queue.inDatabase { file in
            try file.inTransaction(.exclusive) {
                var insertion: (table: String, statement: Statement)?
                for rows in rows {
                    let columns = try StoreSchema.columns(of: rows.table, in: db)
                    let selection = try db.makeStatement(
                        sql: """
                            SELECT \(columns.joined(separator: ", ")) FROM \(rows.table)
                            WHERE \(rows.condition) ORDER BY \(rows.order)
                            """)
                    count += try copy(selection) {
                        if let insertion, insertion.table == rows.table {
                            return insertion.statement
                        }
                        let statement = try makeTable(rows, columns, in: file)
                        insertion = (rows.table, statement)
                        return statement
                    }
                }
                return .commit
            }
        }
        try queue.close()
        try StoreError.naming("write", path) { try sync(path) }
        return count
    }

    /// Makes a table, and the statement that inserts into it.
    private static func makeTable(
        _ rows: SegmentRows, _ columns: [String], in file: Database
    ) throws -> Statement {
        // Rows are read by these numbers, which are unique.
        let declared = columns.enumerated().map {
            $0 == 0 && rows.isNumbered ? "\($1) INTEGER PRIMARY KEY" : $1
        }
        try file.execute(sql: "CREATE TABLE \(rows.table) (\(declared.joined(separator: ", ")))")
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        return try file.makeStatement(sql: "INSERT INTO \(rows.table) VALUES (\(marks))")
    }

    /// Runs an insertion, which is asked for before the first row, with the columns of each selected row. Returns the
    /// number of rows.
    private static func copy(
        _ selection: Statement, to insertion: () throws -> Statement
    ) throws -> Int {
        let source = selection.sqliteStatement
        defer { sqlite3_reset(source) }
        var target: OpaquePointer?
        var count = 0
        while true {
            let code = sqlite3_step(source)
            if code == SQLITE_DONE { return count }
            guard code == SQLITE_ROW else { throw failure(source) }
            let insertion = try target ?? insertion().sqliteStatement
            target = insertion
            for column in 0..<sqlite3_column_count(source) {
                sqlite3_bind_value(insertion, column + 1, sqlite3_column_value(source, column))
            }
            guard sqlite3_step(insertion) == SQLITE_DONE else { throw failure(insertion) }
            sqlite3_reset(insertion)
            count += 1
        }
    }

    private static func failure(_ statement: OpaquePointer) -> DatabaseError {
        let handle = sqlite3_db_handle(statement)
        return DatabaseError(
            resultCode: ResultCode(rawValue: sqlite3_extended_errcode(handle)),
            message: String(cString: sqlite3_errmsg(handle)))
    }

    private static func sync(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw systemFault(path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw systemFault(path) }
    }

    private static func systemFault(_ path: String) -> StoreError {
        .disk(operation: "write", path: path, detail: SystemRefusal.explanation())
    }
}
