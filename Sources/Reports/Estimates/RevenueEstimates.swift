import ConversionModels
import Program
import Store
import Streams

/// The revenue of campaigns by install age, with missing conversion values estimated.
///
/// Postbacks and windows count as in `CampaignReturns`, so the interval lies between its bounds.
package struct RevenueEstimates: Report {
    package static let name = "revenue-estimates"
    static let columns: [DumpColumn] = [
        DumpColumn("ad_network_id", .text), DumpColumn("app_id", .integer),
        DumpColumn("campaign", .text),
    ]
    private static let measures = [
        "postbacks", "null_values", "known_revenue_min_micros", "known_revenue_max_micros",
        "revenue_low_micros", "revenue_mean_micros", "revenue_high_micros",
    ]

    package var name: String { Self.name }
    package let note =
        "Revenue of campaigns by age with missing values estimated. No sum of records contains these estimates."
    package let help: String? =
        "revenue-estimates estimates the revenue of campaigns by day of install, up to day 0, 3, 7 and 30 after it, "
        + "with intervals that contain the true value in 90 % of cases: docs/concepts/null-estimates.md."
    package var columnNames: [String] { Self.columns.map(\.name) + [CampaignReturns.throughDay] }
    /// Intervals cannot be summed.
    package let measureNames: [String] = []
    package let streams = [PostbacksFold.streamName]
    /// Campaigns share information, so rows of one reveal something about others.
    package let abilities: ReportAbilities = [.amounts, .endsWithEvents]
    package let reasonWithoutNumber: String? =
        "contains estimates instead of sums of records: explain roas for the bounds of the same postbacks"

    package func check(_ request: ReportRequest) throws(CommandError) {
        try checkComputed(request)
        guard request.measures == nil, !request.showsNames else {
            throw .usage(
                "\(name) cannot be combined with --measures, --curve, --maturity or --names: remove them"
            )
        }
    }

    package func answer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat
    ) throws -> DumpAnswer {
        let conversion = try request.conversion(configuration)
        let estimates = try stores.revenueEstimates(request, configuration, converting: conversion)
        return try request.answer(
            estimates.table, [estimates.notice, conversion?.notice], of: self, as: format)
    }

    /// A row for each age with postbacks.
    fileprivate static func rows(
        _ key: [StoredValue], _ windows: [WindowRevenue], days: [Int]
    ) -> [[ReportValue]] {
        days.compactMap { day in
            let begun = zip(ReturnWindow.all, windows).filter { $0.0.firstDay <= day }
            let ended = begun.filter { $0.0.lastDay <= day }.map(\.1)
            let sum = WindowRevenue(begun.map(\.1))
            guard sum.postbacks != 0 else { return nil }
            let over = WindowRevenue(ended)
            func money(
                of revenue: WindowRevenue, _ isKnown: Bool,
                _ amount: (WindowRevenue.Amounts) -> Int128
            ) -> ReportValue {
                guard isKnown else { return .null }
                // Every currency of the row has an amount, so that a zero is an amount too.
                return .money(
                    MoneyByCurrency(
                        sum.amounts.keys.reduce(into: [:]) {
                            $0[$1] = revenue.amounts[$1].map(amount) ?? 0
                        }))
            }
            // A window that is not over on the day adds an unknown part of its revenue.
            let isOver = ended.count == begun.count
            return zip(columns, key).map { $0.reportValue($1) } + [
                .integer(Int128(day)), .integer(Int128(sum.postbacks)),
                .integer(Int128(sum.missing)),
                money(of: over, sum.isKnown) { $0.knownLow },
                money(of: sum, sum.isKnown) { $0.knownHigh },
                money(of: over, sum.isEstimated) {
                    $0.knownLow + Int128($0.missingLow.low.rounded(.down))
                },
                money(of: sum, sum.isEstimated && isOver) {
                    ($0.knownLow + $0.knownHigh) / 2 + Int128($0.missingMiddle.mean.rounded())
                },
                money(of: sum, sum.isEstimated) {
                    $0.knownHigh + Int128($0.missingHigh.high.rounded(.up))
                },
            ]
        }
    }

    fileprivate static func table(_ rows: [[ReportValue]]) -> ReportTable {
        ReportTable(
            columns: columns.map(\.reportColumn)
                + ([CampaignReturns.throughDay] + measures).map { .init($0, isNumber: true) },
            rows: rows, keyCount: columns.count + 1)
    }
}

extension OpenStores {
    /// Estimates the revenue of campaigns. Conditions select rows without changing estimates; the time range changes
    /// them, because only its installs count.
    package func revenueEstimates(
        _ request: ReportRequest, _ configuration: ReportConfiguration,
        converting conversion: CurrencyConversion? = nil
    ) throws -> (table: ReportTable, notice: String?) {
        guard request.grouping == .all else { throw InspectionError.noGrouping(request.name) }
        var request = request
        let days = try CampaignReturns.days(askedIn: &request)
        let selection = try RowSelection(request, of: RevenueEstimates.columns)
        // Pools contain all campaigns of an app.
        var pooled = ReportRequest(
            name: Funnel.name, sinceMilliseconds: request.sinceMilliseconds,
            untilMilliseconds: request.untilMilliseconds,
            conditions: request.conditions.filter { $0.column == "app_id" })
        pooled.dateRule = .install
        pooled.timeZone = request.timeZone
        var pools = RevenuePools(try FunnelFigure(pooled, configuration), conversion)
        try view(of: [PostbacksFold.streamName]) { view in
            Result { for slice in view.slices { try pools.add(slice) } }
        }.get()
        let campaigns = pools.campaigns { selection.includesBesideTime($0) }
        try conversion?.requireRates()
        let rows = campaigns.flatMap { RevenueEstimates.rows($0.key, $0.windows, days: days) }
        let unknown = campaigns.flatMap(\.windows).reduce(0) {
            $0 + ($1.isEstimated ? 0 : $1.missing)
        }
        return (
            RevenueEstimates.table(rows),
            unknown == 0
                ? nil
                : "\(unknown) null values belong to apps and windows without any known value, or without a model, so there is no estimate for them"
        )
    }
}

extension MoneyByCurrency {
    /// The ratio to a cost; null unless both have the same single currency.
    package func ratio(to cost: MoneyByCurrency) -> ReportValue {
        guard amounts.count == 1, cost.amounts.count == 1, let own = amounts.first,
            let cost = cost.amounts.first, own.currency == cost.currency
        else { return .null }
        return .ratio(own.micros, cost.micros)
    }
}
