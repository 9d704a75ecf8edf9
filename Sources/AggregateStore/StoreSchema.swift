/// The tables that the stores of all streams have. The comments stay in the file: `.schema` in the
/// sqlite3 shell shows them.
enum StoreSchema {
    /// `PRAGMA application_id` of every store: "Weir".
    static let applicationID: Int32 = 0x5765_6972
    /// `PRAGMA user_version`: one more for every migration.
    static let version = 2
    /// Older ones were never released.
    static let oldestVersion = 2

    static let common = """
        CREATE TABLE store (
          -- One row: what this file is.
          stream TEXT NOT NULL, -- name of the stream
          topic TEXT NOT NULL, -- the topic that is folded
          log_identity TEXT NOT NULL -- tells the topic from one that was created anew under its name
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
          outbox_emitted INTEGER NOT NULL -- outbox rows below this sequence are published
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

        """

    static let bids =
        common + """
            CREATE TABLE bids_keys (
              -- Bids, notices and in-app offers by seat and campaign; one row an hour for auctions.
              row INTEGER PRIMARY KEY,
              partition INTEGER NOT NULL,
              hour TEXT NOT NULL, -- of the record's timestamp, UTC
              seat TEXT NOT NULL, -- or the in-app bidder's adapter
              ad_network_id TEXT NOT NULL,
              campaign TEXT NOT NULL, -- source identifier of SKAdNetwork 4.0, else campaign id
              app_id INTEGER NOT NULL, -- advertised app
              source_app_id INTEGER NOT NULL, -- publisher's app
              skan_version TEXT NOT NULL,
              currency TEXT NOT NULL,
              UNIQUE (partition, hour, seat, ad_network_id, campaign, app_id, source_app_id,
                skan_version, currency)
            ) STRICT;

            CREATE TABLE bids_sums (
              row INTEGER PRIMARY KEY, -- of bids_keys
              auctions INTEGER NOT NULL,
              no_bids INTEGER NOT NULL,
              bids INTEGER NOT NULL,
              price_micros INTEGER NOT NULL, -- sum of CPM prices, in millionths
              overlay_signalled INTEGER NOT NULL,
              overlay_requested INTEGER NOT NULL,
              skadn_invalid INTEGER NOT NULL,
              overlay_eligible INTEGER NOT NULL,
              overlay_click_tracked INTEGER NOT NULL,
              wins INTEGER NOT NULL,
              losses INTEGER NOT NULL,
              billed INTEGER NOT NULL,
              billed_price_micros INTEGER NOT NULL, -- sum of CPM prices, in millionths
              inapp_bids INTEGER NOT NULL,
              inapp_wins INTEGER NOT NULL
            ) STRICT;

            CREATE VIEW bids AS SELECT * FROM bids_keys JOIN bids_sums USING (row);

            CREATE TABLE bid_faults_keys (
              -- Bids whose skadn object breaks a rule, by the first rule broken.
              row INTEGER PRIMARY KEY,
              partition INTEGER NOT NULL,
              hour TEXT NOT NULL,
              ad_network_id TEXT NOT NULL,
              campaign TEXT NOT NULL,
              app_id INTEGER NOT NULL,
              source_app_id INTEGER NOT NULL,
              fault TEXT NOT NULL,
              UNIQUE (partition, hour, ad_network_id, campaign, app_id, source_app_id, fault)
            ) STRICT;

            CREATE TABLE bid_faults_sums (
              row INTEGER PRIMARY KEY, -- of bid_faults_keys
              bids INTEGER NOT NULL
            ) STRICT;

            CREATE VIEW bid_faults AS SELECT * FROM bid_faults_keys JOIN bid_faults_sums USING (row);

            CREATE TABLE loss_reasons_keys (
              -- Losses by OpenRTB's loss reason code.
              row INTEGER PRIMARY KEY,
              partition INTEGER NOT NULL,
              hour TEXT NOT NULL,
              seat TEXT NOT NULL,
              ad_network_id TEXT NOT NULL,
              campaign TEXT NOT NULL,
              app_id INTEGER NOT NULL,
              source_app_id INTEGER NOT NULL,
              reason INTEGER NOT NULL,
              UNIQUE (partition, hour, seat, ad_network_id, campaign, app_id, source_app_id,
                reason)
            ) STRICT;

            CREATE TABLE loss_reasons_sums (
              row INTEGER PRIMARY KEY, -- of loss_reasons_keys
              losses INTEGER NOT NULL
            ) STRICT;

            CREATE VIEW loss_reasons AS SELECT * FROM loss_reasons_keys JOIN loss_reasons_sums USING (row);

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

    static let postbacks =
        common + """
            CREATE TABLE postbacks_keys (
              -- Accepted postbacks of SKAdNetwork and AdAttributionKit, under their verdict.
              row INTEGER PRIMARY KEY,
              partition INTEGER NOT NULL,
              hour TEXT NOT NULL, -- of the record's timestamp, UTC
              framework TEXT NOT NULL,
              version TEXT NOT NULL, -- '' for AdAttributionKit
              ad_network_id TEXT NOT NULL,
              campaign TEXT NOT NULL, -- source identifier, or campaign id below 4.0
              app_id INTEGER NOT NULL, -- advertised app
              source_app_id INTEGER NOT NULL, -- publisher's app, 0 when absent
              source_domain TEXT NOT NULL,
              sequence_index INTEGER NOT NULL, -- 0, 1 or 2; 0 below 4.0
              interaction TEXT NOT NULL, -- 'view', 'click', or '' when unknown
              conversion_type TEXT NOT NULL, -- 'download', 'redownload', 're-engagement'
              did_win INTEGER NOT NULL, -- 1 or 0
              verdict TEXT NOT NULL, -- 'valid', 'development', 'invalid', 'unverifiable'
              country TEXT NOT NULL,
              UNIQUE (partition, hour, framework, version, ad_network_id, campaign, app_id,
                source_app_id, source_domain, sequence_index, interaction, conversion_type, did_win,
                verdict, country)
            ) STRICT;

