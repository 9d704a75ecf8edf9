import Streams

/// What the funnel reads of the aggregates of all streams: of each only the columns that it needs.
enum FunnelSource {
    static let bids = AggregateTable(
        name: "bids",
        columns: campaign + [.init("skan_version", .text), .init("currency", .text)],
        measures: [
            "bids", "overlay_requested", "overlay_eligible", "wins", "billed",
            "billed_price_micros",
        ])
    static let impressions = AggregateTable(
        name: "impressions", columns: campaign + [.init("format", .text)],
        measures: ["presented", "viewed"])
    static let overlayClicks = AggregateTable(
        name: "overlay-clicks", columns: campaign, measures: ["clicks", "automatic_clicks"])
    static let postbacks = AggregateTable(
        name: "postbacks", columns: postbackColumns, measures: ["postbacks", "null_values"])
    static let conversionValues = AggregateTable(
        name: "conversion-values",
        columns: postbackColumns + [.init("kind", .text), .init("value", .text)],
        measures: ["postbacks"])
    static let decodedEvents = AggregateTable(
        name: "decoded-events",
        columns: campaign + [
            .init("source_app_id", .integer), .init("sequence_index", .integer),
            .init("currency", .text), .init("has_source_identifier", .boolean),
        ],
        measures: ["revenue_min_micros", "revenue_max_micros"])
    static let storeNotifications = AggregateTable(
        name: "store-notifications",
        columns: [
            .init("hour", .hour), .init("environment", .text), .init("bundle_id", .text),
            .init("ownership", .text),
        ],
        measures: [
            "refunds", "initial_buys", "resubscribes", "renewals", "recoveries",
            "one_time_purchases",
        ])

    /// The streams, in bytewise order.
    static let streams = [
        bids.name, impressions.name, overlayClicks.name, postbacks.name, storeNotifications.name,
    ]

    /// Those that the funnel looks at. All the others only tell rows apart, which it adds up.
    private static let postbackColumns: [AggregateTable.Column] = [
        .init("hour", .hour), .init("framework", .text), .init("version", .text),
        .init("ad_network_id", .text), .init("campaign", .text), .init("app_id", .integer),
        .init("source_app_id", .integer), .init("sequence_index", .integer),
        .init("conversion_type", .text), .init("did_win", .boolean), .init("verdict", .text),
    ]
    private static let campaign: [AggregateTable.Column] = [
        .init("hour", .hour), .init("ad_network_id", .text), .init("campaign", .text),
        .init("app_id", .integer),
    ]
}
