import ConversionModels
import Store
import Streams

/// A step of the curves of a dump of cohorts: an age, or a window.
private struct CurveStep {
    let value: StoredValue
    /// How long after the end of its day a cohort has all that can count in the step; nil for one that never ends.
    let completeAfterMilliseconds: Int64?

    static let day = 24 * Hour.milliseconds

    /// The steps of `cohorts`. What happens at the age of a whole day may happen until the next one begins.
    static let ages = CohortAge.all.map { age in
        CurveStep(
            value: .text("\(age.name)"),
            completeAfterMilliseconds: age.lastDay.map { ($0 + 1) * day })
    }

    /// The steps of `install-cohorts`, whose day follows from when a postback came.
    static let windows = (0...2).map { index in
        let latest = PostbackTiming.window(index)?.installWindow(
            received: 0, fineIsZero: false, reEngagement: false, development: false
        ).latest
        return CurveStep(
            value: .integer(Int64(index)), completeAfterMilliseconds: latest.map { -$0 })
    }
}

/// The dumps whose rows are increments of curves, and what their curves go by.
private struct CurveRule {
    let dump: String
    /// The column of the steps.
    let column: String
    let steps: [CurveStep]
    /// The measure by which the days of a curve weigh.
    let size: String

    static let all = [
        CurveRule(
            dump: CohortsKey.table.name, column: "age", steps: CurveStep.ages, size: "buyers"),
        CurveRule(
            dump: InstallCohortsKey.table.name, column: "window", steps: CurveStep.windows,
            size: "installs"),
    ]
}

/// What the rows of one curve add at each step, and the sizes of its cohorts by day.
private struct CurveSums {
    var steps: [[Int128]]
    var sizes: [String: Int128] = [:]
}

extension OpenStores {
    /// A dump of cohorts as curves: a row a step, with all that was counted up to it, and `maturity`, the share of the
    /// cohorts that have all of the step, from 0 to 1, as of the newest record that is folded. It is null for a step
    /// that never ends. What has no cohort is in no curve.
    ///
    /// - Parameter wanted: the measures; nil for all.
    /// - Throws: `noCurves` for another dump, and what `dump` throws.
    package func curves(
        _ query: DumpQuery, measures wanted: [String]? = nil
    ) throws(InspectionError) -> ReportTable {
        guard let rule = CurveRule.all.first(where: { $0.dump == query.name }) else {
            throw .noCurves(query.name, known: CurveRule.all.map(\.dump))
        }
        guard !query.conditions.contains(where: { $0.column == rule.column }) else {
            throw .curveColumn(rule.column)
        }
        let number = try DumpNumber(query)
        if let unknown = wanted?.first(where: { !number.measures.contains($0) }) {
            throw .unknownMeasure(unknown, known: number.measures)
        }
        return try view(of: number.streams) { try $0.curves(number, rule, wanted) }
    }
}

extension StoreView {
    fileprivate func curves(
        _ number: DumpNumber, _ rule: CurveRule, _ wanted: [String]?
    ) throws -> ReportTable {
        let all = number.description.columns
        guard let stepPlace = all.firstIndex(where: { $0.name == rule.column }),
            let sizePlace = number.measures.firstIndex(of: rule.size),
            let cohortPlace = all.firstIndex(where: { $0.kind == .day })
        else { preconditionFailure("\(rule.dump) has other columns") }
        let places = number.selection.places.filter { $0 != stepPlace }
        let zeros = number.measures.map { _ in Int128(0) }
        var curves = RowGroups(
            by: places, empty: CurveSums(steps: rule.steps.map { _ in zeros }))
        try forEachRow(of: number) { values, measures, _ in
            let step = rule.steps.firstIndex { $0.value == values[stepPlace] }
            guard let step, !values[cohortPlace].text.isEmpty else { return }
            curves.add(values) { sums in
                for index in measures.indices { sums.steps[step][index] += Int128(measures[index]) }
                sums.sizes[values[cohortPlace].text, default: 0] += Int128(measures[sizePlace])
            }
        }
        let shown = number.measures.indices.filter { place in
            wanted?.contains(number.measures[place]) ?? true
        }
        let newest = newestMilliseconds
        var rows: [[ReportValue]] = []
        for curve in curves.sorted {
            var sums = zeros
            for (step, added) in zip(rule.steps, curve.sums.steps) {
                for index in sums.indices { sums[index] += added[index] }
                rows.append(
                    zip(places, curve.columns).map { all[$0].reportValue($1) }
                        + [all[stepPlace].reportValue(step.value)]
                        + shown.map { .integer(sums[$0]) }
                        + [Self.maturity(of: curve.sums.sizes, at: step, newest)])
            }
        }
        return ReportTable(
            columns: (places + [stepPlace]).map { all[$0].reportColumn }
                + shown.map { ReportTable.Column(number.measures[$0], isNumber: true) }
                + [ReportTable.Column("maturity", isNumber: true)], rows: rows)
    }

    /// The share of cohorts that have all of a step; days weigh by their sizes, or alike where none has any.
    private static func maturity(
        of sizes: [String: Int128], at step: CurveStep, _ newestMilliseconds: Int64
    ) -> ReportValue {
        guard let after = step.completeAfterMilliseconds else { return .null }
        let isSized = sizes.values.contains { $0 > 0 }
        var (complete, total): (Int128, Int128) = (0, 0)
        for (day, size) in sizes {
            let weight = isSized ? max(size, 0) : 1
            total += weight
            // Days beyond four digits of a year are far ahead, or far behind.
            let midnight = UTC.milliseconds(text: day) ?? (day.hasPrefix("-") ? .min / 2 : .max / 2)
            if newestMilliseconds >= midnight + CurveStep.day + after { complete += weight }
        }
        return .ratio(complete, total)
    }

    /// The largest timestamp of a record that counts, in milliseconds since 1970.
    var newestMilliseconds: Int64 {
        slices.flatMap { slice in
            slice.partitions.map { min($0.watermarkMilliseconds, slice.asOfMilliseconds ?? .max) }
        }.max() ?? 0
    }
}
