import AggregateStore
import GRDB

extension DeliveryStore {
    /// `PRAGMA application_id` of the file: "WeiD".
    private static let applicationID: Int32 = 0x5765_6944
    /// `PRAGMA user_version`: one more for every migration.
    private static let version = 3

    private static let schema = """
        CREATE TABLE store (
          -- One row: what this file is.
          topic TEXT NOT NULL, -- the topic that is delivered
          log_identity TEXT NOT NULL -- tells the log from others
        ) STRICT;

        CREATE TABLE partitions (
          -- How far each partition of the topic is taken over.
          partition INTEGER PRIMARY KEY,
          next_offset INTEGER NOT NULL -- the first record that is not taken over yet
        ) STRICT;

        CREATE TABLE disabled_partners (
          -- Partners that answered 410, 401 or 403: nothing is sent until their address changes or an operator
          -- retries.
          name TEXT PRIMARY KEY,
          disabled_ms INTEGER NOT NULL,
          url TEXT NOT NULL, -- the address, as the file had it
          \(status) -- what the partner answered
        ) STRICT, WITHOUT ROWID;

        \(resting)

        CREATE TABLE deliveries (
          -- Every document that was taken over, with what became of it.
          number INTEGER PRIMARY KEY, -- in the order in which they were taken over
          id TEXT NOT NULL, -- the document's; of a record that is none, its place
          revision INTEGER NOT NULL,
          partner TEXT NOT NULL, -- '' for a record that is no document
          partition INTEGER NOT NULL,
          offset INTEGER NOT NULL,
          state TEXT NOT NULL, -- pending, delivered, dead, held, superseded
          reason TEXT NOT NULL, -- why it is dead or held; '' otherwise
          attempts INTEGER NOT NULL, -- since it was taken over or retried by hand
          created_ms INTEGER NOT NULL, -- when it was taken over
          next_attempt_ms INTEGER, -- null unless pending
          changed_ms INTEGER NOT NULL, -- when its state last changed
          document BLOB NOT NULL, -- as it is in the topic
          UNIQUE (id, revision)
        ) STRICT;

        CREATE INDEX deliveries_due ON deliveries (partner, next_attempt_ms, number)
          WHERE state = 'pending';
        CREATE INDEX deliveries_by_state ON deliveries (state, partner, changed_ms);

        CREATE TABLE attempts (
          -- Every request that was sent.
          delivery INTEGER NOT NULL, -- deliveries.number
          number INTEGER NOT NULL, -- from 1
          started_ms INTEGER NOT NULL,
          duration_ms INTEGER NOT NULL,
          status INTEGER, -- null without an answer
          fault TEXT, -- why there was none
          PRIMARY KEY (delivery, number)
        ) STRICT, WITHOUT ROWID;
        """

    private static let status = "status INTEGER NOT NULL DEFAULT 410"

    private static let resting = """
        CREATE TABLE resting_partners (
          -- Partners to which nothing is sent for a time: they ask for a pause, or cannot be reached.
          name TEXT PRIMARY KEY,
          cause TEXT NOT NULL, -- asked, away
          pause_ms INTEGER NOT NULL, -- how long the pause is
          until_ms INTEGER NOT NULL, -- then one request is sent
          url TEXT NOT NULL -- the address, as the file had it
        ) STRICT, WITHOUT ROWID;
        """

    /// Says whether the file has its tables, of this version when it returns; throws when it is another's.
    static func isMade(_ db: Database, path: String) throws -> Bool {
        let application = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        if application == 0, version == 0,
            try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") == 0
        {
            return false
        }
        guard application == applicationID else {
            throw StoreError.notAStore(path: path, detail: "it is no store of deliveries")
        }
        guard version <= Self.version else {
            throw StoreError.newerVersion(path: path, found: version, known: Self.version)
        }
        if version < Self.version { try migrate(db) }
        return true
    }

    /// Adds what earlier versions did not have.
    private static func migrate(_ db: Database) throws {
        try db.inTransaction(.immediate) {
            // Another process may have been faster.
            let found = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? version
            if found < 2 { try db.execute(sql: resting) }
            if found < 3 {
                try db.execute(sql: "ALTER TABLE disabled_partners ADD COLUMN \(status)")
                try db.execute(sql: "PRAGMA user_version = \(version)")
            }
            return .commit
        }
    }

    /// Makes the tables.
    static func make(_ db: Database, topic: String, logIdentity: String) throws {
        try db.inTransaction(.immediate) {
            try db.execute(sql: schema)
            try db.execute(
                sql: "INSERT INTO store VALUES (?, ?)", arguments: [topic, logIdentity])
            try db.execute(
                sql: """
                    PRAGMA application_id = \(applicationID);
                    PRAGMA user_version = \(version)
                    """)
            return .commit
        }
    }
}
