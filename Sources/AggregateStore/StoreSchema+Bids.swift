extension StoreSchema {
    /// The tables of `bids.sqlite`.
    static let bids =
        common + dedupe + """
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
            """
}
