import ConversionModels
import Store
import Streams

/// A step of the curves of a dump of cohorts: an age, or a window.
private struct CurveStep {
    let value: StoredValue
    /// The instant at which a cohort's data up to the step is complete, given the beginning of its day and its app's
    /// model; nil for a step that never ends.
    let end: @Sendable (_ midnight: Int64, _ model: ConversionModel?) -> Int64?

    /// The steps of `cohorts`. An age of whole days includes events until the next day begins.
    static let ages = CohortAge.all.map { age in
        CurveStep(value: .text("\(age.name)")) { midnight, _ in
            age.lastDay.map { midnight + ($0 + 2) * CohortSizes.day }
        }
    }

    /// The steps of `install-cohorts`. Their day is estimated from the postback's arrival.
    static let windows = (0...2).map { index in
        CurveStep(value: .integer(Int64(index))) { midnight, model in
            (0...index).compactMap { PostbackTiming.window($0) }
                .map { $0.cohortEnd(midnight: midnight, model: model) }.max()
        }
    }
}

/// The sizes of cohorts by day and app.
struct CohortSizes {
    private var sizes: [String: [Int64: Int128]] = [:]

    static let day = 24 * Hour.milliseconds

    mutating func add(_ size: Int128, on day: String, app: Int64) {
        sizes[day, default: [:]][app, default: 0] += size
    }

    mutating func add(_ other: CohortSizes) {
        sizes.merge(other.sizes) { $0.merging($1, uniquingKeysWith: +) }
    }

    /// The share of the cohorts that are complete at an instant, weighted by size, or equally per day if all are empty.
    ///
    /// - Parameter end: when a cohort is complete, given the beginning of its day and its app.
    func share(
        completeAt instant: Int64, _ end: (_ midnight: Int64, _ app: Int64) -> Int64
    ) -> ReportValue {
        let isSized = sizes.values.contains { $0.values.contains { $0 > 0 } }
        var (complete, total): (Int128, Int128) = (0, 0)
        for (day, apps) in sizes where !day.isEmpty {
            // Years of more than four digits lie far in the past or future.
            let midnight =
                UTC.milliseconds(text: day) ?? (day.hasPrefix("-") ? .min / 2 : .max / 2)
            if isSized {
                for (app, size) in apps where size > 0 {
                    total += size
                    if instant >= end(midnight, app) { complete += size }
                }
            } else {
                total += 1
                if apps.keys.allSatisfy({ instant >= end(midnight, $0) }) { complete += 1 }
            }
        }
        return .ratio(complete, total)
    }
}

/// The dumps with increments of curves in their rows, and the columns of these curves.
private struct CurveRule {
    let dump: String
    /// The column with the steps.
    let column: String
    let steps: [CurveStep]
    /// The measure that weights the days of a curve.
    let size: String

    static let all = [
        CurveRule(
            dump: CohortsKey.table.name, column: "age", steps: CurveStep.ages, size: "buyers"),
        CurveRule(
            dump: InstallCohortsKey.table.name, column: "window", steps: CurveStep.windows,
            size: "installs"),
    ]

    /// The name in conditions that selects the rows of all steps up to one.
    var through: String { "through_\(column)" }

    static func of(_ dump: String) -> CurveRule? { all.first { $0.dump == dump } }
}

/// A condition on increments of curves: the rows with a cohort and any step up to one.
struct ThroughStep {
    private let columnName: String
    private let step: Int
    private let cohort: Int
    private let steps: [StoredValue]

    /// Nil for a condition on a column.
    ///
    /// - Throws: `badCondition` for an unknown step.
    init?(
        _ condition: ReportRequest.Condition, of dump: String, _ columns: [DumpColumn]
    ) throws(InspectionError) {
        guard let rule = CurveRule.of(dump), condition.column == rule.through,
            let step = columns.firstIndex(where: { $0.name == rule.column }),
            let cohort = columns.firstIndex(where: { $0.kind == .day })
        else { return nil }
        let names = rule.steps.map { columns[step].reportValue($0.value).plainText }
        guard let last = names.firstIndex(of: condition.value) else {
            throw .badCondition(
                column: condition.column, value: condition.value,
                wanted: "one of \(names.joined(separator: ", "))")
        }
        columnName = rule.column
        self.step = step
        self.cohort = cohort
        steps = rule.steps[...last].map(\.value)
    }

