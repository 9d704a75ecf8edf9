import GRDB
import Streams

/// The tables of stores. Aggregates follow from their descriptions. The comments stay in the file: `.schema` in the
/// sqlite3 shell shows them.
enum StoreSchema {
    /// "Weir".
    static let mark = mark(version: versionWithIndex)
    /// Rows of older versions count by other rules.
    private static let oldestVersion = 8
    /// Earlier programs do not know the index of permanently remembered ids, and would not find any.
    private static let versionWithIndex = 9

    private static func mark(version: Int) -> StoreMark {
        StoreMark(
            applicationID: 0x5765_6972, version: version,
            foreign: "the database of another program")
    }

    /// The mark of a new store of a fold, which as many earlier programs as possible can read.
    static func mark(of fold: (some StreamFold).Type) -> StoreMark {
        fold.memoryTables.contains(where: \.hasIDs) ? mark : mark(version: oldestVersion)
    }

    /// The reasons of refused records that are not rejections, in SQL.
    static let otherReasons = RefusedRecord.otherReasons.map { "'\($0)'" }.joined(separator: ", ")

    /// The schema's version; 0 for a file without one.
    static func checkVersion(_ db: Database, path: String) throws -> Int {
        let version = try mark.check(db, path: path)
        guard try version >= oldestVersion || (version == 0 && !mark.isOn(db)) else {
            throw StoreError.olderVersion(path: path, found: version)
        }
        return version
    }

    /// The schema of a store: the common tables, the memory of its fold, and its aggregates.
    static func text(of fold: (some StreamFold).Type) -> String {
        var parts = [common, slots] + bookkeeping.map(\.schema)
        if fold.hasWindow { parts.append(dedupe) }
        parts += fold.memoryTables.map(\.schema)
        if fold.emits { parts.append(outbox) }
        parts += ([OutcomeKey.table] + fold.tables).map { $0.schema() }
        return parts.joined(separator: "\n")
    }

    /// Throws `otherColumns` if a worker cannot continue the file: keys or memory have other columns, or it has measures
    /// that would no longer be counted. A file may lack measures: they stay unknown.
    static func requireColumns(
        of fold: (some StreamFold).Type, in db: Database, path: String
    ) throws {
        guard let first = try difference(from: fold, in: db).other.first else { return }
        throw StoreError.otherColumns(path: path, table: first.table, columns: first.columns)
    }

    private static let common = """
        CREATE TABLE store (
          -- One row: what this file is.
          stream TEXT NOT NULL, -- name of the stream
          topic TEXT NOT NULL, -- the topic that is folded
          log_identity TEXT NOT NULL, -- identifies the log; in an embedded log, changes if the topic is recreated
          partition_count INTEGER NOT NULL -- number of partitions of the topic, which determines the partition of a key
        ) STRICT;

        CREATE TABLE partitions (
          -- How far each partition of the topic is folded. All tables of this file are at this point.
          partition INTEGER PRIMARY KEY,
          first_offset INTEGER NOT NULL, -- folding began here
          log_start INTEGER NOT NULL, -- offset of the log's oldest record at that time; lower than first_offset when a replay began later
          next_offset INTEGER NOT NULL, -- the first record that is not folded yet
          watermark_ms INTEGER NOT NULL, -- largest record timestamp so far, ms since 1970
          records INTEGER NOT NULL, -- records folded
          emit_from INTEGER NOT NULL, -- an earlier store emitted the results of records below this offset
          dead_letters_next INTEGER NOT NULL, -- rejected records below this offset are published
          outbox_next INTEGER NOT NULL, -- sequence that the next outbox row gets
          outbox_emitted INTEGER NOT NULL, -- outbox rows below this sequence are published
          last_record TEXT NOT NULL -- of the last folded record: SHA-256 of timestamp, key and value, 32 hex digits; '' if there is none
        ) STRICT;

        CREATE TABLE epochs (
          -- The configuration in force from an offset on.
          partition INTEGER NOT NULL,
          from_offset INTEGER NOT NULL,
          configuration_hash TEXT NOT NULL, -- SHA-256 of the text, hex
          configuration TEXT NOT NULL, -- all that the fold depends on, as JSON
          dedupe_window_ms INTEGER, -- how long an id is remembered; null: forever
          PRIMARY KEY (partition, from_offset)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE refused (
          -- Records that were stored instead of counted, with their bytes.
          partition INTEGER NOT NULL,
          offset INTEGER NOT NULL,
          timestamp_ms INTEGER NOT NULL,
          type TEXT NOT NULL, -- from the header
          reason TEXT NOT NULL, -- 'conflict', 'untrusted', or why it was rejected
          detail TEXT NOT NULL, -- explanation of the reason
          key BLOB,
          headers BLOB NOT NULL, -- for each: name length (4 bytes, little endian), name, value length (-1: null), value
          value BLOB, -- null for a tombstone, and for a record that was too large
          value_sha256 TEXT, -- hex, of a value that was too large to keep
          PRIMARY KEY (partition, offset)
        ) STRICT;

        CREATE TABLE recollections (
          -- Answers of the memory about a record, except that nothing is known. With them, a range
          -- of the log can be folded again without the earlier records.
          partition INTEGER NOT NULL,
          offset INTEGER NOT NULL,
          answers BLOB NOT NULL, -- numbers and texts by the stream: docs/reference/stores.md
          PRIMARY KEY (partition, offset)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE hours (
          -- Offsets of the records of an hour; records of other hours may be among them. The first and the
          -- last record show whether the topic was recreated or its log lost its end.
          partition INTEGER NOT NULL,
          hour TEXT NOT NULL, -- of the record's timestamp, UTC
          first_offset INTEGER NOT NULL,
          last_offset INTEGER NOT NULL,
          records INTEGER NOT NULL,
          first_record TEXT NOT NULL, -- as last_record of partitions
          last_record TEXT NOT NULL,
          PRIMARY KEY (partition, hour)
        ) STRICT, WITHOUT ROWID;
        """

