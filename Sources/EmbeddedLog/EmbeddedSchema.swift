import EventLog
import GRDB

/// The format of an embedded log: one SQLite file, readable with `sqlite3 -readonly`. Other programs must not write
/// it, or open it in a way that checkpoints, because they do not acquire the write lock.
enum EmbeddedSchema {
    /// Marks the file as an embedded log: `WELG` in ASCII, as `PRAGMA application_id`.
    static let applicationID: Int64 = 0x5745_4C47
    /// The format that this code reads and writes, as `PRAGMA user_version`.
    static let version = 2
    /// From this format on records have checksums.
    static let versionWithChecksums = 2

    /// The row number of a record is the `ref` of its partition, shifted left by this, plus its offset.
    static let offsetBits: Int64 = 40
    /// Offsets are below this.
    static let offsetLimit: Int64 = 1 << offsetBits
    /// Values of `ref` are below this, so that row numbers stay positive.
    static let refLimit: Int64 = 1 << (63 - offsetBits)
    /// The time index has a row for each range of 2^`blockBits` offsets.
    static let blockBits: Int64 = 12

    enum Finding {
        case log
        case empty
    }

    /// Throws `notALog` or `newerVersion`.
    static func inspect(_ db: Database, address: String) throws -> Finding {
        let applicationID = try Int64.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        guard applicationID == Self.applicationID else {
            let tableCount = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
            guard applicationID == 0, tableCount == 0 else {
                throw LogError.notALog(address: address, detail: "another program's database")
            }
            return .empty
        }
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard found <= version else {
            throw LogError.newerVersion(address: address, found: found, supported: version)
        }
        return .log
    }

    /// Creates the tables. An interrupted creation leaves an empty file.
    static func create(_ db: Database) throws {
        try db.execute(sql: "PRAGMA journal_mode = WAL")
        try db.inTransaction(.immediate) {
            try db.execute(sql: tables)
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
            try db.execute(sql: "PRAGMA user_version = \(version)")
            return .commit
        }
    }

    /// Migrates a log of an older format. Restores the write-ahead log of a copy made by `weir backup`.
    static func bringUp(_ db: Database) throws {
        if try String.fetchOne(db, sql: "PRAGMA journal_mode") != "wal" {
            try db.execute(sql: "PRAGMA journal_mode = WAL")
        }
        guard try !hasChecksums(db) else { return }
        try db.inTransaction(.immediate) {
            try db.execute(sql: "ALTER TABLE records ADD COLUMN \(checksumColumn)")
            try db.execute(sql: "PRAGMA user_version = \(version)")
            return .commit
        }
    }

    /// Whether records may have checksums. A log without a write since the change of format has no column for them.
    static func hasChecksums(_ db: Database) throws -> Bool {
        try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0 >= versionWithChecksums
    }

    private static let checksumColumn = "checksum INTEGER"

    /// The row number of an offset, clamped to the range of offsets.
    static func position(ref: Int64, offset: Int64) -> Int64 {
        ref << offsetBits | min(max(offset, 0), offsetLimit - 1)
    }

    /// Whether a topic is a copy from another log, with that log's identity and offsets. The first archive creates
    /// the table.
    static func isArchive(_ db: Database, topic: String) throws -> Bool {
        let hasTable = try db.cachedStatement(
            sql: "SELECT 1 FROM sqlite_schema WHERE name = 'archives'")
        guard try Row.fetchOne(hasTable) != nil else { return false }
        let found = try db.cachedStatement(
            sql: "SELECT 1 FROM archives JOIN topics USING (name, identity) WHERE name = ?")
        return try Row.fetchOne(found, arguments: [topic]) != nil
    }

    /// Created with the first archive.
    static let archivesTable = """
        CREATE TABLE IF NOT EXISTS archives ( -- topics that were copied from another log
            name TEXT NOT NULL,               -- topics.name
            identity TEXT NOT NULL,           -- topics.identity of the other log
            PRIMARY KEY (name, identity)
        ) WITHOUT ROWID
        """

