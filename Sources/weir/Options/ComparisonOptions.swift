import ArgumentParser
import Inspection

/// What of a comparison is shown.
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

    /// Whether none of them was given.
    var isDefault: Bool { measure.isEmpty && !all && limit == nil }

    /// The question that these options and those of the rows ask.
    func question(_ query: DumpQuery) -> ComparisonQuery {
        var question = ComparisonQuery(query)
        question.measures = measure
        question.showsEqual = all
        question.limit = limit
        return question
    }
}