            CREATE TABLE postbacks_sums (
              row INTEGER PRIMARY KEY, -- of postbacks_keys
              postbacks INTEGER NOT NULL,
              null_values INTEGER NOT NULL -- winning ones without a conversion value of either kind
            ) STRICT;

            CREATE VIEW postbacks AS SELECT * FROM postbacks_keys JOIN postbacks_sums USING (row);

            CREATE TABLE conversion_values_keys (
              -- The conversion values that accepted postbacks brought.
              row INTEGER PRIMARY KEY,
              partition INTEGER NOT NULL,
              hour TEXT NOT NULL,
              framework TEXT NOT NULL,
              version TEXT NOT NULL,
              ad_network_id TEXT NOT NULL,
              campaign TEXT NOT NULL,
              app_id INTEGER NOT NULL,
              source_app_id INTEGER NOT NULL,
              source_domain TEXT NOT NULL,
              sequence_index INTEGER NOT NULL,
              interaction TEXT NOT NULL,
              conversion_type TEXT NOT NULL,
              did_win INTEGER NOT NULL,
              verdict TEXT NOT NULL,
              country TEXT NOT NULL,
              kind TEXT NOT NULL, -- 'fine' or 'coarse'
              value TEXT NOT NULL, -- '0' to '63', or 'low', 'medium', 'high'
              UNIQUE (partition, hour, framework, version, ad_network_id, campaign, app_id,
                source_app_id, source_domain, sequence_index, interaction, conversion_type, did_win,
                verdict, country, kind, value)
            ) STRICT;

            CREATE TABLE conversion_values_sums (
              row INTEGER PRIMARY KEY, -- of conversion_values_keys
              postbacks INTEGER NOT NULL
            ) STRICT;

            CREATE VIEW conversion_values AS SELECT * FROM conversion_values_keys JOIN conversion_values_sums USING (row);

            CREATE TABLE decoded_events_keys (
              -- What the values of trusted, winning postbacks mean under their model version.
              row INTEGER PRIMARY KEY,
              partition INTEGER NOT NULL,
              hour TEXT NOT NULL,
              ad_network_id TEXT NOT NULL,
              campaign TEXT NOT NULL,
              app_id INTEGER NOT NULL,
              source_app_id INTEGER NOT NULL,
              sequence_index INTEGER NOT NULL,
              model TEXT NOT NULL, -- id of the model version
              event TEXT NOT NULL,
              currency TEXT NOT NULL,
              UNIQUE (partition, hour, ad_network_id, campaign, app_id, source_app_id,
                sequence_index, model, event, currency)
            ) STRICT;

            CREATE TABLE decoded_events_sums (
              row INTEGER PRIMARY KEY, -- of decoded_events_keys
              count_min INTEGER NOT NULL,
              count_max INTEGER NOT NULL,
              revenue_min_micros INTEGER NOT NULL,
              revenue_max_micros INTEGER NOT NULL,
              ambiguous INTEGER NOT NULL -- postbacks whose value may be of another model version
            ) STRICT;

            CREATE VIEW decoded_events AS SELECT * FROM decoded_events_keys JOIN decoded_events_sums USING (row);

            CREATE TABLE postback_ids (
              -- Every postback ever accepted, with the best copy's verdict and unsigned values.
              partition INTEGER NOT NULL,
              id BLOB NOT NULL, -- first 16 bytes of SHA-256 of framework, network, transaction, index
              rank INTEGER NOT NULL, -- 2 valid, 1 development, 0 invalid or unverifiable
              offset INTEGER NOT NULL, -- of the best copy
              conversion_value INTEGER,
              coarse_value TEXT,
              country TEXT,
              interaction TEXT, -- AdAttributionKit only
              published TEXT, -- partners that it was published to, with revisions: 'acme=1,other=2'
              PRIMARY KEY (partition, id)
            ) STRICT, WITHOUT ROWID;

            CREATE TABLE outbox (
              -- What is published to partners, in order.
              partition INTEGER NOT NULL,
              sequence INTEGER NOT NULL,
              partner TEXT NOT NULL,
              id TEXT NOT NULL, -- of the partner postback, 32 hex digits
              revision INTEGER NOT NULL,
              origin_offset INTEGER NOT NULL, -- of the postback
              ad_network_id TEXT NOT NULL,
              campaign TEXT NOT NULL,
              app_id INTEGER NOT NULL,
              source_app_id INTEGER NOT NULL,
              document TEXT NOT NULL, -- JSON, without the campaign's names
              PRIMARY KEY (partition, sequence)
            ) STRICT;
            """
}
