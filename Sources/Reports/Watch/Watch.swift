import ConfigurationValues
import Store
import Streams

/// The rules of `watch.yaml`, validated against the existing dumps.
package struct Watch: Sendable {
    let file: WatchFile

    /// Throws for unknown names of dumps, columns and measures.
    package init(_ file: WatchFile) throws(ConfigurationError) {
        self.file = file
        for rule in file.silences { _ = try WatchedRows(rule) }
        for rule in file.rates { _ = try WatchedRows(rule) }
        for rule in file.budgets { _ = try WatchedBudget(rule) }
    }
}

extension OpenStores {
    /// Judges the completed hours of the stores.
    ///
    /// - Parameters:
    ///   - nowMilliseconds: only earlier hours are judged, since 1970; nil for the time of the clock, or of the newest
    ///     record if the clock is ignored.
    ///   - sinceMilliseconds: also returns warnings that closed later than this; nil for open ones only.
    /// - Throws: `ConfigurationError` and `InspectionError`.
    package func watch(
        _ watch: Watch, nowMilliseconds: Int64? = nil, sinceMilliseconds: Int64? = nil
    ) throws -> WatchReport {
        let answer: Result<WatchReport, any Error> = try view(of: Self.streams) { view in
            Result {
                try view.watch(
                    watch,
                    nowMilliseconds: nowMilliseconds ?? present?.milliseconds
                        ?? view.newestMilliseconds,
                    sinceMilliseconds: sinceMilliseconds ?? .max)
            }
        }
        return try answer.get()
    }
}

extension StoreView {
    fileprivate func watch(
        _ watch: Watch, nowMilliseconds: Int64, sinceMilliseconds: Int64
    ) throws -> WatchReport {
        var report = WatchReport(nowMilliseconds: nowMilliseconds, warnings: [])
        for rule in watch.file.silences {
            report.add(try judgement(of: .silence(rule), nowMilliseconds))
        }
        for stream in Set(try watch.file.silences.flatMap { try WatchedRows($0).whole.streams })
            .sorted()
        {
            report.warnings +=
                try StreamSilence(
                    slices.filter { $0.stream == stream }, before: nowMilliseconds
                ).map { [$0.warning] } ?? []
        }
        for rule in watch.file.rates {
            report.add(try judgement(of: .rate(rule), nowMilliseconds))
        }
        for rule in watch.file.budgets {
            try judge(try WatchedBudget(rule), &report)
        }
        report.warnings.removeAll { $0.closedMilliseconds.map { $0 <= sinceMilliseconds } ?? false }
        return report
    }

    /// The warnings of a rule's rows, perhaps from the cache.
    private func judgement(
        of rule: WatchRule, _ nowMilliseconds: Int64
    ) throws -> WatchReport {
        let rows = try rule.rows
        let end = Hour(containing: nowMilliseconds)
        let judgements = slices.lazy.compactMap(\.cache?.judgements).first
        let state = judgements == nil ? nil : try judgedState(of: rows, before: end)
        if let state, let known = judgements?.report(rule, state) { return known }
        var report = WatchReport(nowMilliseconds: nowMilliseconds, warnings: [])
        try judge(rows, rule, &report)
        if let state { judgements?.keep(report, rule, state) }
        return report
    }

    /// The state of the hours that a rule judges; nil if it is not known.
    private func judgedState(
        of rows: WatchedRows, before end: Hour
    ) throws -> WatchJudgements.State? {
        var state = WatchJudgements.State(end: end, hours: [])
        let read = Set(rows.whole.streams + rows.part.streams)
        for slice in slices where read.contains(slice.stream) {
            guard let hours = try slice.cache?.hours.hours(of: slice) else { return nil }
            state.hours.append(
                .init(
                    identity: hours.identity, partitions: slice.partitions.map(\.partition),
                    records: hours.digest(before: end.text)))
        }
        return state
    }

    private func judge(
        _ rows: WatchedRows, _ rule: WatchRule, _ report: inout WatchReport
    ) throws {
        report.missingStreams.formUnion(Set(rows.whole.streams).subtracting(streams))
        let end = Hour(containing: report.nowMilliseconds)
        for series in try series(of: rows, before: end, &report) {
            guard series.hours.whole.count > WatchLearning.judgesAfter else {
                report.youngCount += 1
                continue
            }
            report.judgedCount += 1
            var rows = rows
            rows.values = series.values
            report.warnings += rule.warnings(of: rows, series.hours)
        }
    }

