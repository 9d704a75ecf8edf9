import ConversionModels
import Store
import Streams

/// What campaigns brought for their cost, by the day of the install and how old the installs were: bounds of the
/// revenue up to the days 0, 3, 7 and 30, and the return on the cost of that day. `docs/roas.md` says how far each
/// bound can be known.
package struct CampaignReturns: Sendable {
    package static let name = "roas"
    package static let measureNames = [
        throughDay, "installs", "cost_micros", "revenue_min_micros", "revenue_max_micros",
        "roas_min", "roas_max", "maturity",
    ]
    private static let throughDay = "through_day"
    private static let days = [0, 3, 7, 30]

    package let table: ReportTable
    /// The streams without a store. Values that need one of them are null.
    package let missingStreams: [String]
}

/// A window of postbacks, by the days since the install in which its value may change.
private struct ReturnWindow {
    let firstDay: Int
    let lastDay: Int
    /// How long after the end of its day a cohort has all postbacks of the window.
    let completeAfterMilliseconds: Int64

    private init(_ index: Int, days: ClosedRange<Int>) {
        firstDay = days.lowerBound
        lastDay = days.upperBound
        let latest = PostbackTiming.window(index)?.installWindow(
            received: 0, fineIsZero: false, reEngagement: false, development: false
        ).latest
        completeAfterMilliseconds = -(latest ?? 0)
    }

    /// Apple's windows. What came up to version 3.0 counts as of the first.
    static let all = [
        ReturnWindow(0, days: 0...2), ReturnWindow(1, days: 3...7), ReturnWindow(2, days: 8...35),
    ]
}

extension OpenStores {
    /// Reads the returns from the stores. Postbacks count on the latest day that their install can be of.
    ///
    /// - Throws: as `funnel`.
    package func returns(
        _ query: FunnelQuery, converting conversion: CurrencyConversion? = nil
    ) throws(InspectionError) -> CampaignReturns {
        var query = query
        query.dateRule = .install
        query.tellsWindows = true
        let number = try FunnelNumber(query, isConverted: conversion != nil)
        return try view(of: number.streams) { view in
            var fold = FunnelFold(number)
            for slice in view.slices { try fold.add(slice) }
            let groups =
                if let conversion { try fold.groups(converting: conversion) } else { fold.groups }
            let missing = FunnelSource.streams.filter { !view.streams.contains($0) }
            return CampaignReturns(
                groups, number, watermarkMilliseconds: try view.postbacksWatermark ?? 0,
                missingStreams: missing)
        }
    }
}

extension CampaignReturns {
    fileprivate init(
        _ groups: [FunnelFold.Group], _ number: FunnelNumber, watermarkMilliseconds: Int64,
        missingStreams: [String]
    ) {
        let isCostKnown = FunnelColumn.costStreams.contains { !missingStreams.contains($0) }
        let areInstallsKnown = !missingStreams.contains(PostbacksFold.streamName)
        var rows: [[ReportValue]] = []
        for group in groups {
            let sums = group.sums
            let row = FunnelRow(
                sums: sums, sales: AppSales(), watermarkMilliseconds: watermarkMilliseconds)
            guard sums[.installs] != 0 || sums[.postbacks] != 0 || !sums.cost.isEmpty else {
                continue
            }
            for day in Self.days {
                // Without a postback there is no install, and nothing was brought.
                let revenue: (min: [StoredValue: Int128], max: [StoredValue: Int128]?) =
                    sums[.postbacks] == 0 && areInstallsKnown
                    ? (row.cost.zeros, row.cost.zeros) : sums.revenue(through: day)
                rows.append(
                    zip(number.selection.columns, group.columns).map { $0.reportValue($1) } + [
                        .integer(Int128(day)),
                        areInstallsKnown ? .integer(sums[.installs]) : .null,
                        isCostKnown ? .money(row.cost) : .null,
                        areInstallsKnown ? .money(MoneyByCurrency(revenue.min)) : .null,
                        revenue.max.map {
                            areInstallsKnown ? .money(MoneyByCurrency($0)) : .null
                        } ?? .null,
                        areInstallsKnown ? row.returnOnCost(revenue.min) : .null,
                        areInstallsKnown
                            ? revenue.max.map { row.returnOnCost($0) } ?? .null : .null,
                        areInstallsKnown
                            ? sums.maturity(through: day, at: watermarkMilliseconds) : .null,
                    ])
            }
        }
        let keys = number.selection.columns.map(\.reportColumn)
        self.init(
            table: ReportTable(
                columns: keys + Self.measureNames.map { ReportTable.Column(measure: $0) },
                rows: rows, keyCount: keys.count + 1), missingStreams: missingStreams)
    }
}

extension MoneyByCurrency {
    /// Nothing, in each of the currencies.
    fileprivate var zeros: [StoredValue: Int128] {
        amounts.reduce(into: [:]) { $0[.text($1.currency)] = 0 }
    }
}

extension FunnelSums {
    /// Bounds of what the installs had brought by the end of a day since: at least what windows that are over by then
    /// say, at most what windows that have begun say. There is no upper bound where a postback has none.
    fileprivate func revenue(
        through day: Int
    ) -> (min: [StoredValue: Int128], max: [StoredValue: Int128]?) {
        var (least, most): ([StoredValue: Int128], [StoredValue: Int128]) = ([:], [:])
        var isBounded = true
        for (window, bounds) in zip(ReturnWindow.all, windowBounds) where window.firstDay <= day {
            // The currencies are the same, so that what is 0 yet is an amount too.
            least.merge(
                window.lastDay <= day ? bounds.minMicros : bounds.minMicros.mapValues { _ in 0 },
                uniquingKeysWith: +)
            most.merge(bounds.maxMicros, uniquingKeysWith: +)
            isBounded = isBounded && bounds.unboundedPostbacks == 0
        }
        return (least, isBounded ? most : nil)
    }

    /// The share of the installs' days whose postbacks of all windows that have begun by the day have come; days weigh
    /// by installs, or alike where there are none.
    fileprivate func maturity(through day: Int, at watermark: Int64) -> ReportValue {
        let after =
            ReturnWindow.all.filter { $0.firstDay <= day }.map(\.completeAfterMilliseconds).max()
            ?? 0
        let isSized = installsByDay.values.contains { $0 > 0 }
        let days = isSized ? Array(installsByDay.keys) : Array(kindsByDay.keys)
        var (complete, total): (Int128, Int128) = (0, 0)
        for day in days {
            guard let midnight = UTC.milliseconds(text: day) else { continue }
            let weight = isSized ? installsByDay[day] ?? 0 : 1
            total += weight
            if watermark >= midnight + 24 * Hour.milliseconds + after { complete += weight }
        }
        return .ratio(complete, total)
    }
}
