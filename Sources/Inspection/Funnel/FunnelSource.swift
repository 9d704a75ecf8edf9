import Streams

/// What the funnel reads of the aggregates of all streams: of each only the columns that it needs.
enum FunnelSource {
    static let bids = BidsKey.table.selecting(
        campaign + ["skan_version", "currency"],
        measures: [
            "bids", "overlay_requested", "overlay_eligible", "wins", "billed",
            "billed_price_micros",
        ])
    static let impressions = ImpressionsKey.table.selecting(
        campaign + ["format"], measures: ["presented", "viewed"])
    static let overlayClicks = OverlayClicksKey.table.selecting(
        campaign, measures: ["clicks", "automatic_clicks"])
    static let postbacks = PostbacksKey.table.selecting(
        postbackColumns, measures: ["postbacks", "null_values"])
    static let conversionValues = ConversionValuesKey.table.selecting(
        postbackColumns + ["kind", "value"], measures: ["postbacks"])
    static let decodedEvents = DecodedEventsKey.table.selecting(
        campaign + ["source_app_id", "sequence_index", "currency", "has_source_identifier"],
        measures: ["revenue_min_micros", "revenue_max_micros"])
    static let storeNotifications = StoreNotificationsKey.table.selecting(
        ["hour", "environment", "bundle_id", "ownership"],
        measures: [
            "refunds", "initial_buys", "resubscribes", "renewals", "recoveries",
            "one_time_purchases",
        ])

    /// The streams, in bytewise order.
    static let streams = [
        bids.name, impressions.name, overlayClicks.name, postbacks.name, storeNotifications.name,
    ]

    /// Those that the funnel looks at. All the others only tell rows apart, which it adds up.
    private static let postbackColumns = [
        "hour", "framework", "version", "ad_network_id", "campaign", "app_id", "source_app_id",
        "sequence_index", "conversion_type", "did_win", "verdict",
    ]
    private static let campaign = ["hour", "ad_network_id", "campaign", "app_id"]
}
