import ConfigurationValues
import ConversionModels
import Store
import Streams

/// From the bid to the app's revenue: one row for each day and campaign, joined from the stores of all streams.
/// `docs/reference/funnel.md` has the formula of every column.
package struct Funnel: Sendable {
    package let table: ReportTable
    /// The streams without a store; their columns are null.
    package let missingStreams: [String]
    /// Bundle ids of notifications without a configured app; these are left out.
    package let unknownBundles: [String]
    /// Whether columns are null because a store does not count a measure in all rows.
    let hasUnknown: Bool

    package static let name = "funnel"

    /// Names of the columns that group rows.
    package static var columnNames: [String] { columns.map(\.name) }
    /// Names of all other columns, including those that only some requests have.
    package static var measureNames: [String] { FunnelColumn.all.map(\.name) }

    static let columns = [
        DumpColumn("day", .text), DumpColumn("ad_network_id", .text),
        DumpColumn("app_id", .integer),
        DumpColumn("campaign", .text), DumpColumn("name", .text), DumpColumn("media_source", .text),
    ]

    /// The sums of a whole app that some columns are computed from: refunds, and sales.
    static let appSums = ["app_refunds", "app_refund_reversals", "app_sales"]

    init(
        _ fold: FunnelFold, converting conversion: CurrencyConversion? = nil,
        watermarkMilliseconds: Int64?, missingStreams: [String]
    ) throws(InspectionError) {
        let figure = fold.figure
        let shown = FunnelColumn.needed(figure.request)
        // Days of installs are in UTC.
        let ends = CohortEnds(
            fold.models,
            in: figure.request.dateRule == .install ? .utc : figure.request.timeZone)
        self.missingStreams = missingStreams
        unknownBundles = figure.unknownBundles.sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        let hasUnknown = fold.unknown != nil
        self.hasUnknown = hasUnknown
        let groups =
            if let conversion { try fold.groups(converting: conversion) } else { fold.groups }
        let rows = groups.compactMap { group -> [ReportValue]? in
            let row = FunnelRow(
                sums: group.sums, sales: fold.sales(of: group),
                maturity: fold.needs.contains(.maturity)
                    ? group.sums.days.maturity(at: watermarkMilliseconds, ends) : [])
            guard row.isAnything || hasUnknown else { return nil }
            let unknown = fold.unknownStreams.union(group.sums.unknownStreams)
            return zip(figure.selection.columns, group.columns).map { $0.reportValue($1) }
                + shown.map { column in
                    column.isKnown(
                        without: missingStreams, orIn: unknown, isCostKnown: !fold.hasUnknownCost)
                        ? column.value(row) : .null
                }
        }
        table = ReportTable(
            columns: figure.selection.columns.map(\.reportColumn)
                + shown.map { ReportTable.Column($0.name, isNumber: !$0.isText) },
            rows: rows, keyCount: figure.selection.columns.count)
    }
}

extension OpenStores {
    /// Reads the funnel from the stores.
    ///
    /// - Throws: `noStore` without any store; `unknownColumn` and `badCondition` for an invalid request.
    ///
    /// - Parameter conversion: converts all amounts into one currency.
    package func funnel(
        _ request: ReportRequest, _ configuration: ReportConfiguration,
        converting conversion: CurrencyConversion? = nil
    ) throws -> Funnel {
        let figure = try FunnelFigure(request, configuration, isConverted: conversion != nil)
        return try view(of: figure.streams) { try $0.funnel(figure, converting: conversion) }
    }
}

extension StoreView {
    /// Reads the funnel from one state of the stores.
    func funnel(
        _ figure: FunnelFigure, converting conversion: CurrencyConversion? = nil
    ) throws -> Funnel {
        var fold = FunnelFold(figure, FunnelColumn.needs(of: figure.request))
        try fold.add(slices)
        return try Funnel(
            fold, converting: conversion, watermarkMilliseconds: try postbacksWatermark,
            missingStreams: FunnelSource.streams.filter { !streams.contains($0) })
    }
}

/// A row of the funnel: its sums, and the values computed from them.
struct FunnelRow {
    let sums: FunnelSums
    let sales: AppSales
    /// CPM prices in millionths by currency, a thousand times the cost. Stored because several columns show it.
    fileprivate let priceMicros: [StoredValue: Int128]
    /// The share of closed windows, and when the row is final. Stored because two columns show it, and computing it
    /// reads every day.
    fileprivate let maturity: [ReportValue]

    /// - Parameter maturity: empty if no column shows it.
    init(sums: FunnelSums, sales: AppSales, maturity: [ReportValue] = []) {
        self.sums = sums
        self.sales = sales
        priceMicros = sums.cost.pricesMicros
        self.maturity = maturity.isEmpty ? [.null, .null] : maturity
    }