    /// The hours with rows of aggregates.
    private static let slots = """
        CREATE TABLE slots (
          -- Hours of partitions with their numbers, which are the upper half of the row numbers.
          slot INTEGER PRIMARY KEY CHECK (slot < 2147483648),
          partition INTEGER NOT NULL,
          hour TEXT NOT NULL, -- of the record's timestamp, UTC
          UNIQUE (partition, hour)
        ) STRICT;

        """

    /// The memory of streams that remember ids for a window.
    private static let dedupe = """
        CREATE TABLE dedupe (
          -- Recently seen ids. An entry is 24 bytes: the first 16 of the SHA-256 of the id's
          -- tuple, and the timestamp of its first sighting (ms, 8 bytes, little endian).
          partition INTEGER NOT NULL,
          first_offset INTEGER NOT NULL, -- of the batch that began the block
          max_timestamp_ms INTEGER NOT NULL, -- of the block's entries: older blocks are deleted
          entries BLOB NOT NULL,
          PRIMARY KEY (partition, first_offset)
        ) STRICT;
        """

    /// Documents for partners, in streams that have them.
    private static let outbox = """
        CREATE TABLE outbox (
          -- Documents to publish to partners, in order.
          partition INTEGER NOT NULL,
          sequence INTEGER NOT NULL,
          partner TEXT NOT NULL,
          id TEXT NOT NULL, -- of the partner postback, 32 hex digits
          revision INTEGER NOT NULL,
          origin_offset INTEGER NOT NULL, -- of the postback
          ad_network_id TEXT NOT NULL,
          campaign TEXT NOT NULL,
          has_source_identifier INTEGER NOT NULL, -- 1: campaign is a source identifier, 0: it is a campaign id
          app_id INTEGER NOT NULL,
          source_app_id INTEGER NOT NULL,
          document TEXT NOT NULL, -- JSON, without the campaign's names
          PRIMARY KEY (partition, sequence)
        ) STRICT;
        """
}

extension AggregateTable {
    /// An aggregate has two tables: its keys, and its sums under the numbers of an hour's slot and of a key. So a key
    /// is written once and not for every hour, a batch mostly updates short existing rows, and the rows of an hour
    /// are adjacent. The view that joins them has the aggregate's name.
    ///
    /// - Parameter mayLackRecords: whether sums can be unknown, because the store has folded records before.
    func schema(mayLackRecords: Bool = false) -> String {
        let keyLines = keyColumns.map {
            "  \($0.name) \($0.kind.sqlType) NOT NULL," + Self.comment($0.note.schemaText)
        }
        let sums =
            [("number INTEGER PRIMARY KEY", "slot << 32 | key")]
            + measures.map {
                (
                    "\($0) INTEGER\(mayLackRecords ? "" : " NOT NULL")",
                    note(ofMeasure: $0).schemaText
                )
            }
        let sumLines = sums.enumerated().map { index, sum in
            "  \(sum.0)" + (index + 1 < sums.count ? "," : "") + Self.comment(sum.1)
        }
        return """
            CREATE TABLE \(sqlName)_keys (
              -- \(note)
              key INTEGER PRIMARY KEY CHECK (key < 4294967296),
            \(keyLines.joined(separator: "\n"))
              UNIQUE (\(keyNames.joined(separator: ", ")))
            ) STRICT;

            CREATE TABLE \(sqlName)_sums (
            \(sumLines.joined(separator: "\n"))
            ) STRICT;

            \(viewSchema)
            """
    }

    var viewSchema: String {
        let names =
            ["number", "partition"]
            + columns.map { column in
                column.kind == .day
                    ? "substr(hour, 1, instr(hour || 'T', 'T') - 1) AS \(column.name)" : column.name
            }
            + measures
        return """
            CREATE VIEW \(sqlName) AS SELECT \(names.joined(separator: ", "))
            FROM \(sqlName)_sums JOIN slots ON slot = number >> 32
              JOIN \(sqlName)_keys ON key = number & 4294967295;

            """
    }

