import AggregateStore
import Pipelines
import Streams

/// The rows of all streams that count in the selected rows of the funnel.
///
/// Rates and costs are computed from sums, and records add to those. Money has a measure for each
/// currency, `revenue_min_micros USD`. Refunds belong to an app, and stand in every row of it.
package final class FunnelCell: Cell {
    package let name = Funnel.name
    /// The counts of the funnel, then the amounts by currency, as they become known.
    package private(set) var measures = [
        "bids", "overlay_requested", "overlay_eligible", "wins", "presented", "viewed",
        "skadn_impressions", "clicks", "automatic_clicks", "installs", "redownloads",
        "reengagements", "postbacks", "null_values", "app_refunds", "app_sales",
    ]
    private let query: FunnelQuery
    private let selection: RowSelection
    private var names: CampaignNames
    private var hours = HourColumn()
    /// The apps of the rows that count, for refunds and sales.
    private var apps: Set<Int64> = []

    /// Selects rows of the funnel. Postbacks count on the day of their arrival.
    package init(_ query: FunnelQuery) throws(InspectionError) {
        self.query = query
        selection = try RowSelection(query.query, of: Funnel.columns)
        names = CampaignNames(query.catalog)
    }

    /// The columns that are computed from several measures.
    package static let workedOut = [
        "null_rate", "revenue_min_micros", "revenue_max_micros", "revenue_bound_min_micros",
        "revenue_bound_max_micros", "cost_micros", "win_rate", "ctr",
        "install_rate", "cpi", "roas_min", "roas_max", "app_refund_rate",
    ]

    /// The columns that records do not add to.
    package static let withoutRecords = [
        "maturity", "final_after", "install_earliest", "install_latest",
        "estimated_revenue_micros", "estimated_value_share",
    ]

    /// The measures from which a column of the funnel is computed: itself when it is a sum, nil
    /// when no records add to it.
    package func parts(of measure: String) -> [String]? {
        func amounts(_ name: String) -> [String] {
            let known = measures.filter { $0 == name || $0.hasPrefix(name + " ") }
            return known.isEmpty ? [name] : known
        }
        return switch measure {
        case "null_rate": ["null_values", "postbacks"]
        case "win_rate": ["wins", "bids"]
        case "ctr": ["clicks", "presented", "viewed"]
        case "install_rate": ["installs", "clicks"]
        case "app_refund_rate": ["app_refunds", "app_sales"]
        case "revenue_bound_min_micros": amounts("revenue_min_micros") + ["null_values"]
        case "revenue_bound_max_micros": amounts("revenue_max_micros") + ["null_values"]
        case "cost_micros": amounts("billed_price_micros")
        case "cpi": amounts("billed_price_micros") + ["installs"]
        case "roas_min": amounts("revenue_min_micros") + amounts("billed_price_micros")
        case "roas_max": amounts("revenue_max_micros") + amounts("billed_price_micros")
        case "revenue_min_micros", "revenue_max_micros", "billed_price_micros": amounts(measure)
        default: measures.contains(measure) ? [measure] : nil
        }
    }

    /// The streams that a measure comes from.
    package func streams(of measure: String) -> [String] {
        switch measure.prefix(while: { $0 != " " }) {
        case "app_sales": [FunnelSource.storeNotifications.name]
        case "billed_price_micros": [FunnelSource.bids.name]
        case let name: FunnelRow.streams(of: String(name))
        }
    }

    /// Whether only some days or hours are selected.
    package var isLimitedInTime: Bool {
        query.query.sinceMilliseconds != nil || query.query.untilMilliseconds != nil
            || query.query.conditions.contains { $0.column == "day" }
    }

    /// The conditions on a postback's own columns. A campaign is left out: its name may differ.
    package var postbackValues: [String: StoredValue] {
        var values: [String: StoredValue] = [:]
        for (place, column) in Funnel.columns.enumerated()
        where ["ad_network_id", "app_id"].contains(column.name) {
            values[column.name] = selection.value(at: place)
        }
        return values
    }

    /// Those of notifications come last, since they count for the apps of the others.
    package var sources: [(stream: String, tables: [AggregateTable])] {
        [
            (BidsFold.streamName, [BidsKey.table]),
            (ImpressionsFold.streamName, [ImpressionsKey.table]),
            (OverlayClicksFold.streamName, [OverlayClicksKey.table]),
            (PostbacksFold.streamName, [PostbacksKey.table, DecodedEventsKey.table]),
            (StoreNotificationsFold.streamName, [StoreNotificationsKey.table]),
        ]
    }

    /// Whether records of an hour may count.
    package func mayCount(in hour: Hour) -> Bool {
        let text = hour.text
        return selection.includes(timeMilliseconds: hour.hoursSince1970 * Hour.milliseconds)
            && selection.includes(.text(String(text.prefix { $0 != "T" })), at: Funnel.dayPlace)
    }

    /// Takes note of the app of a row that counts.
    package func note(_ table: AggregateTable, columns: [StoredValue]) {
        guard table.name != StoreNotificationsKey.table.name else { return }
        apps.insert(Columns(table, columns)["app_id"].integer)
    }

    package func terms(of table: AggregateTable, columns: [StoredValue]) -> [CellTerm]? {
        let columns = Columns(table, columns)
        switch table.name {
        case BidsKey.table.name:
            return bids(columns, CampaignIDKind(skanVersion: columns["skan_version"].text))
        case ImpressionsKey.table.name:
            let isSKAdN = columns["format"].text == "\(AdFormat.skadn.name)"
            return terms(
                columns, .either,
                [("presented", isSKAdN ? "skadn_impressions" : "presented"), ("viewed", "viewed")])
        case OverlayClicksKey.table.name:
            return terms(
                columns, .either,
                [("clicks", "clicks"), ("automatic_clicks", "automatic_clicks")])
        case PostbacksKey.table.name: return postbacks(columns)
        case DecodedEventsKey.table.name: return revenue(columns)
        case StoreNotificationsKey.table.name: return sales(columns)
        default: return nil
        }
    }

    /// Whether a row of postbacks is of the selected campaign, trusted and winning or not.
    package func concerns(_ table: AggregateTable, columns: [StoredValue]) -> Bool {
        let columns = Columns(table, columns)
        guard table.name == PostbacksKey.table.name else { return false }
        return includes(columns, kind(ofPostbacks: columns))
    }
}