    private static let tables = """
        CREATE TABLE topics (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            identity TEXT NOT NULL,       -- random; differs from a deleted topic of the same name
            created_ms INTEGER NOT NULL   -- milliseconds since 1970 (UTC)
        );
        CREATE TABLE partitions (
            ref INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused
            topic_id INTEGER,                      -- NULL: the topic was deleted, records may remain
            partition INTEGER NOT NULL,            -- from 0
            earliest_offset INTEGER NOT NULL,      -- records below were trimmed
            end_offset INTEGER NOT NULL,           -- the offset that the next record gets
            UNIQUE (topic_id, partition)
        );
        CREATE TABLE records (
            position INTEGER PRIMARY KEY, -- partitions.ref << 40 | offset
            timestamp_ms INTEGER NOT NULL,
            \(checksumColumn),             -- of the offset and all following columns; NULL: written without checksums
            key BLOB,                     -- NULL: none
            headers BLOB,                 -- NULL: none; otherwise for each: length of the name (4 bytes,
                                          -- little endian), name, length of the value (4 bytes,
                                          -- little endian, -1: null), value
            value BLOB                    -- NULL: a tombstone
        );
        CREATE TABLE times (              -- sparse index by time
            ref INTEGER NOT NULL,         -- partitions.ref
            block INTEGER NOT NULL,       -- offset / 4096
            latest_ms INTEGER NOT NULL,   -- the largest timestamp_ms in the block
            PRIMARY KEY (ref, block)
        ) WITHOUT ROWID;
        CREATE TABLE group_offsets (
            consumer_group TEXT NOT NULL,
            ref INTEGER NOT NULL,         -- partitions.ref
            next_offset INTEGER NOT NULL, -- all records below are processed
            PRIMARY KEY (consumer_group, ref)
        ) WITHOUT ROWID;
        CREATE VIEW log AS                -- for people, who open the file with sqlite3 -readonly:
                                          -- SELECT * FROM log WHERE topic = 'bids' LIMIT 9
            SELECT
                topics.name AS topic,
                partitions.partition AS partition,
                records.position & 0xffffffffff AS offset,
                strftime('%Y-%m-%dT%H:%M:%fZ', timestamp_ms / 1000.0, 'unixepoch') AS time,
                CAST(key AS TEXT) AS key,
                CAST(value AS TEXT) AS value
            FROM topics
            JOIN partitions ON partitions.topic_id = topics.id
            JOIN records ON records.position >= partitions.ref << 40
                AND records.position < (partitions.ref + 1) << 40;
        """
}

struct EmbeddedPartition {
    /// The high bits of the row numbers of its records.
    var ref: Int64
    var partition: Int32
    /// Records below this offset were trimmed.
    var earliestOffset: Int64
    /// The offset of the next record.
    var endOffset: Int64

    private init(_ row: Row) {
        ref = row["ref"]
        partition = row["partition"]
        earliestOffset = row["earliest_offset"]
        endOffset = row["end_offset"]
    }

    /// In order of number; empty if the topic does not exist.
    static func all(_ db: Database, topic: String) throws -> [EmbeddedPartition] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT ref, partition, earliest_offset, end_offset
                FROM topics JOIN partitions ON topic_id = id WHERE name = ? ORDER BY partition
                """
        )
        return try Row.fetchAll(statement, arguments: [topic]).map(EmbeddedPartition.init)
    }

    /// Throws `unknownTopic` or `unknownPartition`.
    static func find(
        _ db: Database,
        topic: String,
        partition: Int32,
        address: String
    ) throws -> EmbeddedPartition {
        let partitions = try all(db, topic: topic)
        guard !partitions.isEmpty else { throw LogError.unknownTopic(topic, address: address) }
        guard let found = partitions.first(where: { $0.partition == partition }) else {
            throw LogError.unknownPartition(
                TopicPartition(topic: topic, partition: partition),
                partitionCount: Int32(partitions.count)
            )
        }
        return found
    }

    /// A partition of a deleted topic; nil if none is left.
    static func deleted(_ db: Database) throws -> EmbeddedPartition? {
        try Row.fetchOne(db, sql: "SELECT * FROM partitions WHERE topic_id IS NULL LIMIT 1")
            .map(EmbeddedPartition.init)
    }
}
