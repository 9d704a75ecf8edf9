import GRDB
import Streams

/// A partition in a store as a snapshot has it.
package struct PartitionCopy {
    package let manifest: SnapshotManifest
    let rows: RestoredPartition

    /// The snapshot, if keys have the same numbers in the store: then the next one may have the same files.
    package var sharedManifest: SnapshotManifest? { rows.hasSameKeys ? manifest : nil }
}

/// A partition while it is restored from the segments of a snapshot.
struct RestoredPartition {
    let partition: Int32
    private let tables: SegmentTables
    private let idTables: [MemoryTable]
    /// By aggregate's table of keys, the store's numbers of the snapshot's keys; nil while both are the same.
    private var keys: [String: [Int64: Int64]] = [:]
    /// Whether the store has the snapshot's keys under the same numbers, and no others between them.
    private(set) var hasSameKeys = true

    init(_ partition: Int32, _ tables: SegmentTables, _ fold: any StreamFold.Type) {
        self.partition = partition
        self.tables = tables
        idTables = fold.memoryTables.filter(\.hasIDs)
    }

    private func map(_ keys: String) -> String { "temp.snapshot_\(partition)_\(keys)" }

    /// Makes the tables of the numbers of keys.
    func begin(_ db: Database) throws {
        for (_, keys) in tables.sums {
            try db.execute(
                sql: """
                    DROP TABLE IF EXISTS \(map(keys));
                    CREATE TABLE \(map(keys)) (
                      old INTEGER PRIMARY KEY, key INTEGER NOT NULL
                    )
                    """)
        }
    }

    /// Deletes these tables.
    func end(_ db: Database) throws {
        for (_, keys) in tables.sums {
            try db.execute(sql: "DROP TABLE IF EXISTS \(map(keys))")
        }
    }

    /// Whether keys that were added have the same numbers in the attached segment, which has those of a range.
    func hasKeysOfSegment(_ db: Database, in range: SegmentRange) throws -> Bool {
        let present = try String.fetchAll(
            db, sql: "SELECT name FROM segment.sqlite_schema WHERE type = 'table'")
        for (_, table) in tables.sums {
            let names = try columns(of: table, db).filter { $0 != "key" }
            let added = names.map { "added.\($0)" }.joined(separator: ", ")
            let found = names.map { "found.\($0)" }.joined(separator: ", ")
            let others =
                present.contains(table)
                ? """
                LEFT JOIN main.\(table) added ON added.key = map.key
                LEFT JOIN segment.\(table) found ON found.key = old
                WHERE (found.key IS NULL OR (\(added)) IS NOT (\(found))) AND
                """ : "WHERE"
            let isOther = try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (
                      SELECT 1 FROM \(map(table)) map \(others) old >= ? AND old < ?)
                    """, arguments: [range.first, range.end])
            guard isOther == false else { return false }
        }
        return true
    }

    /// Adds the rows of the attached segment.
    mutating func add(_ db: Database, ids: StoredIDs?) throws {
        let present = try String.fetchAll(
            db, sql: "SELECT name FROM segment.sqlite_schema WHERE type = 'table'")
        let keys = tables.sums.map(\.keys).filter(present.contains)
        for table in keys { try add(keysOf: table, db) }
        if present.contains("slots") { try addDay(present, db) }
        let own: Set = ["slots", "store", "contributions"]
        let others = present.filter {
            !own.contains($0) && !$0.hasSuffix("_sums") && !keys.contains($0)
        }
        for table in others {
            let columns = try columns(of: table, db).joined(separator: ", ")
            try db.execute(
                sql:
                    "INSERT INTO main.\(table) (\(columns)) SELECT \(columns) FROM segment.\(table)"
            )
        }
        guard let ids else { return }
        for table in idTables where present.contains(table.name) {
            try add(idsOf: table, to: ids, db)
        }
    }

    private func columns(of table: String, _ db: Database) throws -> [String] {
        try StoreSchema.columns(of: table, in: db)
    }

    private mutating func add(keysOf table: String, _ db: Database) throws {
        let names = try columns(of: table, db).filter { $0 != "key" }
        let list = names.joined(separator: ", ")
        try db.execute(
            sql: """
                INSERT INTO main.\(table) (\(list))
                  SELECT \(list) FROM segment.\(table) WHERE true ORDER BY key
                  ON CONFLICT DO NOTHING;
                INSERT OR IGNORE INTO \(map(table))
                  SELECT segment.\(table).key, main.\(table).key
                  FROM segment.\(table) CROSS JOIN main.\(table) USING (\(list))
                """)
        let isSame = try Bool.fetchOne(
            db,
            sql: """
                SELECT NOT EXISTS (SELECT 1 FROM \(map(table)) WHERE old <> key)
                  AND (SELECT count(*) FROM segment.\(table)) = (
                    SELECT count(*) FROM main.\(table)
                    WHERE key BETWEEN (SELECT min(key) FROM segment.\(table))
                      AND (SELECT max(key) FROM segment.\(table)))
                """)
        if isSame != true { hasSameKeys = false }
        let isIdentity =
            try !isMapped(table)
            && Bool.fetchOne(
                db, sql: "SELECT NOT EXISTS (SELECT 1 FROM \(map(table)) WHERE old <> key)"
            ) == true
        guard !isIdentity else { return }
        keys[table] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT old, key FROM \(map(table))") {
            keys[table]?[row[0]] = row[1]
        }
    }

    private func isMapped(_ table: String) -> Bool { keys[table] != nil }

    private func addDay(_ present: [String], _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.slots (partition, hour)
                  SELECT partition, hour FROM segment.slots WHERE true ORDER BY slot
                  ON CONFLICT DO NOTHING
                """)
        let slots = try Row.fetchAll(
            db,
            sql: """
                SELECT segment.slots.slot, main.slots.slot
                FROM segment.slots JOIN main.slots USING (partition, hour)
                """
        ).map { (old: $0[0] as Int64, new: $0[1] as Int64) }
        for (sums, keys) in tables.sums where present.contains(sums) {
            try add(sumsOf: sums, keys, slots, db)
        }
        if present.contains(StoreSchema.contributions) { try addContributions(slots, db) }
    }

