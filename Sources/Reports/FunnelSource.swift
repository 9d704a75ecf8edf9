import ConfigurationValues
import Store
import Streams

/// An aggregate that the funnel reads.
struct FunnelSource: Sendable {
    /// The aggregate as it is stored.
    let stored: AggregateTable
    /// The columns and measures of it that matter here: the funnel sums over all others.
    let table: AggregateTable
    /// The places of these columns and measures in the stored ones.
    let columnPlaces: [Int]
    let measurePlaces: [Int]

    private init(_ stored: AggregateTable, _ columns: [String], measures: [String]) {
        self.stored = stored
        table = stored.selecting(columns, measures: measures)
        columnPlaces = stored.places(ofColumns: table)
        measurePlaces = stored.places(ofMeasures: table)
    }

    /// Whether its columns begin with those of `PostbackRow`.
    var hasPostbackColumns: Bool {
        [PostbacksKey.table.name, ConversionValuesKey.table.name].contains(stored.name)
    }

    static let bids = FunnelSource(
        BidsKey.table, campaign + ["skan_version", "currency"],
        measures: [
            "bids", "overlay_requested", "overlay_eligible", "wins", "billed_price_micros",
            "billed",
        ])
    static let costs = FunnelSource(
        CostsKey.table, ["day"] + campaign.dropFirst() + ["currency"],
        measures: CostsKey.table.measures)
    static let impressions = FunnelSource(
        ImpressionsKey.table, campaign + ["format"], measures: ["presented", "viewed"])
    static let overlayClicks = FunnelSource(
        OverlayClicksKey.table, campaign, measures: ["clicks", "automatic_clicks"])
    static let postbacks = FunnelSource(
        PostbacksKey.table, PostbackRow.columns, measures: ["postbacks", "null_values"])
    static let decodedEvents = FunnelSource(
        DecodedEventsKey.table, campaign + ["currency", "has_source_identifier"],
        measures: ["revenue_min_micros", "revenue_max_micros"])
    /// The revenue by the day of the install. Decoded events say neither the conversion type nor the verdict of their
    /// postbacks, so that nobody knows which of them have an install.
    static let installCohorts = FunnelSource(
        InstallCohortsKey.table,
        ["cohort"] + campaign.dropFirst() + ["currency", "has_source_identifier"],
        measures: ["postbacks", "null_values", "revenue_min_micros", "revenue_max_micros"])
    /// Only explanations read it by itself: the funnel reads it with its postbacks.
    static let conversionValues = FunnelSource(
        ConversionValuesKey.table, ValuedPostbacks.table.columns.map(\.name),
        measures: ValuedPostbacks.table.measures)
    static let storeNotifications = FunnelSource(
        StoreNotificationsKey.table, ["hour", "environment", "bundle_id", "ownership"],
        measures: [
            "refunds", "refund_reversals", "initial_buys", "resubscribes", "renewals",
            "recoveries", "one_time_purchases",
        ])

    /// The sources by stream, streams in bytewise order. Those of notifications come last, since
    /// they count for the apps of the others.
    static let byStream: [(stream: String, sources: [FunnelSource])] = [
        (BidsFold.streamName, [bids]), (CostsFold.streamName, [costs]),
        (ImpressionsFold.streamName, [impressions]),
        (OverlayClicksFold.streamName, [overlayClicks]),
        (PostbacksFold.streamName, [postbacks, decodedEvents]),
        (StoreNotificationsFold.streamName, [storeNotifications]),
    ]
    static let streams = byStream.map(\.stream)

    private static let campaign = ["hour", "ad_network_id", "campaign", "app_id"]
}

/// What a row of a source gives to the funnel: when, for which campaign, and which of its measures.
struct FunnelEntry {
    /// The hour, or the day that a report is about.
    let hour: String
    let network: String
    let campaign: String
    let app: Int64
    /// The kind of the campaign's id.
    let kind: CampaignIDKind
    /// Of postbacks: whether they are trusted and won.
    var isTrusted = false
    /// Places of measures in the source, and what they add to.
    var counts: [(place: Int, measure: FunnelMeasure)] = []
    /// The same of amounts, which are of the currency.
    var amounts: [(place: Int, measure: String)] = []
    var currency = ""
}