extension FunnelCell {
    /// A stored row's values by name.
    private struct Columns {
        let table: AggregateTable
        let values: [StoredValue]

        init(_ table: AggregateTable, _ values: [StoredValue]) {
            self.table = table
            self.values = values
        }

        subscript(name: String) -> StoredValue {
            table.columns.firstIndex { $0.name == name }.map { values[$0] } ?? .text("")
        }
    }

    private func bids(_ columns: Columns, _ kind: CampaignIDKind) -> [CellTerm]? {
        terms(
            columns, kind,
            ["bids", "overlay_requested", "overlay_eligible", "wins"].map { ($0, $0) }
                + [money("billed_price_micros", columns)])
    }

    private func kind(ofPostbacks columns: Columns) -> CampaignIDKind {
        CampaignIDKind(framework: columns["framework"].text, version: columns["version"].text)
    }

    private func postbacks(_ columns: Columns) -> [CellTerm]? {
        let verdict = columns["verdict"].text
        let isTrusted = verdict == "valid" || (query.trustsDevelopment && verdict == "development")
        guard isTrusted, columns["did_win"].integer != 0 else { return nil }
        var counts = [("postbacks", "postbacks"), ("null_values", "null_values")]
        if columns["sequence_index"].integer == 0 {
            switch columns["conversion_type"].text {
            case "download": counts.append(("postbacks", "installs"))
            case "redownload": counts.append(("postbacks", "redownloads"))
            default: counts.append(("postbacks", "reengagements"))
            }
        }
        return terms(columns, kind(ofPostbacks: columns), counts)
    }

    private func revenue(_ columns: Columns) -> [CellTerm]? {
        terms(
            columns,
            CampaignIDKind(
                hasSourceIdentifier: columns["has_source_identifier"].integer != 0),
            [money("revenue_min_micros", columns), money("revenue_max_micros", columns)])
    }

    /// Amounts of different currencies are never added.
    private func money(_ name: String, _ columns: Columns) -> (String, String) {
        let currency = columns["currency"].text
        return (name, currency.isEmpty ? name : "\(name) \(currency)")
    }

    private func sales(_ columns: Columns) -> [CellTerm]? {
        guard columns["environment"].text == "Production",
            columns["ownership"].text == "\(Ownership.purchased)",
            let app = query.appsByBundle[columns["bundle_id"].text]
        else { return nil }
        let hour = hours.hour(columns["hour"].text)
        guard selection.includes(timeMilliseconds: hour.milliseconds),
            selection.includes(.text(hour.day), at: Funnel.dayPlace),
            apps.contains(app)
                || includes(hour, network: "", app: app, campaign: "", .sourceIdentifier)
        else { return nil }
        let sold = ["initial_buys", "resubscribes", "renewals", "recoveries", "one_time_purchases"]
        return terms(
            columns.table, [("refunds", "app_refunds")] + sold.map { ($0, "app_sales") })
    }

    private func terms(
        _ columns: Columns, _ kind: CampaignIDKind, _ pairs: [(String, String)]
    ) -> [CellTerm]? {
        includes(columns, kind) ? terms(columns.table, pairs) : nil
    }

    private func includes(_ columns: Columns, _ kind: CampaignIDKind) -> Bool {
        includes(
            hours.hour(columns["hour"].text), network: columns["ad_network_id"].text,
            app: columns["app_id"].integer, campaign: columns["campaign"].text, kind)
    }

    private func includes(
        _ hour: (milliseconds: Int64, day: String), network: String, app: Int64, campaign: String,
        _ kind: CampaignIDKind
    ) -> Bool {
        let named = names.named(
            network: network, app: app, campaign: campaign, as: CampaignIDKinds(kind))
        return selection.includes(
            [
                .text(hour.day), .text(network), .integer(app), .text(named.campaign),
                .text(named.name), .text(named.mediaSource),
            ], timeMilliseconds: hour.milliseconds)
    }

    private func terms(_ table: AggregateTable, _ pairs: [(String, String)]) -> [CellTerm] {
        pairs.compactMap { from, to in
            table.measures.firstIndex(of: from).map {
                CellTerm(rowMeasure: $0, cellMeasure: place(of: to))
            }
        }
    }

    private func place(of measure: String) -> Int {
        if let place = measures.firstIndex(of: measure) { return place }
        measures.append(measure)
        return measures.count - 1
    }
}
