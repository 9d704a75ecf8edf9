import ArgumentParser
import Explanation
import Inspection
import Streams

/// Which rows of a dump are selected, and how they are grouped.
struct SelectionOptions: ParsableArguments {
    @Option(help: "Columns to group by: column,column,... among them hour and day, or total.")
    var by: String?
    @OptionGroup var times: TimeOptions
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only rows with this value in this column; may be given several times.",
            valueName: "column=value"))
    var conditions: [String] = []

    func query(_ name: String) throws -> DumpQuery {
        var query = DumpQuery(name: name)
        if let by { query.grouping = try DumpQuery.Grouping(by) }
        (query.sinceMilliseconds, query.untilMilliseconds) = try times.milliseconds()
        query.conditions = try conditions.map { try DumpQuery.Condition(argument: $0) }
        return query
    }
}

extension DumpQuery.Condition {
    /// Reads `column=value`.
    init(argument text: String) throws(CommandError) {
        guard let sign = text.firstIndex(of: "="), sign > text.startIndex else {
            throw .usage("--where '\(text)' is no condition: write column=value")
        }
        self.init(column: String(text[..<sign]), value: String(text[text.index(after: sign)...]))
    }
}

/// Which rows of a dump are to be explained.
struct CellOptions: ParsableArguments {
    @Argument(help: "Name of the dump that has the number.")
    var name: String
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only rows with this value in this column; may be given several times.",
            valueName: "column=value"))
    var conditions: [String] = []
    @OptionGroup var times: TimeOptions

    /// Has the conditions in the order in which they were given.
    func query() throws -> DumpQuery {
        let times = try times.milliseconds()
        return DumpQuery(
            name: name, grouping: .total, sinceMilliseconds: times.since,
            untilMilliseconds: times.until,
            conditions: try conditions.map { try DumpQuery.Condition(argument: $0) })
    }

    func cell(_ pipelines: PipelinesOptions) throws -> any Cell {
        let query = try query()
        guard name != Funnel.name else { return try FunnelCell(pipelines.funnelQuery(query)) }
        return try DumpCell(pipelines.dumpQuery(query))
    }

    /// The measures of a cell for which a name stands; nil for all. A rate of the funnel stands for
    /// what it is computed from.
    static func measures(_ name: String?, of cell: any Cell) throws -> [String]? {
        guard let name else { return nil }
        guard let funnel = cell as? FunnelCell else {
            guard cell.measures.contains(name) else {
                throw ExplanationError.unknownMeasure(name, dump: cell.name, known: cell.measures)
            }
            return [name]
        }
        guard !FunnelCell.withoutRecords.contains(name) else {
            throw ExplanationError.noSum(
                name, dump: cell.name,
                words: "is worked out of dates or shares, and no record adds to it: docs/funnel.md")
        }
        guard let parts = funnel.parts(of: name) else {
            throw ExplanationError.unknownMeasure(
                name, dump: cell.name,
                known: funnel.measures + FunnelCell.workedOut)
        }
        return parts
    }
}

/// Which part of a comparison is shown.
struct ComparisonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only this measure; may be given several times (default: all).", valueName: "measure"))
    var measure: [String] = []
    @Flag(help: "Rows that are the same, too.")
    var all = false
    @Option(help: "So many rows at most; totals cover all of them.")
    var limit: Int?

    func validate() throws {
        if let limit, limit < 0 { throw CommandError.usage("--limit \(limit) is below 0") }
    }

    var isDefault: Bool { measure.isEmpty && !all && limit == nil }

    /// The query of a comparison of the selected rows.
    func question(_ query: DumpQuery) -> ComparisonQuery {
        var question = ComparisonQuery(query)
        question.measures = measure
        question.showsEqual = all
        question.limit = limit
        return question
    }
}