    /// The hours of each row of a rule up to an hour, sorted by the columns. If there are too many rows, the largest
    /// are kept: senders of records choose the names in them.
    private func series(
        of rows: WatchedRows, before end: Hour, _ report: inout WatchReport
    ) throws -> [(values: [StoredValue], hours: WatchedHours)] {
        let earliest = end.hoursSince1970 - WatchedRows.hoursRead
        let columns = rows.whole.selection.indices
        var groups = RowGroups(
            by: Array(columns.indices), empty: [Int64: (part: Int64, whole: Int64)]())
        for (isPart, figure, measures, less) in [
            (true, rows.part, rows.partMeasures, rows.lessMeasures),
            (false, rows.whole, rows.wholeMeasures, []),
        ] where !measures.isEmpty {
            let sums = WatchedHourSums(
                figure: figure, measures: measures, less: less, columns: columns,
                hours: earliest..<end.hoursSince1970)
            try sums.forEach(in: slices) { row, hour, amount in
                // Sums near the integer limit are not meaningful rates.
                let amount = Int64(truncatingIfNeeded: amount)
                groups.add(row) { hours in
                    var counted = hours[hour, default: (0, 0)]
                    if isPart { counted.part &+= amount } else { counted.whole &+= amount }
                    hours[hour] = counted
                }
            }
        }
        var sorted = groups.sorted
        if sorted.count > WatchedRows.mostRows {
            report.leftOut[rows.rule] = sorted.count - WatchedRows.mostRows
            let sizes = sorted.indices.map { index in
                (index, sorted[index].sums.values.reduce(Int128(0)) { $0 + Int128($1.whole) })
            }
            let kept = sizes.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.prefix(WatchedRows.mostRows)
            sorted = kept.map(\.0).sorted().map { sorted[$0] }
        }
        return sorted.compactMap { group in
            WatchedHours(group.sums, before: end).map { (group.columns, $0) }
        }
    }
}

/// A rule on hours, as in the file.
enum WatchRule: Equatable {
    case silence(WatchFile.Silence)
    case rate(WatchFile.Rate)

    var rows: WatchedRows {
        get throws(ConfigurationError) {
            switch self {
            case .silence(let rule): try WatchedRows(rule)
            case .rate(let rule): try WatchedRows(rule)
            }
        }
    }

    fileprivate func warnings(of rows: WatchedRows, _ hours: WatchedHours) -> [WatchWarning] {
        switch self {
        case .silence:
            return SilenceWatch.warnings(of: hours.whole).map { rows.warning($0, hours) }
        case .rate(let rule):
            let kind = rule.isShare ? RateWatch.Kind.share : .ratio
            return RateWatch.warnings(
                ofPart: hours.part, whole: hours.whole, kind,
                least: Double(rule.leastMicros) / 1_000_000
            ).map { rows.warning($0, hours, kind) }
        }
    }
}

/// The hours of one row, from the first with any of the whole to the last completed hour.
struct WatchedHours {
    let start: Hour
    private(set) var part: [Int64]
    private(set) var whole: [Int64]

    init?(_ sums: [Int64: (part: Int64, whole: Int64)], before end: Hour) {
        guard let first = sums.filter({ $0.value.whole > 0 }).keys.min() else { return nil }
        start = Hour(hoursSince1970: first)
        let count = Int(end.hoursSince1970 - first)
        part = Array(repeating: 0, count: count)
        whole = part
        for (hour, sum) in sums where hour >= first {
            // Negative in an hour in which more is subtracted than counted.
            part[Int(hour - first)] = sum.part
            whole[Int(hour - first)] = max(sum.whole, 0)
        }
    }

    func end(ofHour index: Int) -> Int64 { begin(ofHour: index + 1) }

    func begin(ofHour index: Int) -> Int64 {
        (start.hoursSince1970 + Int64(index)) * Hour.milliseconds
    }
}

/// The rows of a dump that a rule judges.
struct WatchedRows {
    /// Two years; older hours are irrelevant.
    static let hoursRead: Int64 = 2 * 365 * 24
    static let mostRows = 1000

    let rule: String
    let part: DumpFigure
    let whole: DumpFigure
    /// Indices of measures among those of the dump.
    let partMeasures: [Int]
    /// The measures that are subtracted from the part.
    let lessMeasures: [Int]
    let wholeMeasures: [Int]
    private let rows: WatchFile.Rows
    /// The values of the current row.
    var values: [StoredValue] = []

    init(_ rule: WatchFile.Silence) throws(ConfigurationError) {
        try self.init(rule.name, rule.rows, part: nil, whole: rule.sum)
    }

    init(_ rule: WatchFile.Rate) throws(ConfigurationError) {
        try self.init(rule.name, rule.rows, part: rule.part, whole: rule.whole)
    }

    private init(
        _ rule: String, _ rows: WatchFile.Rows, part: WatchFile.Sum?, whole: WatchFile.Sum
    ) throws(ConfigurationError) {
        self.rule = rule
        self.rows = rows
        self.whole = try rows.figure(whole)
        self.part =
            try part.map { sum throws(ConfigurationError) in try rows.figure(sum) }
            ?? self.whole
        wholeMeasures = try self.whole.indices(of: whole.measures)
        partMeasures = try self.part.indices(of: part?.measures ?? [])
        lessMeasures = try self.part.indices(of: part?.less ?? [])
    }

    private var series: [ReportRequest.Condition] {
        zip(whole.selection.columns, values).map { column, value in
            ReportRequest.Condition(
                column: column.name, value: column.reportValue(value).plainText)
        }
    }

