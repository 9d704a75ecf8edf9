import ConversionModels
import Store
import Streams

/// Campaign revenue compared with cost, by install day and install age: revenue bounds up to days 0, 3, 7 and 30, and
/// the return on the cost of the install day. `docs/reference/returns.md` explains how tight each bound can be.
package struct CampaignReturns: Sendable {
    package static let name = "roas"
    package static let columnNames = Funnel.columnNames + [throughDay]
    package static let measureNames = [
        "installs", "cost_micros", "revenue_min_micros", "revenue_max_micros",
        "roas_min", "roas_max", "maturity",
    ]
    package static let throughDay = "through_day"
    private static let days = [0, 3, 7, 30]

    package let table: ReportTable
    /// The streams without a store. Values that need one of them are null.
    package let missingStreams: [String]

    /// Moves the ages out of the request, leaving a request for the funnel.
    ///
    /// - Throws: `badCondition` for an age without rows.
    static func days(
        askedIn request: inout ReportRequest
    ) throws(InspectionError) -> [Int] {
        let conditions = request.conditions.filter { $0.column == throughDay }
        request.conditions.removeAll { $0.column == throughDay }
        if case .columns(let names) = request.grouping {
            let rest = names.filter { $0 != throughDay }
            request.grouping = rest.isEmpty ? .total : .columns(rest)
        }
        if let unknown = conditions.first(where: { condition in
            !days.contains { "\($0)" == condition.value }
        }) {
            throw .badCondition(
                column: throughDay, value: unknown.value, wanted: "0, 3, 7 or 30")
        }
        return days.filter { day in conditions.allSatisfy { $0.value == "\(day)" } }
    }

    /// The figure that explains a number of the report.
    ///
    /// - Throws: as `returns`; `noThroughDay` when the request does not name the last day.
    package static func figure(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> FunnelFigure {
        var request = request
        request.dateRule = .install
        let isAsked = request.conditions.contains { $0.column == throughDay }
        let asked = try days(askedIn: &request)
        guard isAsked, let day = asked.first else {
            throw InspectionError.noThroughDay(request.name)
        }
        return try FunnelFigure(request, configuration, bounds: .through(day: day))
    }
}

/// A window of postbacks: the days since the install in which its value may change.
struct ReturnWindow {
    let timing: PostbackTiming
    let firstDay: Int
    let lastDay: Int

    /// Apple's windows. Postbacks up to version 3.0 count in the first. A locked window ends earlier; bounds up to its
    /// regular end remain valid.
    static let all = [
        ReturnWindow(timing: .window0, firstDay: 0, lastDay: 2),
        ReturnWindow(timing: .window1, firstDay: 3, lastDay: 7),
        ReturnWindow(timing: .window2, firstDay: 8, lastDay: 35),
    ]
}

extension OpenStores {
    /// Reads the returns from the stores. Postbacks count on the estimated day of their install.
    ///
    /// - Throws: as `funnel`.
    package func returns(
        _ request: ReportRequest, _ configuration: ReportConfiguration,
        converting conversion: CurrencyConversion? = nil
    ) throws -> CampaignReturns {
        var request = request
        request.dateRule = .install
        let days = try CampaignReturns.days(askedIn: &request)
        let figure = try FunnelFigure(
            request, configuration, isConverted: conversion != nil, tellsWindows: true)
        return try view(of: figure.streams) { view in
            var fold = FunnelFold(figure, [.bounds, .cohorts])
            try fold.add(view.slices)
            try fold.requireKnown()
            let groups =
                if let conversion { try fold.groups(converting: conversion) } else { fold.groups }
            let missing = FunnelSource.streams.filter { !view.streams.contains($0) }
            return CampaignReturns(
                groups, figure, days: days, watermarkMilliseconds: try view.postbacksWatermark ?? 0,
                models: fold.models, missingStreams: missing)
        }
    }
}

extension CampaignReturns {
    fileprivate init(
        _ groups: [FunnelFold.Group], _ figure: FunnelFigure, days: [Int],
        watermarkMilliseconds: Int64,
        models: [Int64: ConversionModel], missingStreams: [String]
    ) {
        let isCostKnown = FunnelColumn.costStreams.contains { !missingStreams.contains($0) }
        let areInstallsKnown = !missingStreams.contains(PostbacksFold.streamName)
        var rows: [[ReportValue]] = []
        for group in groups {
            let sums = group.sums
            let row = FunnelRow(sums: sums, sales: AppSales())
            guard sums[.installs] != 0 || sums[.postbacks] != 0 || !sums.cost.isEmpty else {
                continue
            }
            for day in days {
                // Without a postback, installs and revenue are zero.
                let revenue: (min: [StoredValue: Int128], max: [StoredValue: Int128]?) =
                    sums[.postbacks] == 0 && areInstallsKnown
                    ? (row.cost.zeros, row.cost.zeros) : sums.revenue(through: day)
                rows.append(
                    zip(figure.selection.columns, group.columns).map { $0.reportValue($1) } + [
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
                            ? sums.maturity(through: day, at: watermarkMilliseconds, models)
                            : .null,
                    ])
            }
        }
        let keys = figure.selection.columns.map(\.reportColumn)
        self.init(
            table: ReportTable(
                columns: keys + [ReportTable.Column(Self.throughDay, isNumber: true)]
                    + Self.measureNames.map { ReportTable.Column(measure: $0) },
                rows: rows, keyCount: keys.count + 1), missingStreams: missingStreams)
    }
}

extension MoneyByCurrency {
    /// Zero in each of the currencies.
    fileprivate var zeros: [StoredValue: Int128] {
        amounts.reduce(into: [:]) { $0[.text($1.currency)] = 0 }
    }
}

extension FunnelSums {
    /// Bounds of the installs' revenue through a day since the install. The lower bound sums the windows that have
    /// ended by then, the upper bound those that have begun. A single postback without an upper bound makes the upper
    /// bound nil.
    fileprivate func revenue(
        through day: Int
    ) -> (min: [StoredValue: Int128], max: [StoredValue: Int128]?) {
        var (least, most): ([StoredValue: Int128], [StoredValue: Int128]) = ([:], [:])
        var isBounded = true
        for (window, bounds) in zip(ReturnWindow.all, windowBounds) where window.firstDay <= day {
            // Both keep the same currencies, so that a zero is an amount too.
            least.merge(
                window.lastDay <= day ? bounds.minMicros : bounds.minMicros.mapValues { _ in 0 },
                uniquingKeysWith: +)
            most.merge(bounds.maxMicros, uniquingKeysWith: +)
            isBounded = isBounded && bounds.unboundedPostbacks == 0
        }
        return (least, isBounded ? most : nil)
    }

    /// The share of the installs' cohorts that have received the postbacks of all windows begun by the day. Days are
    /// weighted by installs, or equally without any.
    fileprivate func maturity(
        through day: Int, at watermark: Int64, _ models: [Int64: ConversionModel]
    ) -> ReportValue {
        let begun = ReturnWindow.all.filter { $0.firstDay <= day }
        return installsByDay.share(completeAt: watermark) { midnight, app in
            begun.map { $0.timing.cohortEnd(midnight: midnight, model: models[app]) }.max() ?? 0
        }
    }
}

struct ReturnsReport: Report {
    var name: String { CampaignReturns.name }
    let note = "Cost and revenue of campaigns, by cohort and age."
    let help: String? =
        "roas reports revenue and cost of campaigns by day of install, up to day 0, 3, 7 and 30 after it, "
        + "as bounds: docs/reference/returns.md."
    var columnNames: [String] { CampaignReturns.columnNames }
    var measureNames: [String] { CampaignReturns.measureNames }
    var streams: [String] { FunnelSource.streams }
    let abilities: ReportAbilities = [.amounts, .groups, .scopes, .endsWithEvents]

    func answer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat
    ) throws -> DumpAnswer {
        let conversion = try request.conversion(configuration)
        let returns = try stores.returns(request, configuration, converting: conversion)
        return try request.answer(
            returns.table, [missingNotice(returns.missingStreams), conversion?.notice], of: self,
            as: format)
    }

    func figure(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> any Figure { try CampaignReturns.figure(request, configuration) }

    func isExplained(_ measure: String, in _: ReportRequest) -> Bool { measure != "maturity" }

    func division(
        of measure: String, _ request: ReportRequest, _ stores: OpenStores,
        _ configuration: ReportConfiguration
    ) throws -> FunnelDivision? {
        try stores.division(of: measure, inReturns: request, configuration)
    }
}
