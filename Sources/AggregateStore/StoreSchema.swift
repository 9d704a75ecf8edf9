/// The tables that the stores of all streams have. The comments stay in the file: `.schema` in the
/// sqlite3 shell shows them.
enum StoreSchema {
    /// `PRAGMA application_id` of every store: "Weir".
    static let applicationID: Int32 = 0x5765_6972
    /// `PRAGMA user_version`: one more for every migration.
    static let version = 5
    /// Older ones were never released.
    static let oldestVersion = 5

    static let common = """
        CREATE TABLE store (
          -- One row: what this file is.
          stream TEXT NOT NULL, -- name of the stream
          topic TEXT NOT NULL, -- the topic that is folded
          log_identity TEXT NOT NULL, -- tells the log from others; in an embedded one, the topic from one that was created anew
          partition_count INTEGER NOT NULL -- how many partitions the topic had: with another number keys land elsewhere
        ) STRICT;

        CREATE TABLE partitions (
          -- How far each partition of the topic is folded. All tables of this file are at this point.
          partition INTEGER PRIMARY KEY,
          first_offset INTEGER NOT NULL, -- folding began here: the oldest record there was
          next_offset INTEGER NOT NULL, -- the first record that is not folded yet
          watermark_ms INTEGER NOT NULL, -- largest record timestamp so far, ms since 1970
          records INTEGER NOT NULL, -- records folded
          emit_from INTEGER NOT NULL, -- what comes of records below this offset was emitted by an earlier store
          dead_letters_next INTEGER NOT NULL, -- refused records below this offset are published
          outbox_next INTEGER NOT NULL, -- sequence that the next outbox row gets
          outbox_emitted INTEGER NOT NULL, -- outbox rows below this sequence are published
          last_record TEXT NOT NULL -- of the last folded record: SHA-256 of timestamp, key and value, 32 hex digits; '' when none was
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

        CREATE TABLE outcomes_keys (
          -- What became of every record read.
          row INTEGER PRIMARY KEY,
          partition INTEGER NOT NULL,
          hour TEXT NOT NULL, -- of the record's timestamp, UTC
          topic TEXT NOT NULL,
          type TEXT NOT NULL, -- 'unknown' for a type that the topic does not have
          UNIQUE (partition, hour, topic, type)
        ) STRICT;

        CREATE TABLE outcomes_sums (
          row INTEGER PRIMARY KEY, -- of outcomes_keys
          accepted INTEGER NOT NULL,
          duplicates INTEGER NOT NULL,
          conflicts INTEGER NOT NULL,
          untrusted INTEGER NOT NULL,
          rejected INTEGER NOT NULL
        ) STRICT;

        CREATE VIEW outcomes AS SELECT * FROM outcomes_keys JOIN outcomes_sums USING (row);

        CREATE TABLE refused (
          -- Records that were kept instead of counted, with their bytes.
          partition INTEGER NOT NULL,
          offset INTEGER NOT NULL,
          timestamp_ms INTEGER NOT NULL,
          type TEXT NOT NULL, -- as the header said it
          reason TEXT NOT NULL, -- 'conflict', 'untrusted', or why it was rejected
          detail TEXT NOT NULL, -- words for people
          key BLOB,
          headers BLOB NOT NULL, -- for each: name length (4 bytes, little endian), name, value length (-1: null), value
          value BLOB, -- null for a tombstone, and for a record that was too large
          value_sha256 TEXT, -- hex, of a value that was too large to keep
          PRIMARY KEY (partition, offset)
        ) STRICT;

        CREATE TABLE recollections (
          -- What memory answered about a record, where that was not that nothing is known: with it a
          -- stretch of the log can be folded again without what came before it.
          partition INTEGER NOT NULL,
          offset INTEGER NOT NULL,
          answers BLOB NOT NULL, -- numbers and texts by the stream: docs/stores.md
          PRIMARY KEY (partition, offset)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE hours (
          -- Where the records of an hour lie; those of other hours may lie among them. What the first and
          -- the last of them were tells the log from one whose topic was made anew, or that lost its end.
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

    /// The memory of streams whose ids are remembered for a window.
    static let dedupe = """
        CREATE TABLE dedupe (
          -- Ids that were seen lately. An entry is 24 bytes: the first 16 of the SHA-256 of the id's
          -- tuple, and the timestamp of its first sighting (ms, 8 bytes, little endian).
          partition INTEGER NOT NULL,
          first_offset INTEGER NOT NULL, -- of the batch that began the block
          max_timestamp_ms INTEGER NOT NULL, -- of the block's entries: older blocks are deleted
          entries BLOB NOT NULL,
          PRIMARY KEY (partition, first_offset)
        ) STRICT;

        """
}
