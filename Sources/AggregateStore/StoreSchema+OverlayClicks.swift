extension StoreSchema {
    /// The tables of `overlay-clicks.sqlite`.
    static let overlayClicks =
        common + dedupe + """
            CREATE TABLE overlay_clicks_keys (
              -- Clicks, and what looked like one, by format, placement and campaign.
              row INTEGER PRIMARY KEY,
              partition INTEGER NOT NULL,
              hour TEXT NOT NULL, -- of the record's timestamp, UTC
              format TEXT NOT NULL, -- 'skoverlay', 'outbrain', 'inapp'
              placement TEXT NOT NULL, -- zone, Outbrain widget with its index, or adapter
              ad_network_id TEXT NOT NULL,
              campaign TEXT NOT NULL, -- source identifier of SKAdNetwork 4.0, else campaign id
              app_id INTEGER NOT NULL, -- advertised app
              source_app_id INTEGER NOT NULL, -- publisher's app
              UNIQUE (partition, hour, format, placement, ad_network_id, campaign, app_id,
                source_app_id)
            ) STRICT;

            CREATE TABLE overlay_clicks_sums (
              row INTEGER PRIMARY KEY, -- of overlay_clicks_keys
              clicks INTEGER NOT NULL,
              user_clicks INTEGER NOT NULL, -- of the clicks: on overlays and in-app bidders' ads
              paid_clicks INTEGER NOT NULL, -- of the clicks: on paid recommendations
              organic_clicks INTEGER NOT NULL, -- of the clicks: on other recommendations
              altered_urls INTEGER NOT NULL, -- of the paid clicks: leading elsewhere than to Outbrain
              automatic_clicks INTEGER NOT NULL, -- by the SDK itself
              early INTEGER NOT NULL, -- before anything was presented, or without a tap
              not_presented INTEGER NOT NULL, -- the overlay was never shown
              unsupported_sdk INTEGER NOT NULL, -- of a version that tracks no clicks
              untracked INTEGER NOT NULL, -- the bid turned tracking off
              test INTEGER NOT NULL -- events that count in nothing else
            ) STRICT;

            CREATE VIEW overlay_clicks AS SELECT * FROM overlay_clicks_keys JOIN overlay_clicks_sums USING (row);
            """
}
