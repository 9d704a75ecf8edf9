import GRDB

/// The format of an embedded log: one SQLite file that a person can read with `sqlite3 -readonly`.
/// Other programs must not write it, nor open it in a way that checkpoints: they lack the write lock.
enum EmbeddedSchema {
    /// Marks the file as an embedded log: `WELG` in ASCII, as `PRAGMA application_id`.
    static let applicationID: Int64 = 0x5745_4C47
    /// The format that this code reads and writes, as `PRAGMA user_version`.
    static let version = 2
    /// From this format on records have checksums; those that were appended before have none.
    static let versionWithChecksums = 2

    /// A record's row number is its partition's `ref` shifted by this, plus its offset.
    static let offsetBits: Int64 = 40
    /// Offsets lie below this.
    static let offsetLimit: Int64 = 1 << offsetBits
    /// Values of `ref` lie below this, so that row numbers stay positive.
    static let refLimit: Int64 = 1 << (63 - offsetBits)
    /// The time index has a row for each range of 2 to the power of this many offsets.
    static let blockBits: Int64 = 12

    /// What an SQLite file turned out to be.
    enum Finding {
        case log
        case empty
    }

    /// Looks whether the file is a log. Throws `notALog` or `newerVersion`.
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
            throw LogError.newerVersion(address: address, found: found, known: version)
        }
        return .log
    }

    /// Makes an empty file a log. An interrupted creation leaves an empty file.
    static func create(_ db: Database) throws {
        try db.execute(sql: "PRAGMA journal_mode = WAL")
        try db.inTransaction(.immediate) {
            try db.execute(sql: tables)
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
            try db.execute(sql: "PRAGMA user_version = \(version)")
            return .commit
        }
    }

    /// Brings a log of an older format to this one. A copy that was made by `weir backup` gets its
    /// write-ahead log again.
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

    /// Whether records may have checksums. A log that nobody has written to since the format changed has
    /// no column for them.
    static func hasChecksums(_ db: Database) throws -> Bool {
        try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0 >= versionWithChecksums
    }

    private static let checksumColumn = "checksum INTEGER"

    /// The columns of a record, with NULL in the place of a checksum where the log has none.
    static func recordColumns(hasChecksums: Bool) -> String {
        "position, timestamp_ms, key, headers, value, \(hasChecksums ? "checksum" : "NULL")"
    }

    /// The first row number of a partition's records from this offset on.
    static func position(ref: Int64, offset: Int64) -> Int64 {
        ref << offsetBits | min(max(offset, 0), offsetLimit - 1)
    }

    /// Whether a topic is a copy of one of another log: its identity is that one's, and so are its
    /// offsets. A log without any archive has no such table.
    static func isArchive(_ db: Database, topic: String) throws -> Bool {
        let hasTable = try db.cachedStatement(
            sql: "SELECT 1 FROM sqlite_schema WHERE name = 'archives'")
        guard try Row.fetchOne(hasTable) != nil else { return false }
        let found = try db.cachedStatement(
            sql: "SELECT 1 FROM archives JOIN topics USING (name, identity) WHERE name = ?")
        return try Row.fetchOne(found, arguments: [topic]) != nil
    }

    /// Made with the first archive.
    static let archivesTable = """
        CREATE TABLE IF NOT EXISTS archives ( -- topics that were copied from another log
            name TEXT NOT NULL,               -- topics.name
            identity TEXT NOT NULL,           -- topics.identity, which is that of the other log
            PRIMARY KEY (name, identity)
        ) WITHOUT ROWID
        """

    private static let tables = """
        CREATE TABLE topics (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            identity TEXT NOT NULL,       -- random: tells it from a deleted topic of the same name
            created_ms INTEGER NOT NULL   -- milliseconds since 1970 (UTC)
        );
        CREATE TABLE partitions (
            ref INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
            topic_id INTEGER,                      -- NULL: the topic was deleted, records may remain
            partition INTEGER NOT NULL,            -- from 0
            earliest_offset INTEGER NOT NULL,      -- records below were trimmed away
            end_offset INTEGER NOT NULL,           -- the offset that the next record gets
            UNIQUE (topic_id, partition)
        );
        CREATE TABLE records (
            position INTEGER PRIMARY KEY, -- partitions.ref << 40 | offset
            timestamp_ms INTEGER NOT NULL,
            \(checksumColumn),             -- over the offset and all that follows; NULL: of before there were any
            key BLOB,                     -- NULL: none
            headers BLOB,                 -- NULL: none; else for each: length of the name (4 bytes,
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
            next_offset INTEGER NOT NULL, -- everything below was dealt with
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
