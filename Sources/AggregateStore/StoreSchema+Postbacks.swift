extension StoreSchema {
    /// The tables of `postbacks.sqlite`.
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
              has_source_identifier INTEGER NOT NULL, -- 1: campaign is one, 0: it is a campaign id
              UNIQUE (partition, hour, ad_network_id, campaign, app_id, source_app_id,
                sequence_index, model, event, currency, has_source_identifier)
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

            CREATE TABLE postback_copies (
              -- Every copy of a postback that was decoded, whatever became of it, in order.
              partition INTEGER NOT NULL,
              offset INTEGER NOT NULL,
              id BLOB NOT NULL, -- as in postback_ids
              route TEXT NOT NULL, -- 'device', 'developer-copy', 'relay'
              timestamp_ms INTEGER NOT NULL,
              outcome TEXT NOT NULL, -- 'accepted', 'duplicates', 'conflicts'
              verdict TEXT NOT NULL, -- 'valid', 'development', 'invalid', 'unverifiable'
              conversion_value INTEGER,
              coarse_value TEXT,
              country TEXT,
              ad_network_id TEXT NOT NULL,
              campaign TEXT NOT NULL, -- source identifier, or campaign id below 4.0
              app_id INTEGER NOT NULL, -- advertised app
              source_app_id INTEGER NOT NULL, -- publisher's app, 0 when absent
              sequence_index INTEGER NOT NULL, -- 0, 1 or 2; 0 below 4.0
              has_source_identifier INTEGER NOT NULL, -- 1: campaign is one, 0: it is a campaign id
              did_win INTEGER NOT NULL, -- 1 or 0: developers get no copy of those that did not
              PRIMARY KEY (partition, offset)
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
              has_source_identifier INTEGER NOT NULL, -- 1: campaign is one, 0: it is a campaign id
              app_id INTEGER NOT NULL,
              source_app_id INTEGER NOT NULL,
              document TEXT NOT NULL, -- JSON, without the campaign's names
              PRIMARY KEY (partition, sequence)
            ) STRICT;
            """
}