    private static func comment(_ note: String) -> String {
        note.isEmpty ? "" : " -- \(note)"
    }

    /// The columns of keys: the hour or day belongs to the slot.
    var keyColumns: [Column] { columns.filter { !$0.kind.isTime } }

    var keyNames: [String] { keyColumns.map(\.name) }

    /// Inserts a key unless it exists.
    var insertKeySQL: String {
        """
        INSERT INTO \(sqlName)_keys (\(keyNames.joined(separator: ", ")))
        VALUES (\(Self.placeholders(keyNames.count)))
        ON CONFLICT (\(keyNames.joined(separator: ", "))) DO NOTHING
        """
    }

    /// The number of a key.
    var keySQL: String {
        let conditions = keyNames.map { "\($0) = ?" }
        return "SELECT key FROM \(sqlName)_keys WHERE \(conditions.joined(separator: " AND "))"
    }

    /// Adds to all measures of a row, which may be new: its number, then every measure.
    var firstSumsSQL: String {
        let sums = measures.map { "\($0) = \($0) + excluded.\($0)" }
        return """
            INSERT INTO \(sqlName)_sums (number, \(measures.joined(separator: ", ")))
            VALUES (\(Self.placeholders(1 + measures.count)))
            ON CONFLICT (number) DO UPDATE SET \(sums.joined(separator: ", "))
            """
    }

    /// Adds to some measures, given as bits, of the row with a number: the measures in order, then the number.
    func addSQL(_ changed: UInt64) -> String {
        let sums = measures.enumerated().filter { changed >> UInt64($0.offset) & 1 == 1 }
            .map { "\($0.element) = \($0.element) + ?" }
        return "UPDATE \(sqlName)_sums SET \(sums.joined(separator: ", ")) WHERE number = ?"
    }

    private static func placeholders(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }
}

extension AggregateTable.Note {
    fileprivate var schemaText: String { isInSchema ? text : "" }
}

extension AggregateTable.ColumnKind {
    fileprivate var sqlType: String {
        switch self {
        case .hour, .day, .text: "TEXT"
        case .integer, .boolean: "INTEGER"
        }
    }
}

extension MemoryTable {
    fileprivate var schema: String {
        let key = primaryKey
        // First the primary key: otherwise SQLite 3.40 takes another column for it when it checks the file quickly, and
        // reports a missing value.
        let ordered =
            key.compactMap { name in columns.first { $0.name == name } }
            + columns.filter { !key.contains($0.name) }
        let lines = ordered.map { column in
            let comment = column.note.isEmpty ? "" : " -- \(column.note)"
            return "  \(column.name) \(column.kind.sqlType)"
                + (column.isOptional ? "," : " NOT NULL,") + comment
        }
        return """
            CREATE TABLE \(name) (
              -- \(note)
              partition INTEGER NOT NULL,
            \(lines.joined(separator: "\n"))
              PRIMARY KEY (\(key.joined(separator: ", ")))
            ) STRICT, WITHOUT ROWID;

            \(hasIDs ? IDIndex.schema(of: self) : "")
            """
    }

    /// Rows of ids are in the order of their records, so that new ones are appended. `IDIndex` finds them.
    private var primaryKey: [String] {
        ["partition"] + (hasIDs ? [columns[offsetIndex].name] : []) + [columns[0].name]
    }

    /// The column with the offset of the record that a row is about, in tables of ids.
    var offsetIndex: Int { columns.firstIndex { $0.name == "offset" } ?? 0 }

    /// Deletes the row of an id: its partition, offset and id.
    var deleteSQL: String {
        "DELETE FROM \(name) WHERE partition = ? AND offset = ? AND \(columns[0].name) = ?"
    }

    var insertSQL: String {
        let names = ["partition"] + columns.map(\.name)
        let placeholders = Array(repeating: "?", count: names.count).joined(separator: ", ")
        return
            "INSERT OR REPLACE INTO \(name) (\(names.joined(separator: ", "))) VALUES (\(placeholders))"
    }

    /// The columns after the key. Texts are read as bytes, because GRDB would end them at a NUL.
    var rowSQL: String {
        let names = columns.dropFirst().map {
            $0.kind == .text ? "CAST(\($0.name) AS BLOB)" : $0.name
        }
        return "SELECT \(names.joined(separator: ", ")) FROM \(name) "
            + "WHERE partition = ? AND \(columns[0].name) = ?"
    }

    /// The same for a row of an id, whose offset is known.
    var indexedRowSQL: String { rowSQL + " AND offset = ?" }
}

extension MemoryTable.ColumnKind {
    fileprivate var sqlType: String {
        switch self {
        case .integer: "INTEGER"
        case .text: "TEXT"
        case .bytes: "BLOB"
        case .integerOrBytes: "ANY"
        }
    }
}