    /// False for a row of zeros.
    var isAnything: Bool { sums.isAnything || sales.isAnything }

    /// A CPM price is for a thousand impressions; fractions of a micro are truncated.
    var cost: MoneyByCurrency { MoneyByCurrency(priceMicros.mapValues { $0 / 1000 }) }

    /// Cost per install, in units; null when the cost has several currencies.
    fileprivate var costPerInstall: ReportValue {
        guard let cost = priceMicros.only else { return .null }
        return .ratio(cost.value, sums[.installs] * Self.billedMicrosInUnit)
    }

    /// Revenue divided by cost; null unless both have the same single currency.
    func returnOnCost(_ revenue: [StoredValue: Int128]) -> ReportValue {
        guard let cost = priceMicros.only, let revenue = revenue.only,
            cost.key == revenue.key
        else { return .null }
        return .ratio(revenue.value * 1000, cost.value)
    }

    /// A unit of currency in millionths of CPM prices.
    private static let billedMicrosInUnit: Int128 = 1_000_000_000
}

/// A column of the funnel after the grouping columns.
struct FunnelColumn: Sendable {
    let name: String
    /// The streams from which it is computed. If one has no store, the value is unknown, not 0.
    let streams: [String]
    /// Whether it includes the cost, which is known with a store of either billing or reports.
    private let hasCost: Bool
    /// The measures from which it is computed: itself for a sum, empty if it is not a sum of records.
    let parts: [String]
    /// The terms of a rate; nil for other columns.
    let ratio: FunnelRatio?
    let value: @Sendable (FunnelRow) -> ReportValue

    private init(
        _ name: String, of streams: [String], hasCost: Bool = false, from parts: [String],
        ratio: FunnelRatio? = nil, _ value: @escaping @Sendable (FunnelRow) -> ReportValue
    ) {
        self.name = name
        self.streams = streams
        self.hasCost = hasCost
        self.parts = parts
        self.ratio = ratio
        self.value = value
    }

    /// A rate of counts.
    private init(
        _ name: String, of streams: [String], _ over: FunnelTerm, less: FunnelTerm? = nil,
        per under: [FunnelTerm], aboveOne why: String? = nil
    ) {
        let ratio = FunnelRatio(over: over, less: less, under: under, whyAboveOne: why)
        self.init(name, of: streams, ratio) { row in
            .ratio(
                over.count(row) - (less?.count(row) ?? 0),
                under.reduce(0) { $0 + $1.count(row) })
        }
    }

    /// A rate with money in it, computed from the exact sums.
    private init(
        _ name: String, of streams: [String], hasCost: Bool = false, _ ratio: FunnelRatio,
        _ value: @escaping @Sendable (FunnelRow) -> ReportValue
    ) {
        self.init(
            name, of: streams, hasCost: hasCost,
            from: ratio.terms.flatMap(\.measures), ratio: ratio, value)
    }

    /// The measures that explain it when the models of the stores are known; nil if it does not depend on models.
    var boundParts: [String]? {
        switch name {
        case Self.boundMin, Self.unbounded: [name]
        case Self.boundMax: [name, Self.unbounded]
        default: nil
        }
    }

    /// Whether its values are texts.
    var isText: Bool { name == "cost_source" }

    /// - Parameters:
    ///   - missing: the streams without a store.
    ///   - unknown: the streams with unknown sums.
    fileprivate func isKnown(
        without missing: [String], orIn unknown: Set<String>, isCostKnown: Bool
    ) -> Bool {
        !streams.contains { missing.contains($0) || unknown.contains($0) }
            && !(hasCost && (!isCostKnown || Self.costStreams.allSatisfy(missing.contains)))
    }

    /// The streams of the events that it is computed from. Billing represents the cost: a cost report is about another
    /// day than its import.
    var eventStreams: [String] { streams + (hasCost ? [BidsFold.streamName] : []) }

    /// The columns of a request, in order.
    static func shown(_ request: ReportRequest) -> [FunnelColumn] {
        sums + (request.dateRule == .install ? installs : []) + maturity
            + (request.estimates ? estimates : [])
    }

    /// The columns of a request that its answer keeps, in order. With an unknown measure all of them, because the
    /// error lists them.
    static func needed(_ request: ReportRequest) -> [FunnelColumn] {
        let shown = shown(request)
        guard let measures = request.measures,
            Set(measures).isSubset(of: shown.map(\.name))
        else { return shown }
        return shown.filter { measures.contains($0.name) }
    }

    /// The sums that the columns of a request need. Revenue makes a row, whatever is shown of it.
    static func needs(of request: ReportRequest) -> FunnelNeeds {
        needed(request).reduce(into: .revenue) { $0.formUnion($1.needs) }
    }

