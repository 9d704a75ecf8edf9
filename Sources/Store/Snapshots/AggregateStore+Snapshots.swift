import GRDB
import Streams

extension AggregateStore {
    /// Continues a partition from a snapshot: replaces its rows, if there are any, by those of the snapshot.
    ///
    /// The partition has no state until all rows are stored, so readers ignore it. A crash leaves rows without a state,
    /// which `clear` deletes: `RestoredPartitions` lists the partition.
    ///
    /// - Parameter directory: of the partition's snapshots. The files of this one were verified.
    /// - Throws: `SnapshotFault` for a snapshot of another log or version; `StoreError`.
    /// - Returns: whether keys have the same numbers in the store, so that the next snapshot may have the same files.
    package func restore(
        _ manifest: SnapshotManifest, in directory: SnapshotDirectory
    ) throws -> Bool {
        guard let fold = Streams.stream(named: stream) else { return false }
        try require(manifest)
        let tables = SegmentTables(fold)
        for file in manifest.files {
            try withSegment(file, in: directory) {
                try queue.inDatabase { try tables.requireColumnsOfSegment($0) }
            }
        }
        try clear(partition: manifest.partition)
        var restored = RestoredPartition(manifest.partition, tables, fold)
        // Readers see the partition with the last transaction, which makes all others durable too.
        try setSynchronous("NORMAL")
        defer { try? setSynchronous("FULL") }
        try commit { db in
            try RestoredPartitions.add(manifest.partition, db)
            try restored.begin(db)
        }
        for file in manifest.files where file.segment != Segment.state.name {
            try restore(file, in: directory, &restored)
        }
        try setSynchronous("FULL")
        for file in manifest.files where file.segment == Segment.state.name {
            try restore(file, in: directory, &restored)
        }
        return restored.hasSameKeys
    }

    private func setSynchronous(_ mode: String) throws(StoreError) {
        try StoreError.naming("write", path) {
            try queue.inDatabase { try $0.execute(sql: "PRAGMA synchronous = \(mode)") }
        }
    }

    private func restore(
        _ file: SnapshotManifest.File, in directory: SnapshotDirectory,
        _ restored: inout RestoredPartition
    ) throws {
        var partition = restored
        try withSegment(file, in: directory) {
            try commit { db in
                try partition.add(db, ids: self.ids)
                if file.segment == Segment.state.name {
                    try RestoredPartitions.remove(partition.partition, db)
                }
            }
        }
        restored = partition
    }

    /// Runs `body` while a segment is attached as `segment`.
    private func withSegment(
        _ file: SnapshotManifest.File, in directory: SnapshotDirectory,
        _ body: () throws -> Void
    ) throws {
        try awaitCommit()
        let path = "\(directory.path)/\(file.name)"
        try StoreError.naming("read", path) {
            try queue.inDatabase { try $0.execute(sql: "ATTACH ? AS segment", arguments: [path]) }
        }
        defer { try? queue.inDatabase { try $0.execute(sql: "DETACH segment") } }
        try body()
    }

    private func require(_ manifest: SnapshotManifest) throws {
        let origin = try origin()
        guard manifest.stream == stream, manifest.topic == origin.topic else {
            throw SnapshotFault("it is of topic \(manifest.topic) and stream \(manifest.stream)")
        }
        guard manifest.logIdentity == origin.logIdentity else {
            throw SnapshotFault("it is of another log, or its topic was recreated")
        }
        guard manifest.partitionCount == origin.partitionCount else {
            throw SnapshotFault(
                "its topic had \(manifest.partitionCount) partitions, and now has \(origin.partitionCount)"
            )
        }
        let schema = try read { try Int.fetchOne($0, sql: "PRAGMA user_version") ?? 0 }
        guard manifest.schema == schema else {
            throw SnapshotFault(
                "it is of a store with schema \(manifest.schema), and \(path) has schema \(schema)")
        }
    }

