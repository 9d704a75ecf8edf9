import Streams
import Wording

/// A warning for display.
package struct WatchWarning: Sendable {
    package enum Kind: String, Sendable { case silence, rate, budget, deliveries }

    package let kind: Kind
    /// The rule's name in the file; for deliveries, the partner.
    package let rule: String
    /// The columns and values of the series.
    package let series: [ReportRequest.Condition]
    /// The reached step of a limit, in percent; nil for kinds without steps.
    package let step: Int64?
    /// The end of the hour in which it opened, or the beginning of the day; milliseconds since 1970. Nil when not
    /// known.
    package let openedMilliseconds: Int64?
    /// Nil while it is open.
    package let closedMilliseconds: Int64?
    /// The found value, and the range without a warning, in the unit.
    let found: ReportValue
    let low: ReportValue
    let high: ReportValue
    let unit: String
    /// The warning as a sentence.
    package let words: String
    /// The command that shows the hours.
    let look: String

    /// A warning of a limit with steps.
    package init(
        kind: Kind, rule: String, series: [ReportRequest.Condition] = [], step: Int64,
        openedMilliseconds: Int64?, found: ReportValue, limit: ReportValue, unit: String,
        words: String, look: String
    ) {
        self.init(
            kind: kind, rule: rule, series: series, step: step,
            openedMilliseconds: openedMilliseconds, closedMilliseconds: nil, found: found,
            low: .null, high: limit, unit: unit,
            words: words, look: look)
    }

    init(
        kind: Kind, rule: String, series: [ReportRequest.Condition], step: Int64? = nil,
        openedMilliseconds: Int64?,
        closedMilliseconds: Int64?, found: ReportValue, low: ReportValue, high: ReportValue,
        unit: String, words: String, look: String
    ) {
        self.kind = kind
        self.rule = rule
        self.series = series
        self.step = step
        self.openedMilliseconds = openedMilliseconds
        self.closedMilliseconds = closedMilliseconds
        self.found = found
        self.low = low
        self.high = high
        self.unit = unit
        self.words = words
        self.look = look
    }

    package var isOpen: Bool { closedMilliseconds == nil }

    /// `ad_network_id=example.skadnetwork, app_id=1`; empty for the only series of a rule.
    package var seriesText: String {
        series.map { "\($0.column)=\($0.value)" }.joined(separator: ", ")
    }
}

/// The warnings at an instant.
package struct WatchReport: Sendable {
    /// Only earlier hours were judged; milliseconds since 1970.
    package let nowMilliseconds: Int64
    /// Sorted by rule, then by row.
    package var warnings: [WatchWarning]
    package var judgedCount = 0
    /// The number of rows with too little history.
    package var youngCount = 0
    /// The number of unjudged rows, by rules with too many rows.
    package var leftOut: [String: Int] = [:]
    /// The streams of rules that do not have a store.
    package var missingStreams: Set<String> = []

    /// Adds the judgements of other rules at the same instant.
    mutating func add(_ other: WatchReport) {
        warnings += other.warnings
        judgedCount += other.judgedCount
        youngCount += other.youngCount
        leftOut.merge(other.leftOut) { $1 }
        missingStreams.formUnion(other.missingStreams)
    }

    package var open: [WatchWarning] { warnings.filter(\.isOpen) }

    /// For people: without columns that the sentence repeats.
    package var table: ReportTable {
        let hasClosed = warnings.contains { !$0.isOpen }
        let (all, shown) = (all, Self.columnsOfTable + (hasClosed ? ["closed"] : []))
        return all.limited(
            toIndices: all.columns.indices.filter { shown.contains(all.columns[$0].name) })
    }

    /// One row per warning.
    package var all: ReportTable {
        ReportTable(
            columns: [
                .init("kind"), .init("rule"), .init("series"), .init("opened"), .init("closed"),
                .init("found", isNumber: true), .init("low", isNumber: true),
                .init("high", isNumber: true), .init("unit"), .init("warning"), .init("look"),
            ],
            rows: warnings.map { warning in
                [
                    .text(warning.kind.rawValue), .text(warning.rule), .text(warning.seriesText),
                    .time(warning.openedMilliseconds), .time(warning.closedMilliseconds),
                    warning.found, warning.low, warning.high, .text(warning.unit),
                    .text(warning.words), .text(warning.look),
                ]
            })
    }

    private static let columnsOfTable = ["kind", "rule", "series", "opened", "warning"]

    /// A one-sentence summary.
    package var summary: String {
        var parts = ["\(counted(judgedCount, "row")) judged"]
        if youngCount > 0 { parts.append("\(youngCount) younger than four weeks") }
        for (rule, count) in leftOut.sorted(by: { $0.key < $1.key }) {
            parts.append("the \(count) smallest of \(rule) not judged")
        }
        if !missingStreams.isEmpty {
            parts.append("no store of \(missingStreams.sorted().joined(separator: ", "))")
        }
        return "\(open.count) open at \(UTC.text(milliseconds: nowMilliseconds)): "
            + parts.joined(separator: ", ")
    }
}

/// The steps of a limit that open a warning.
package enum LimitStep {
    package static let percents: [Int64] = [50, 70, 90, 100]

    /// The highest reached step; nil below the first.
    package static func reached(_ amount: Int128, of limit: Int64) -> Int64? {
        percents.last { amount * 100 >= Int128(limit) * Int128($0) }
    }
}