    /// The sums that it is computed from, beyond counts and cost.
    private var needs: FunnelNeeds {
        switch name {
        case "maturity", "final_after": .maturity
        case "install_earliest", "install_latest": .installTimes
        case Self.boundMin, Self.boundMax, Self.unbounded: .bounds
        case "estimated_revenue_micros", "estimated_value_share": .bounds
        default: []
        }
    }

    static let all = sums + installs + maturity + estimates

    static func named(_ name: String) -> FunnelColumn? { all.first { $0.name == name } }

    /// The parts of the cost: sums of billed CPM prices, and reported amounts.
    static let billed = "billed_price_micros"
    static let reported = "reported_cost_micros"
    static let costPerInstall = "cpi"
    /// The bounds of the revenue, and the number of postbacks without bounds.
    static let boundMin = "revenue_bound_min_micros"
    static let boundMax = "revenue_bound_max_micros"
    static let unbounded = "unbounded_postbacks"
    static let costStreams = [BidsFold.streamName, CostsFold.streamName]

    private static let bids = [BidsFold.streamName]
    private static let clicks = [OverlayClicksFold.streamName]
    private static let postbacks = [PostbacksFold.streamName]
    private static let notifications = [StoreNotificationsFold.streamName]

    private static let sums: [FunnelColumn] =
        FunnelMeasure.allCases.map(count) + [
            FunnelColumn(
                "null_rate", of: postbacks, .count(.nullValues), per: [.count(.postbacks)]),
            FunnelColumn("revenue_min_micros", of: postbacks, from: ["revenue_min_micros"]) {
                .money(MoneyByCurrency($0.sums.revenueMinMicros))
            },
            FunnelColumn("revenue_max_micros", of: postbacks, from: ["revenue_max_micros"]) {
                .money(MoneyByCurrency($0.sums.revenueMaxMicros))
            },
            FunnelColumn(
                boundMin, of: postbacks,
                from: ["revenue_min_micros", "null_values"]
            ) { .money(MoneyByCurrency($0.sums.bounds.minMicros)) },
            FunnelColumn(
                boundMax, of: postbacks,
                from: ["revenue_max_micros", "null_values"]
            ) {
                // Postbacks without a model have no bounds; showing 0 would be wrong.
                $0.sums.bounds.unboundedPostbacks == 0
                    ? .money(MoneyByCurrency($0.sums.bounds.maxMicros)) : .null
            },
            FunnelColumn(unbounded, of: postbacks, from: [unbounded]) {
                .integer($0.sums.bounds.unboundedPostbacks)
            },
            FunnelColumn("cost_micros", of: [], hasCost: true, from: [billed, reported]) {
                .money($0.cost)
            },
            FunnelColumn("cost_source", of: [], hasCost: true, from: []) {
                $0.sums.cost.source.map { .text($0.rawValue) } ?? .null
            },
            FunnelColumn(reported, of: [CostsFold.streamName], from: [reported]) {
                .money(MoneyByCurrency($0.sums.cost.reportedMicros))
            },
            FunnelColumn("win_rate", of: bids, .count(.wins), per: [.count(.bids)]),
            FunnelColumn(
                "ctr", of: [ImpressionsFold.streamName] + clicks, .count(.clicks),
                per: [.count(.presented), .count(.viewed)],
                aboveOne:
                    "some publishers report clicks without the ads that they presented, and seen listings have no campaign"
            ),
            FunnelColumn(
                "install_rate", of: clicks + postbacks, .count(.installs), per: [.count(.clicks)],
                aboveOne:
                    "installs also follow ads that were seen but not clicked, clicks of earlier days, and ads of networks that report no clicks"
            ),
            FunnelColumn(
                costPerInstall, of: postbacks, hasCost: true,
                FunnelRatio(over: .cost, under: [.count(.installs)])
            ) { $0.costPerInstall },
            FunnelColumn(
                "roas_min", of: postbacks, hasCost: true,
                FunnelRatio(over: .revenueMin, under: [.cost])
            ) { $0.returnOnCost($0.sums.revenueMinMicros) },
            FunnelColumn(
                "roas_max", of: postbacks, hasCost: true,
                FunnelRatio(over: .revenueMax, under: [.cost])
            ) { $0.returnOnCost($0.sums.revenueMaxMicros) },
            FunnelColumn("app_refunds", of: notifications, from: ["app_refunds"]) {
                .integer($0.sales.refunds)
            },
            FunnelColumn(
                "app_refund_reversals", of: notifications, from: ["app_refund_reversals"]
            ) { .integer($0.sales.refundReversals) },
            FunnelColumn(
                "app_refund_rate", of: notifications, .appRefunds, less: .appRefundReversals,
                per: [.appSales],
                aboveOne: "refunds also take back sales of earlier days"),
        ]

