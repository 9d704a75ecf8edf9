import DatabaseFiles
import GRDB
import Streams

/// How the tables of a store differ from those that this version declares.
package struct StoreDifference: Equatable, Sendable {
    /// Some columns of a table.
    package struct Columns: Equatable, Sendable {
        package var table: String
        package var columns: [String]
    }

    /// Measures that the file does not count. Nothing else of the file is affected.
    package var missing: [Columns] = []
    /// Everything else. The file cannot be continued by this version.
    package var other: [Columns] = []

    package var isNone: Bool { missing.isEmpty && other.isEmpty }
}

extension StoreSchema {
    /// The table with the measures that a store has not counted from its beginning.
    static let unknownBefore = "unknown_before"

    /// Tables and indexes that are added to an existing file when its worker opens it, because no number depends on
    /// them. Earlier versions ignore them.
    static let bookkeeping = [
        (
            name: unknownBefore,
            schema: """
            CREATE TABLE \(unknownBefore) (
              -- Measures that an earlier version did not count: null in the rows that may hold records of before.
              partition INTEGER NOT NULL,
              aggregate TEXT NOT NULL, -- name of the dump
              measure TEXT NOT NULL,
              known_from INTEGER NOT NULL, -- the first offset that is counted
              PRIMARY KEY (partition, aggregate, measure)
            ) STRICT, WITHOUT ROWID;

            """
        ), (name: contributions, schema: contributionsSchema),
    ]

    static func missing(_ db: Database) throws -> [(name: String, schema: String)] {
        let present = try Set(String.fetchAll(db, sql: "SELECT name FROM sqlite_schema"))
        return bookkeeping.filter { !present.contains($0.name) }
    }

    /// Adds missing bookkeeping. Returns the names of what was added.
    static func changeInPlace(_ db: Database) throws -> [String] {
        let missing = try missing(db)
        guard !missing.isEmpty else { return [] }
        try db.inTransaction(.immediate) {
            for part in missing { try db.execute(sql: part.schema) }
            return .commit
        }
        return missing.map(\.name)
    }

    static func columns(of table: String, in db: Database) throws -> [String] {
        try String.fetchAll(
            db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [table])
    }

    static func difference(
        from fold: any StreamFold.Type, in db: Database
    ) throws -> StoreDifference {
        var difference = StoreDifference()
        for table in fold.tables {
            let keys = try Set(columns(of: "\(table.sqlName)_keys", in: db))
            let sums = try Set(columns(of: "\(table.sqlName)_sums", in: db))
            let missing = table.measures.filter { !sums.contains($0) }
            let foreign =
                keys.symmetricDifference(keys.isEmpty ? [] : ["key"] + table.keyNames)
                .union(sums.subtracting(["number"] + table.measures))
            if !foreign.isEmpty {
                difference.other.append(
                    .init(table: table.name, columns: foreign.union(missing).sorted()))
            } else if !missing.isEmpty {
                difference.missing.append(.init(table: table.name, columns: missing))
            }
        }
        for table in fold.memoryTables {
            let declared = ["partition"] + table.columns.map(\.name)
            let differing = try Set(columns(of: table.name, in: db)).symmetricDifference(declared)
            guard !differing.isEmpty else { continue }
            difference.other.append(.init(table: table.name, columns: differing.sorted()))
        }
        return difference
    }
}

/// Continues the rows of a store under a version with more measures.
package enum StoreContinuation {
    /// Adds the missing measures to a copy of a store, which no other program uses. They are null in all rows of the
    /// copy, also in rows that its hours and days get later, and are counted in rows of later hours and days.
    package static func addMeasures(toCopy path: String) throws(StoreError) {
        try StoreError.naming("change", path) {
            let queue = try DatabaseQueue(
                path: path, configuration: CheckedPages.configuration(pageSize: nil))
            try queue.inDatabase { db in
                _ = try StoreSchema.checkVersion(db, path: path)
                let name = try String.fetchOne(db, sql: "SELECT stream FROM store") ?? ""
                guard let fold = Streams.stream(named: name) else { return }
                let difference = try StoreSchema.difference(from: fold, in: db)
                if let first = difference.other.first {
                    throw StoreError.otherColumns(
                        path: path, table: first.table, columns: first.columns)
                }
                _ = try StoreSchema.changeInPlace(db)
                try db.inTransaction(.immediate) {
                    for missing in difference.missing {
                        for table in fold.tables where table.name == missing.table {
                            try add(missing.columns, to: table, db)
                        }
                    }
                    return .commit
                }
            }
            try queue.close()
        }
    }

    private static func add(
        _ measures: [String], to table: AggregateTable, _ db: Database
    ) throws {
        if try StoreSchema.columns(of: "\(table.sqlName)_sums", in: db).isEmpty {
            try db.execute(sql: table.schema(mayLackRecords: true))
        } else {
            try db.execute(sql: "DROP VIEW \(table.sqlName)")
            for measure in measures {
                try db.execute(
                    sql: "ALTER TABLE \(table.sqlName)_sums ADD COLUMN \(measure) INTEGER")
            }
            try db.execute(sql: table.viewSchema)
        }
        // A measure is added once, so the first one makes the name unique.
        try db.execute(
            sql: """
                CREATE TRIGGER \(table.sqlName)_\(measures[0])_unknown
                AFTER INSERT ON \(table.sqlName)_sums WHEN \(try mayHoldEarlierRecords(table, db))
                BEGIN
                  UPDATE \(table.sqlName)_sums
                  SET \(measures.map { "\($0) = NULL" }.joined(separator: ", "))
                  WHERE number = new.number;
                END
                """)
        for measure in measures {
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO \(StoreSchema.unknownBefore)
                    SELECT partition, ?, ?, next_offset FROM partitions WHERE records > 0
                    """, arguments: [table.name, measure])
        }
    }

    /// The condition, in SQL, for a new row that may lack records that are folded already.
    ///
    /// Every record creates the slot of its hour, so a row of a later slot has no earlier records. A day that records
    /// name has a slot only if a row needed it. Records name days up to the next one, so all days up to that of the last
    /// folded record may lack some.
    private static func mayHoldEarlierRecords(
        _ table: AggregateTable, _ db: Database
    ) throws -> String {
        let last = try Int64.fetchOne(db, sql: "SELECT max(slot) FROM slots") ?? 0
        let isEarlier = "new.number >> 32 <= \(last)"
        guard table.day != nil else { return isEarlier }
        let days = try String.fetchAll(
            db, sql: "SELECT DISTINCT substr(hour, 1, 10) FROM slots ORDER BY 1")
        // A record that is dated in the future does not make the days until then unknown.
        let bound = try String.fetchOne(
            db, sql: "SELECT date(min(?, date('now')), '+1 day')", arguments: [days.last ?? ""])
        guard let bound else { return isEarlier }
        let later = days.filter { $0 > bound }.map { "'\($0)'" }.joined(separator: ", ")
        return """
            \(isEarlier) OR EXISTS (
              SELECT 1 FROM slots WHERE slot = new.number >> 32
                AND (substr(hour, 1, 10) <= '\(bound)' OR substr(hour, 1, 10) IN (\(later))))
            """
    }
}
