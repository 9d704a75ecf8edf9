extension StoreSchema {
    /// The tables of `conversion-updates.sqlite`.
    static let conversionUpdates =
        common + dedupe + """
            CREATE TABLE conversion_updates_keys (
              -- What installs were told, and what they say they have, by window, model and value.
              row INTEGER PRIMARY KEY,
              partition INTEGER NOT NULL,
              hour TEXT NOT NULL, -- of the record's timestamp, UTC
              app_id INTEGER NOT NULL,
              framework TEXT NOT NULL, -- 'skadnetwork' or 'adattributionkit'
              sequence_index INTEGER NOT NULL, -- conversion window, 0 to 2
              model TEXT NOT NULL, -- id of the model's version; '' when none was in effect
              kind TEXT NOT NULL, -- 'fine', 'coarse', or '' for what is counted of requests
              value TEXT NOT NULL, -- 0 to 63, or low, medium, high; '' for what is counted of requests
              UNIQUE (partition, hour, app_id, framework, sequence_index, model, kind, value)
            ) STRICT;

            CREATE TABLE conversion_updates_sums (
              row INTEGER PRIMARY KEY, -- of conversion_updates_keys
              updates INTEGER NOT NULL, -- requests; this and the last five have rows without a value
              told INTEGER NOT NULL, -- installs that were told this value
              told_replaced INTEGER NOT NULL, -- of these, those that were told another one later
              repeated INTEGER NOT NULL, -- told once more, since the install still lacked it
              reported INTEGER NOT NULL, -- installs that say they have this value
              reported_replaced INTEGER NOT NULL, -- of these, those that have a higher one later
              reported_lower INTEGER NOT NULL, -- was told this value, and says it has a lower one
              reported_higher INTEGER NOT NULL, -- says it has this value, and was told a lower one at most
              locked INTEGER NOT NULL, -- requests in a window that is locked
              late INTEGER NOT NULL, -- requests after the last window, or of an earlier install
              unmodelled INTEGER NOT NULL, -- requests while no model was in effect
              other_currency INTEGER NOT NULL, -- requests with revenue that the model does not speak of
              errors INTEGER NOT NULL -- requests that report an error of the framework
            ) STRICT;

            CREATE VIEW conversion_updates AS SELECT * FROM conversion_updates_keys JOIN conversion_updates_sums USING (row);
            """
}
