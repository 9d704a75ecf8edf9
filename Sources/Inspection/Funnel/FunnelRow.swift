import AggregateStore
import Streams

/// A row of the funnel: its sums, and what is computed from them.
struct FunnelRow {
    private let columns: [StoredValue]
    private let sums: FunnelSums
    private let sales: AppSales
    private let watermarkMilliseconds: Int64?

    init(
        _ columns: [StoredValue], _ sums: FunnelSums, sales: AppSales,
        watermarkMilliseconds: Int64?
    ) {
        self.columns = columns
        self.sums = sums
        self.sales = sales
        self.watermarkMilliseconds = watermarkMilliseconds
    }

    /// False for a row of zeros.
    var isAnything: Bool { sums.isAnything || sales.refunds != 0 || sales.sales != 0 }

    /// The columns after those that rows are grouped by.
    static func columns(
        _ dateRule: FunnelQuery.DateRule, estimates: Bool
    ) -> [ReportTable.Column] {
        let names =
            [
                "bids", "overlay_requested", "overlay_eligible", "wins", "presented", "viewed",
                "skadn_impressions", "clicks", "automatic_clicks", "installs", "redownloads",
                "reengagements",
                "postbacks", "null_values", "null_rate", "revenue_min_micros",
                "revenue_max_micros", "revenue_bound_min_micros", "revenue_bound_max_micros",
                "unbounded_postbacks", "cost_micros", "win_rate", "ctr", "install_rate", "cpi",
                "roas_min", "roas_max", "app_refunds", "app_refund_rate",
            ] + (dateRule == .install ? ["install_earliest", "install_latest"] : [])
            + ["maturity", "final_after"]
            + (estimates ? ["estimated_revenue_micros", "estimated_value_share"] : [])
        return names.map { ReportTable.Column($0, isNumber: true) }
    }

    /// The streams from which a column is computed. Without a store of one of them the value is not
    /// known, and is not 0.
    static func streams(of column: String) -> [String] {
        switch column {
        case "bids", "overlay_requested", "overlay_eligible", "wins", "cost_micros", "win_rate":
            [FunnelSource.bids.name]
        case "presented", "viewed", "skadn_impressions": [FunnelSource.impressions.name]
        case "clicks", "automatic_clicks": [FunnelSource.overlayClicks.name]
        case "ctr": [FunnelSource.impressions.name, FunnelSource.overlayClicks.name]
        case "install_rate": [FunnelSource.overlayClicks.name, FunnelSource.postbacks.name]
        case "cpi", "roas_min", "roas_max": [FunnelSource.bids.name, FunnelSource.postbacks.name]
        case "app_refunds", "app_refund_rate": [FunnelSource.storeNotifications.name]
        case "final_after": []
        default: [FunnelSource.postbacks.name]
        }
    }

    func values(_ dateRule: FunnelQuery.DateRule, estimates: Bool) -> [ReportValue] {
        let keys = columns.map { value -> ReportValue in
            switch value {
            case .text(let text): .text(text)
            case .integer(let integer): .integer(Int128(integer))
            }
        }
        let counts = FunnelSums.Count.allCases.map { ReportValue.integer(sums[$0]) }
        return keys + counts + money
            + (dateRule == .install ? installInterval : []) + [maturity, finalAfter]
            + (estimates ? estimate : [])
    }

    private var money: [ReportValue] {
        [
            Self.rate(sums[.nullValues], sums[.postbacks]),
            .money(MoneyByCurrency(sums.revenueMinMicros)),
            .money(MoneyByCurrency(sums.revenueMaxMicros)),
            .money(MoneyByCurrency(sums.reach.minMicros)),
            // Nothing bounds a postback that no model speaks of: that is no 0.
            sums.reach.unboundedPostbacks == 0
                ? .money(MoneyByCurrency(sums.reach.maxMicros)) : .null,
            .integer(sums.reach.unboundedPostbacks),
            // A CPM price is that of a thousand impressions: fractions of a micro are cut off.
            .money(MoneyByCurrency(sums.billedPriceMicros.mapValues { $0 / 1000 })),
            Self.rate(sums[.wins], sums[.bids]),
            Self.rate(sums[.clicks], sums[.presented] + sums[.viewed]),
            Self.rate(sums[.installs], sums[.clicks]),
            costPerInstall,
            returnOnCost(sums.revenueMinMicros),
            returnOnCost(sums.revenueMaxMicros),
            .integer(sales.refunds),
            Self.rate(sales.refunds, sales.sales),
        ]
    }

    /// Cost per install, in units; null when the cost has several currencies.
    private var costPerInstall: ReportValue {
        guard let cost = sums.billedPriceMicros.only else { return .null }
        return Self.rate(cost.value, sums[.installs] * Self.billedMicrosInUnit)
    }

    /// Revenue divided by cost; null unless both are in one and the same currency.
    private func returnOnCost(_ revenue: [StoredValue: Int128]) -> ReportValue {
        guard let cost = sums.billedPriceMicros.only, let revenue = revenue.only,
            cost.key == revenue.key
        else { return .null }
        return Self.rate(revenue.value * 1000, cost.value)
    }

    /// A unit of currency in millionths of CPM prices.
    private static let billedMicrosInUnit: Int128 = 1_000_000_000

    private var installInterval: [ReportValue] {
        [sums.installs.earliestMilliseconds, sums.installs.latestMilliseconds].map { time in
            time.map { .text(UTC.text(milliseconds: $0)) } ?? .null
        }
    }

    private var maturity: ReportValue {
        guard let watermarkMilliseconds else { return .null }
        let windows = PostbackKinds.windows(
            of: sums.kindsByDay, closedAt: watermarkMilliseconds)
        return Self.rate(windows.closed, windows.all)
    }

    private var finalAfter: ReportValue {
        PostbackKinds.finalAfterMilliseconds(of: sums.kindsByDay)
            .map { .text(UTC.text(milliseconds: $0)) } ?? .null
    }

    /// The estimates, which have columns of their own.
    private var estimate: [ReportValue] {
        [
            sums.reach.estimatedMicros.map { .money(MoneyByCurrency($0)) } ?? .null,
            Self.rate(sums.reach.valuedPostbacks, sums[.postbacks]),
        ]
    }

    private static func rate(_ numerator: Int128, _ denominator: Int128) -> ReportValue {
        ExactRatio(numerator, denominator).map { .decimal($0.text) } ?? .null
    }
}

extension Dictionary {
    /// The one element; nil when there is none or more than one.
    fileprivate var only: Element? { count == 1 ? first : nil }
}