    func includes(_ values: [StoredValue]) -> Bool {
        !values[cohort].text.isEmpty && includesBesideTime(values)
    }

    /// The same for a key of rows, whose cohort is not known yet.
    func includesBesideTime(_ values: [StoredValue]) -> Bool { steps.contains(values[step]) }

    func includes(_ value: StoredValue, ofColumn name: String) -> Bool {
        name != columnName || steps.contains(value)
    }
}

extension DumpDescription {
    /// The name in conditions that selects the rows of all steps of a curve up to one; nil for rows without curves.
    var throughStep: String? { CurveRule.of(name)?.through }
}

extension ReportRequest {
    /// The conditions that select the increments in a row of a curve, given the row's key.
    package func incrementConditions(_ key: [Condition]) -> [Condition] {
        guard curve, let rule = CurveRule.of(name) else { return key }
        return key.map { condition in
            condition.column == rule.column
                ? Condition(column: rule.through, value: condition.value) : condition
        }
    }
}

/// The increments of one curve by step, and the sizes of its cohorts by day.
private struct CurveSums {
    var steps: [ExactSums]
    var sizes = CohortSizes()
}

extension OpenStores {
    /// A dump of cohorts as curves: one row per step with the cumulated measures, and `maturity`. This is the share of
    /// the cohorts with complete data up to the step, from 0 to 1, as of the newest folded record. It is null for a
    /// step that never ends. Rows without a cohort are left out.
    ///
    /// - Throws: `noCurves` for another dump; otherwise as `dump`.
    package func curves(
        _ request: ReportRequest, _ configuration: DumpConfiguration = DumpConfiguration(),
        converting conversion: CurrencyConversion? = nil
    ) throws(InspectionError) -> ReportTable {
        guard let rule = CurveRule.of(request.name) else {
            throw .noCurves(request.name, valid: CurveRule.all.map(\.dump))
        }
        if let onStep = request.conditions.first(where: {
            [rule.column, rule.through].contains($0.column)
        }) {
            throw .curveColumn(onStep.column)
        }
        let figure = try DumpFigure(request, configuration)
        let hasAmounts =
            (request.measures ?? figure.measures).contains(where: MoneyByCurrency.isMoney)
        let conversion = hasAmounts ? conversion : nil
        if let unknown = request.measures?.first(where: { !figure.measures.contains($0) }) {
            throw .unknownMeasure(unknown, valid: figure.measures)
        }
        let all = figure.description.columns
        guard let cohort = all.first(where: { $0.kind == .day })?.name else {
            preconditionFailure("\(rule.dump) has no cohorts")
        }
        var increments = request
        increments.measures = nil
        increments.grouping = .columns(
            (figure.selection.columns.map(\.name) + [rule.column, cohort]
                + all.map(\.name).filter { $0 == Dump.app }).uniqued)
        let wanted = try DumpFigure(increments, configuration)
        var names = figure.selection.columns.map(\.name)
        if conversion != nil, !request.grouping.names(Dump.currency) {
            names.removeAll { $0 == Dump.currency }
        }
        return try view(of: figure.streams) { view in
            var dump = try view.dump(wanted)
            if let conversion {
                dump = try dump.converted(by: conversion, dropping: nil)
                dump.onlyCurrency = conversion.target
            }
            return dump.curves(
                rule, cohort: cohort, by: names,
                shown: figure.request.measures, newestMilliseconds: try view.newestMilliseconds,
                models: try view.conversionModels())
        }
    }
}