    private func add(
        sumsOf table: String, _ keys: String, _ slots: [(old: Int64, new: Int64)], _ db: Database
    ) throws {
        let measures = try columns(of: table, db).filter { $0 != "number" }
        let list = measures.joined(separator: ", ")
        let mask = RowNumbers.number(slot: 1, key: 0) - 1
        let statement = try db.makeStatement(
            sql: isMapped(keys)
                ? """
                INSERT INTO main.\(table) (number, \(list))
                SELECT ?1 | map.key, \(measures.map { "sums.\($0)" }.joined(separator: ", "))
                FROM segment.\(table) sums CROSS JOIN \(map(keys)) map ON old = number & \(mask)
                WHERE number >= ?2 AND number < ?3 ORDER BY 1
                """
                : """
                INSERT INTO main.\(table) (number, \(list))
                SELECT ?1 | (number & \(mask)), \(list) FROM segment.\(table)
                WHERE number >= ?2 AND number < ?3 ORDER BY number
                """)
        var count = 0
        for (old, new) in slots {
            try statement.execute(arguments: [
                RowNumbers.number(slot: new, key: 0), RowNumbers.number(slot: old, key: 0),
                RowNumbers.number(slot: old + 1, key: 0),
            ])
            count += db.changesCount
        }
        // A row without its slot or its key would be left out.
        guard try count == Int.fetchOne(db, sql: "SELECT count(*) FROM segment.\(table)") else {
            throw SnapshotFault("rows of \(table) have keys that it does not contain")
        }
    }

