extension StoreSchema {
    /// The tables of `impressions.sqlite`.
    static let impressions =
        common + dedupe + """
            CREATE TABLE impressions_keys (
              -- What became of ads, by format, placement and campaign.
              row INTEGER PRIMARY KEY,
              partition INTEGER NOT NULL,
              hour TEXT NOT NULL, -- of the record's timestamp, UTC
              format TEXT NOT NULL, -- 'skoverlay', 'skadn', 'outbrain', 'inapp'
              placement TEXT NOT NULL, -- zone, Outbrain widget with its index, or adapter
              ad_network_id TEXT NOT NULL,
              campaign TEXT NOT NULL, -- source identifier of SKAdNetwork 4.0, else campaign id
              app_id INTEGER NOT NULL, -- advertised app
              source_app_id INTEGER NOT NULL, -- publisher's app
              UNIQUE (partition, hour, format, placement, ad_network_id, campaign, app_id,
                source_app_id)
            ) STRICT;

            CREATE TABLE impressions_sums (
              row INTEGER PRIMARY KEY, -- of impressions_keys
              presented INTEGER NOT NULL,
              dismissed INTEGER NOT NULL, -- overlays
              failed INTEGER NOT NULL, -- of overlays and in-app bidders' ads
              fidelity_view INTEGER NOT NULL, -- of those presented: view-through
              fidelity_storekit INTEGER NOT NULL, -- of those presented: rendered by StoreKit
              received INTEGER NOT NULL, -- recommendations that came
              paid INTEGER NOT NULL, -- of those received
              organic INTEGER NOT NULL, -- of those received
              rtb INTEGER NOT NULL, -- of those received: bought in an auction
              widget_views INTEGER NOT NULL, -- within 30 minutes of the request
              viewed INTEGER NOT NULL, -- listings, within 30 minutes of the request
              stale INTEGER NOT NULL, -- widgets and listings that were seen later
              loaded INTEGER NOT NULL, -- in-app bidders' ads
              handovers INTEGER NOT NULL, -- in-app bidders' ads that they show themselves
              test INTEGER NOT NULL -- events and recommendations that count in nothing else
            ) STRICT;

            CREATE VIEW impressions AS SELECT * FROM impressions_keys JOIN impressions_sums USING (row);
            """
}