extension Array where Element: Hashable {
    var uniqued: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

extension Dump {
    /// Cumulates increments by cohort and step.
    ///
    /// - Parameters:
    ///   - cohort: name of the column with the days.
    ///   - names: names of the columns that group curves.
    ///   - shownMeasures: nil for all.
    fileprivate func curves(
        _ rule: CurveRule, cohort: String, by names: [String], shown shownMeasures: [String]?,
        newestMilliseconds newest: Int64, models: [Int64: ConversionModel]
    ) -> ReportTable {
        guard let stepIndex = columns.firstIndex(where: { $0.name == rule.column }),
            let sizeIndex = measures.firstIndex(of: rule.size),
            let cohortIndex = columns.firstIndex(where: { $0.name == cohort })
        else { preconditionFailure("\(rule.dump) has other columns") }
        let indices = columns.indices.filter {
            $0 != stepIndex && names.contains(columns[$0].name)
        }
        let currency = indices.firstIndex { columns[$0].name == Self.currency }
        let appIndex = columns.firstIndex { $0.name == Dump.app }
        let zeros = ExactSums(count: measures.count)
        var curves = RowGroups(
            by: indices, empty: CurveSums(steps: rule.steps.map { _ in zeros }))
        for row in rows {
            let step = rule.steps.firstIndex { $0.value == row.columns[stepIndex] }
            guard let step, !row.columns[cohortIndex].text.isEmpty else { continue }
            curves.add(row.columns) { sums in
                sums.steps[step].add(row.measures)
                sums.sizes.add(
                    row.measures[sizeIndex] ?? 0, on: row.columns[cohortIndex].text,
                    app: appIndex.map { row.columns[$0].integer } ?? 0)
            }
        }
        let shown = measures.indices.filter { shownMeasures?.contains(measures[$0]) ?? true }
        var table: [[ReportValue]] = []
        for curve in curves.sorted {
            var sums = zeros
            for (step, added) in zip(rule.steps, curve.sums.steps) {
                sums.add(added)
                table.append(
                    zip(indices, curve.columns).map { columns[$0].reportValue($1) }
                        + [columns[stepIndex].reportValue(step.value)]
                        + shown.map { index in
                            let currency =
                                currency.map { curve.columns[$0] } ?? onlyCurrency.map { .text($0) }
                            guard let currency, let sum = sums[index],
                                MoneyByCurrency.isMoney(measures[index])
                            else { return sums[index].reportValue }
                            return .money(MoneyByCurrency([currency: sum]))
                        }
                        // The sizes weight the cohorts.
                        + [
                            sums[sizeIndex] == nil
                                ? .null
                                : Self.maturity(of: curve.sums.sizes, at: step, newest, models)
                        ])
            }
        }
        return ReportTable(
            columns: (indices + [stepIndex]).map { columns[$0].reportColumn }
                + shown.map { ReportTable.Column(measure: measures[$0]) }
                + [ReportTable.Column("maturity", isNumber: true)], rows: table,
            keyCount: indices.count + 1)
    }

    /// The share of cohorts with complete data up to a step; null for a step that never ends.
    private static func maturity(
        of sizes: CohortSizes, at step: CurveStep, _ newestMilliseconds: Int64,
        _ models: [Int64: ConversionModel]
    ) -> ReportValue {
        guard step.end(0, nil) != nil else { return .null }
        return sizes.share(completeAt: newestMilliseconds) { midnight, app in
            step.end(midnight, models[app]) ?? .max
        }
    }
}

extension OpenStores {
    /// Streams of events. Their records arrive when something happens. Costs are excluded: a cost report is imported
    /// earlier or later than its day, and must not move the period that reports show.
    package static let eventStreams = FunnelSource.streams.filter { $0 != CostsFold.streamName }

    /// The time of the newest record of a report, in milliseconds since 1970; 0 without records. Ignores records that
    /// are dated ahead of the clock. Reports that join streams use costs only without events.
    package func newestMilliseconds(of name: String) throws(InspectionError) -> Int64 {
        let report = try requireReport(name)
        guard report.abilities.contains(.endsWithEvents) else {
            return try view(of: report.streams) { try $0.newestMilliseconds }
        }
        return try view(of: FunnelSource.streams) { view in
            let newest = try view.limited(to: Set(Self.eventStreams)).newestMilliseconds
            return newest > 0 ? newest : try view.newestMilliseconds
        }
    }
}

extension StoreView {
    /// The time of the newest counted record, in milliseconds since 1970; 0 without one.
    var newestMilliseconds: Int64 {
        get throws { try slices.compactMap { try $0.newestMilliseconds() }.max() ?? 0 }
    }
}