    private func addContributions(
        _ slots: [(old: Int64, new: Int64)], _ db: Database
    ) throws {
        let newSlots = Dictionary(slots.map { ($0.old, $0.new) }, uniquingKeysWith: { $1 })
        let keysOf = Dictionary(
            tables.aggregateKeys.map { ($0.name, $0.keys) }, uniquingKeysWith: { $1 })
        let insertion = StatementRow(
            try db.makeStatement(
                sql: "INSERT INTO main.contributions VALUES (?, ?, ?, ?, ?, ?, ?)"))
        let blocks = StatementRow(
            try db.makeStatement(sql: "SELECT * FROM segment.contributions"))
        blocks.begin()
        while try blocks.next() {
            let aggregate = blocks.text(1)
            insertion.begin()
            insertion.bind(newSlots[blocks.integer(0)] ?? 0)
            insertion.bind(aggregate)
            for column in 2...5 { insertion.bind(blocks.integer(column)) }
            if let map = keysOf[aggregate].flatMap({ keys[$0] }) {
                guard
                    let groups = ContributionGroups(blocks.bytes(6))?.mapping({ map[$0] })
                else { throw SnapshotFault("contributions of \(aggregate) are damaged") }
                insertion.bind(copyOf: groups.encoded())
            } else {
                insertion.bind(copyOf: blocks.bytes(6))
            }
            try insertion.step()
        }
    }

    private func add(idsOf table: MemoryTable, to ids: StoredIDs, _ db: Database) throws {
        let rows = StatementRow(
            try db.makeStatement(
                sql: "SELECT \(table.columns[0].name), offset FROM segment.\(table.name)"))
        rows.begin()
        while try rows.next() {
            let (id, offset) = (rows.withBlob(0) { RecordID($0) }, rows.integer(1))
            let isKnown =
                ids.mayContain(id, partition: partition)
                ? try ids.offset(of: id, partition: partition, db) != nil : false
            ids.add(id, partition: partition, offset: offset, isNew: !isKnown)
        }
        try ids.write(db)
    }
}

/// The partitions that are being replaced by a snapshot: they have rows and no state.
///
/// The table exists only for that time, so that a lost table of states is damage in all other stores. It keeps what the
/// store has published of a partition, which is not published again after the replacement.
enum RestoredPartitions {
    private static let table = "restored_partitions"

    private static func exists(_ db: Database) throws -> Bool {
        // Not `tableExists`, which remembers tables that other connections have dropped.
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?)",
            arguments: [table]) ?? false
    }

    static func contains(_ partition: Int32, _ db: Database) throws -> Bool {
        guard try exists(db) else { return false }
        return try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM \(table) WHERE partition = ?)",
            arguments: [partition]) ?? false
    }

    /// The condition of SQL under which a partition counts.
    static func exclusion(_ db: Database) throws -> String {
        try exists(db) ? "partition NOT IN (SELECT partition FROM \(table))" : "true"
    }

    /// Begins the replacement of a partition: deletes its state.
    static func begin(_ partition: Int32, _ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS \(table) (
                  partition INTEGER PRIMARY KEY,
                  published_documents INTEGER NOT NULL, -- all below this offset are published
                  published_dead_letters INTEGER NOT NULL
                ) STRICT
                """)
        let state = try StoreReader.partitionStates(db).first { $0.partition == partition }
        let published = try state.map { try StoreSnapshot.publishedOffsets(of: $0, db) }
        try db.execute(
            sql: "INSERT OR IGNORE INTO \(table) VALUES (?, ?, ?)",
            arguments: [partition, published?.outbox ?? 0, published?.deadLetters ?? 0])
        for table in ["partitions", "epochs"] {
            try db.execute(
                sql: "DELETE FROM \(table) WHERE partition = ?", arguments: [partition])
        }
    }

    /// Ends it, in the transaction that has stored the new state.
    ///
    /// - Returns: what of the partition was published before; nil if it was not replaced.
    static func end(
        _ partition: Int32, _ db: Database
    ) throws -> (outbox: Int64, deadLetters: Int64)? {
        guard try exists(db) else { return nil }
        let row = try Row.fetchOne(
            db, sql: "SELECT * FROM \(table) WHERE partition = ?", arguments: [partition])
        try db.execute(sql: "DELETE FROM \(table) WHERE partition = ?", arguments: [partition])
        let isEmpty = try Bool.fetchOne(db, sql: "SELECT NOT EXISTS (SELECT 1 FROM \(table))")
        if isEmpty == true { try db.execute(sql: "DROP TABLE \(table)") }
        return row.map { ($0["published_documents"], $0["published_dead_letters"]) }
    }
}
