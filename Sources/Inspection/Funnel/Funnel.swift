import AggregateStore
import Pipelines
import Streams

/// From the bid to the app's revenue: one row for each day and campaign, joined from the stores of
/// all streams. `docs/funnel.md` has every column's formula.
package struct Funnel: Sendable {
    package let table: ReportTable
    /// The streams without a store: their columns are null.
    package let missingStreams: [String]
    /// Bundle ids of notifications without a configured app: these are left out.
    package let unknownBundles: [String]

    package static let name = "funnel"

    /// The columns to group by, in the order in which they are sorted.
    static let columns = [
        DumpColumn("day", .text), DumpColumn("ad_network_id", .text),
        DumpColumn("app_id", .integer),
        DumpColumn("campaign", .text), DumpColumn("name", .text), DumpColumn("media_source", .text),
    ]
    static let dayPlace = 0

    init(_ fold: FunnelFold, watermarkMilliseconds: Int64?, missingStreams: [String]) {
        self.missingStreams = missingStreams
        unknownBundles = fold.unknownBundles.sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        let keys = fold.selection.columns.map { column in
            ReportTable.Column(column.name, isNumber: column.kind == .integer)
        }
        let measures = FunnelRow.columns(fold.dateRule, estimates: fold.estimates)
        let unknown = measures.indices.filter { place in
            FunnelRow.streams(of: measures[place].name).contains(where: missingStreams.contains)
        }
        table = ReportTable(
            columns: keys + measures,
            rows: fold.groups.map { group in
                FunnelRow(
                    group.columns, group.sums, sales: fold.sales(of: group),
                    watermarkMilliseconds: watermarkMilliseconds)
            }
            .filter(\.isAnything)
            .map { row in
                var values = row.values(fold.dateRule, estimates: fold.estimates)
                for place in unknown { values[keys.count + place] = .null }
                return values
            })
    }
}

extension StoreSet {
    /// Reads the funnel from the stores.
    ///
    /// - Throws: `noStore` when there is none of any stream; `unknownColumn` and `badCondition` for
    ///   what cannot be asked.
    package func funnel(_ query: FunnelQuery) throws(InspectionError) -> Funnel {
        let selection = try RowSelection(query.query, of: Funnel.columns)
        return try view(of: FunnelSource.streams) { try $0.funnel(query, selection) }
    }
}

extension StoreView {
    /// Reads the funnel of one state of the stores.
    func funnel(_ query: FunnelQuery, _ selection: RowSelection) throws -> Funnel {
        var fold = FunnelFold(query, selection)
        for copy in copies { try fold.add(copy) }
        return Funnel(
            fold, watermarkMilliseconds: postbacksWatermark,
            missingStreams: FunnelSource.streams.filter { !streams.contains($0) })
    }
}

/// The question to the funnel.
package struct FunnelQuery: Sendable {
    /// The day on which postbacks count.
    package enum DateRule: String, CaseIterable, Sendable {
        /// The day on which they arrived.
        case arrival
        /// The latest day on which the app may have been first launched.
        case install
    }

    /// Columns, conditions and time.
    package var query: DumpQuery
    package var dateRule: DateRule
    /// Names of networks, apps and campaigns.
    package var catalog: Catalog
    /// Whether postbacks of the verdict `development` are trusted.
    package var trustsDevelopment: Bool
    /// App Store ids by bundle id, for notifications of the store.
    package var appsByBundle: [String: Int64]
    /// Whether rows have an estimate of the revenue beside its bounds.
    package var estimates = false

    /// The name of the query is ignored.
    package init(
        query: DumpQuery = DumpQuery(name: Funnel.name), dateRule: DateRule = .arrival,
        catalog: Catalog, trustsDevelopment: Bool = false, appsByBundle: [String: Int64] = [:]
    ) {
        self.query = query
        self.dateRule = dateRule
        self.catalog = catalog
        self.trustsDevelopment = trustsDevelopment
        self.appsByBundle = appsByBundle
    }
}

/// The columns that the funnel reads of the aggregates of all streams.
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

    /// The columns that matter here. The funnel sums over all others.
    private static let postbackColumns = [
        "hour", "framework", "version", "ad_network_id", "campaign", "app_id", "source_app_id",
        "sequence_index", "conversion_type", "did_win", "verdict",
    ]
    private static let campaign = ["hour", "ad_network_id", "campaign", "app_id"]
}