    /// Deletes a partition with all its rows. Without any, it writes nothing.
    package func clear(partition: Int32) throws(StoreError) {
        guard let fold = Streams.stream(named: stream) else { return }
        let tables = SegmentTables(fold)
        let present = try read { db in
            try tables.byPartition(db).filter { table in
                try Bool.fetchOne(
                    db, sql: "SELECT EXISTS (SELECT 1 FROM \(table) WHERE partition = ?)",
                    arguments: [partition]) ?? false
            }
        }
        let isMarked = try read { try RestoredPartitions.contains(partition, $0) }
        guard !present.isEmpty || isMarked else { return }
        // Without a state, its other rows no longer count.
        try commit { db in
            try RestoredPartitions.add(partition, db)
            try db.execute(
                sql: "DELETE FROM partitions WHERE partition = ?", arguments: [partition])
        }
        for (sums, _) in tables.sums {
            try commit { db in
                let slots = try Int64.fetchAll(
                    db, sql: "SELECT slot FROM slots WHERE partition = ?", arguments: [partition])
                for slot in slots {
                    try db.execute(
                        sql: "DELETE FROM \(sums) WHERE number >= ? AND number < ?",
                        arguments: [
                            RowNumbers.number(slot: slot, key: 0),
                            RowNumbers.number(slot: slot + 1, key: 0),
                        ])
                }
            }
        }
        for table in present {
            try commit {
                try $0.execute(
                    sql: "DELETE FROM \(table) WHERE partition = ?", arguments: [partition])
            }
        }
        try commit { try RestoredPartitions.remove(partition, $0) }
        forgetRowNumbers()
    }
}

/// The partitions that are being replaced by a snapshot: they have rows and no state.
///
/// The table exists only for that time, so that a lost table of states is damage in all other stores.
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

    static func add(_ partition: Int32, _ db: Database) throws {
        try db.execute(
            sql: "CREATE TABLE IF NOT EXISTS \(table) (partition INTEGER PRIMARY KEY) STRICT")
        try db.execute(sql: "INSERT OR IGNORE INTO \(table) VALUES (?)", arguments: [partition])
    }

    static func remove(_ partition: Int32, _ db: Database) throws {
        guard try exists(db) else { return }
        try db.execute(sql: "DELETE FROM \(table) WHERE partition = ?", arguments: [partition])
        let isEmpty = try Bool.fetchOne(db, sql: "SELECT NOT EXISTS (SELECT 1 FROM \(table))")
        if isEmpty == true { try db.execute(sql: "DROP TABLE \(table)") }
    }
}

/// A partition while it is restored from the segments of a snapshot.
private struct RestoredPartition {
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

    private static func map(_ keys: String) -> String { "temp.snapshot_\(keys)" }

    /// Makes the tables of the numbers of keys.
    func begin(_ db: Database) throws {
        for (_, keys) in tables.sums {
            try db.execute(
                sql: """
                    DROP TABLE IF EXISTS \(Self.map(keys));
                    CREATE TABLE \(Self.map(keys)) (
                      old INTEGER PRIMARY KEY, key INTEGER NOT NULL
                    )
                    """)
        }
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
                INSERT INTO \(Self.map(table))
                  SELECT segment.\(table).key, main.\(table).key
                  FROM segment.\(table) CROSS JOIN main.\(table) USING (\(list))
                """)
        let isSame = try Bool.fetchOne(
            db,
            sql: """
                SELECT NOT EXISTS (SELECT 1 FROM \(Self.map(table)) WHERE old <> key)
                  AND (SELECT count(*) FROM segment.\(table)) = (
                    SELECT count(*) FROM main.\(table)
                    WHERE key BETWEEN (SELECT min(key) FROM segment.\(table))
                      AND (SELECT max(key) FROM segment.\(table)))
                """)
        if isSame != true { hasSameKeys = false }
        let isIdentity =
            try !isMapped(table)
            && Bool.fetchOne(
                db, sql: "SELECT NOT EXISTS (SELECT 1 FROM \(Self.map(table)) WHERE old <> key)"
            ) == true
        guard !isIdentity else { return }
        keys[table] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT old, key FROM \(Self.map(table))") {
            keys[table]?[row[0]] = row[1]
        }
    }

    private func isMapped(_ table: String) -> Bool { keys[table] != nil }

    private func addDay(_ present: [String], _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.slots (partition, hour)
                  SELECT partition, hour FROM segment.slots WHERE true ORDER BY slot
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
                FROM segment.\(table) sums CROSS JOIN \(Self.map(keys)) map ON old = number & \(mask)
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
