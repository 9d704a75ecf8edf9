import ArgumentParser
import Inspection

/// Which rows of a dump are asked for, and how they are put together.
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

    /// The question that the options ask of a dump.
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
