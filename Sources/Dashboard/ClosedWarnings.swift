import Reports
import Streams
import Wording

/// Closed warnings that probably have one cause: silences that ended in the same hour, and warnings of one rule about one
/// row that follow each other within an hour.
struct ClosedWarnings {
    /// In the order of their opening.
    let warnings: [WatchWarning]
    /// The series of each in words.
    let series: [String]

    /// All groups, the one that opened last first.
    ///
    /// - Parameter series: the series of a warning in words.
    static func groups(
        _ warnings: [WatchWarning], _ series: (WatchWarning) -> String
    ) -> [ClosedWarnings] {
        let all = warnings.filter { !$0.isOpen }.sorted(by: Self.opensEarlier)
        var groups = Array(all.indices)
        func merge(_ first: Int, _ second: Int) {
            let (kept, replaced) = (groups[first], groups[second])
            guard kept != replaced else { return }
            for index in groups.indices where groups[index] == replaced { groups[index] = kept }
        }
        var ends: [Int64: Int] = [:]
        var rows: [[String]: Int] = [:]
        for (index, warning) in all.enumerated() {
            if warning.kind == .silence, let closed = warning.closedMilliseconds {
                if let other = ends[closed] { merge(other, index) }
                ends[closed] = index
            }
            let row = [warning.kind.rawValue, warning.rule, warning.seriesText]
            if let other = rows[row], all[other].isFollowed(by: warning) { merge(other, index) }
            rows[row] = index
        }
        return Dictionary(grouping: all.indices) { groups[$0] }.values
            .map { indices in
                let own = indices.sorted().map { all[$0] }
                return ClosedWarnings(warnings: own, series: own.map(series))
            }
            .sorted { Self.opensEarlier($1.warnings[0], $0.warnings[0]) }
    }

    /// Equal times are ordered by the row, so that the order does not depend on a dictionary.
    private static func opensEarlier(_ one: WatchWarning, _ other: WatchWarning) -> Bool {
        (one.openedMilliseconds ?? .min, one.rule, one.seriesText)
            < (other.openedMilliseconds ?? .min, other.rule, other.seriesText)
    }

    /// One row for each group.
    static func table(_ groups: [ClosedWarnings]) -> ReportTable {
        let columns: [ReportColumn<ClosedWarnings>] = [
            .text("kind") { $0.warnings[0].kind.rawValue },
            .text("rule") { Self.distinct($0.warnings.map(\.rule)).joined(separator: ", ") },
            .text("series") { group in
                let all = Self.distinct(group.series)
                return all.count == 1 ? all[0] : "\(all.count) series"
            },
            .text("opened") { Self.range($0.warnings.map(\.openedMilliseconds)) },
            .text("closed") { Self.range($0.warnings.map(\.closedMilliseconds)) },
            .text("warning") { group in
                group.warnings.count == 1
                    ? group.warnings[0].words : counted(group.warnings.count, "warning")
            },
        ]
        return ReportTable(groups, columns)
    }

    /// Each warning as a sentence; none for a single one, which is a row.
    var items: [String] {
        guard warnings.count > 1 else { return [] }
        return zip(warnings, series).map { warning, series in
            let name = [warning.rule, series].filter { !$0.isEmpty }.joined(separator: ", ")
            let times = Self.range([warning.openedMilliseconds, warning.closedMilliseconds])
            return [name, times, warning.words].compactMap(\.self).joined(separator: ": ")
        }
    }

    private static func distinct(_ texts: [String]) -> [String] {
        texts.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The first and the last time; nil if none is known.
    private static func range(_ times: [Int64?]) -> String? {
        let known = times.compactMap(\.self)
        guard let first = known.min(), let last = known.max() else { return nil }
        let text = UTC.text(milliseconds: first)
        return first == last ? text : "\(text) to \(UTC.text(milliseconds: last))"
    }
}

extension WatchWarning {
    /// Whether another one opens within an hour after this one closed.
    fileprivate func isFollowed(by other: WatchWarning) -> Bool {
        guard let closed = closedMilliseconds, let opened = other.openedMilliseconds else {
            return false
        }
        return opened - closed <= Hour.milliseconds
    }
}