    func warning(
        _ warning: SeriesWarning<SilenceWatch.Evidence>, _ hours: WatchedHours
    ) -> WatchWarning {
        let evidence = warning.evidence
        let silent = (warning.closed ?? hours.whole.count) - evidence.lastSpoke - 1
        let isForgotten = warning.closed.map { hours.whole[$0] == 0 } ?? false
        var words = "silent for \(silent) h, usual gap \(evidence.usualHours) h"
        if isForgotten { words += "; closed because two weeks of silence count as usual" }
        return WatchWarning(
            kind: .silence, rule: rule, series: series,
            openedMilliseconds: hours.end(ofHour: warning.opened),
            closedMilliseconds: warning.closed.map(hours.end(ofHour:)),
            found: .integer(Int128(silent)), low: .null,
            high: .integer(Int128(evidence.usualHours)), unit: "hours", words: words,
            look: look(from: hours.begin(ofHour: evidence.lastSpoke), whole))
    }

    func warning(
        _ warning: SeriesWarning<RateWatch.Evidence>, _ hours: WatchedHours, _ kind: RateWatch.Kind
    ) -> WatchWarning {
        let evidence = warning.evidence
        let found = ReportValue.ratio(Int128(evidence.part), Int128(evidence.whole))
        func rate(_ rate: Double) -> ReportValue {
            .ratio(Int128((rate * 1_000_000).rounded()), 1_000_000)
        }
        let (low, high) = (rate(evidence.band.lowerBound), rate(evidence.band.upperBound))
        return WatchWarning(
            kind: .rate, rule: rule, series: series,
            openedMilliseconds: hours.end(ofHour: warning.opened),
            closedMilliseconds: warning.closed.map(hours.end(ofHour:)), found: found, low: low,
            high: high, unit: kind == .share ? "share" : "ratio",
            words:
                "\(found.plainText) (\(evidence.part) of \(evidence.whole) in \(evidence.hours) h), outside "
                + "\(low.plainText) to \(high.plainText)",
            look: look(
                from: hours.begin(ofHour: warning.opened - evidence.hours + 1), whole))
    }

    private func look(from milliseconds: Int64, _ figure: DumpFigure) -> String {
        let conditions = (figure.request.conditions + series).map { condition in
            let text = "\(condition.column)=\(condition.value)"
            return "--where '\(text.replacing("'", with: "'\\''"))'"
        }
        return
            (["weir dump \(figure.name) --by hour --since \(UTC.text(milliseconds: milliseconds))"]
            + conditions).joined(separator: " ")
    }
}

extension WatchFile.Rows {
    /// The rows of a sum, by hour.
    fileprivate func figure(_ sum: WatchFile.Sum) throws(ConfigurationError) -> DumpFigure {
        let description = try dump.held { name throws(InspectionError) in
            try DumpDescription.named(name)
        }
        guard description.columns.contains(where: { $0.kind == .hour }) else {
            throw dump.fault(
                "has no column hour, because it uses days that its records name: watch a dump "
                    + "with a column hour")
        }
        for column in columns {
            try column.held { name throws(InspectionError) in
                _ = try DumpFigure(
                    ReportRequest(name: description.name, grouping: .columns([name])))
            }
            guard column.text != CatalogCampaignColumn.name else {
                throw column.fault(CatalogCampaignColumn.notWatched)
            }
            guard !["hour", "day", "timestamp", "offset"].contains(column.text) else {
                throw column.fault(
                    "does not identify rows that continue from hour to hour: name other columns")
            }
        }
        let all = conditions + sum.conditions
        for condition in all { try condition.check(of: description.name) }
        return try dump.held { name throws(InspectionError) in
            try DumpFigure(
                ReportRequest(
                    name: name,
                    grouping: columns.isEmpty ? .total : .columns(columns.map(\.text)),
                    conditions: all.map(\.ofQuery)))
        }
    }
}

extension WatchFile.Condition {
    var ofQuery: ReportRequest.Condition { .init(column: column, value: value.text) }

    func check(of dump: String) throws(ConfigurationError) {
        guard column != CatalogCampaignColumn.name else {
            throw value.fault(CatalogCampaignColumn.notWatched)
        }
        try value.held { _ throws(InspectionError) in
            _ = try DumpFigure(ReportRequest(name: dump, grouping: .total, conditions: [ofQuery]))
        }
    }
}

extension CatalogCampaignColumn {
    fileprivate static let notWatched =
        "depends on catalog.yaml, which rules do not read: use campaign instead of \(name)"
}

extension DumpFigure {
    fileprivate func indices(of names: [PositionedText]) throws(ConfigurationError) -> [Int] {
        try names.map { name throws(ConfigurationError) in
            guard let index = measures.firstIndex(of: name.text) else {
                throw name.fault(
                    InspectionError.unknownMeasure(name.text, valid: measures).description)
            }
            return index
        }
    }
}

extension PositionedText {
    /// Runs `body` with the text and attributes its errors to the text's position.
    fileprivate func held<Value>(
        _ body: (String) throws(InspectionError) -> Value
    ) throws(ConfigurationError) -> Value {
        do {
            return try body(text)
        } catch {
            throw fault(error.description)
        }
    }
}