    private static let installs = [
        FunnelColumn("install_earliest", of: postbacks, from: []) {
            .time($0.sums.installs.earliestMilliseconds)
        },
        FunnelColumn("install_latest", of: postbacks, from: []) {
            .time($0.sums.installs.latestMilliseconds)
        },
    ]
    private static let maturity = [
        FunnelColumn("maturity", of: postbacks, from: []) { $0.maturity[0] },
        FunnelColumn("final_after", of: [], from: []) { $0.maturity[1] },
    ]
    private static let estimates = [
        FunnelColumn("estimated_revenue_micros", of: postbacks, from: []) {
            $0.sums.bounds.estimatedMicros.map { .money(MoneyByCurrency($0)) } ?? .null
        },
        FunnelColumn("estimated_value_share", of: postbacks, from: []) {
            .ratio($0.sums.bounds.valuedPostbacks, $0.sums[.postbacks])
        },
    ]

    private static func count(_ measure: FunnelMeasure) -> FunnelColumn {
        let streams =
            switch measure {
            case .bids, .overlayRequested, .overlayEligible, .wins: bids
            case .presented, .viewed, .skadnImpressions: [ImpressionsFold.streamName]
            case .clicks, .automaticClicks: clicks
            case .installs, .redownloads, .reengagements, .postbacks, .nullValues: postbacks
            }
        return FunnelColumn(measure.name, of: streams, from: [measure.name]) {
            .integer($0.sums[measure])
        }
    }
}

extension Dictionary {
    /// The only element; nil without any or with several.
    fileprivate var only: Element? { count == 1 ? first : nil }
}

struct FunnelReport: Report {
    var name: String { Funnel.name }
    let note = "Campaigns from bid to revenue."
    let help: String? =
        "funnel joins all streams into one row per day and campaign: docs/reference/funnel.md lists its columns."
    let pageNote = ""
    let pageColumns = ["day"]
    var columnNames: [String] { Funnel.columnNames }
    var measureNames: [String] { Funnel.measureNames }
    var streams: [String] { FunnelSource.streams }
    let abilities: ReportAbilities = [
        .dates, .maturity, .amounts, .groups, .scopes, .sums, .endsWithEvents,
    ]
    let appMeasures = ["app_refunds", "app_refund_reversals", "app_refund_rate"]
    let catalogColumns: Set<String> = ["campaign", "name", "media_source"]

    /// The funnel has its own maturity and does not have curves.
    func check(_: ReportRequest) {}

    func answer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat
    ) throws -> DumpAnswer {
        let conversion = try request.conversion(configuration)
        let funnel = try stores.funnel(request, configuration, converting: conversion)
        // The app of a notification with an unknown bundle id is not known, so scoped readers do not see the notice.
        let bundles = request.isScoped ? nil : funnel.noticeOfBundles
        return try request.answer(
            funnel.table, [missingNotice(funnel.missingStreams), bundles, conversion?.notice],
            of: self, as: format)
    }

    func figure(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> any Figure {
        try FunnelFigure(request, configuration, bounds: .ofRevenue)
    }

    func provableFigure(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> any Figure { try FunnelFigure(request, configuration) }

    func provedParts(of measure: String) -> [String]? {
        appMeasures.contains(measure) ? nil : FunnelColumn.named(measure)?.parts ?? [measure]
    }

    func isExplained(_ measure: String, in request: ReportRequest) -> Bool {
        !request.curve && request.dateRule == nil
            && FunnelColumn.named(measure)?.parts.isEmpty == false
    }

    func division(
        of measure: String, _ request: ReportRequest, _ stores: OpenStores,
        _ configuration: ReportConfiguration
    ) throws -> FunnelDivision? {
        try stores.division(of: measure, request, configuration)
    }

    func costInWords(
        _ measure: String, _ request: ReportRequest, _ stores: OpenStores,
        _ configuration: ReportConfiguration
    ) throws -> String? { try stores.costInWords(measure, request, configuration) }

    func streams(of measure: String) -> [String] {
        FunnelColumn.named(measure)?.eventStreams ?? []
    }

    /// Costs are about other days than their records, and so are postbacks by install.
    func dependence(_ request: ReportRequest) -> RecordDependence {
        var others = [CostsFold.streamName]
        if request.dateRule == .install { others.append(PostbacksFold.streamName) }
        return RecordDependence(
            streamsByHour: streams.filter { !others.contains($0) },
            hasMaturity: FunnelColumn.needs(of: request).contains(.maturity))
    }

    func comparedRows(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> ComparedRows { ComparedRows(try FunnelFigure(request, configuration)) }
}

extension Funnel {
    /// Reports that notifications of unknown apps are left out; nil without any.
    fileprivate var noticeOfBundles: String? {
        unknownBundles.isEmpty
            ? nil
            : "notifications of \(unknownBundles.joined(separator: ", ")) are not counted: add the bundle_id with its "
                + "app_apple_id to store-notifications.yaml"
    }
}
