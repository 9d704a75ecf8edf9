import ArgumentParser
import Explanation
import Inspection
import Streams

/// Which number is meant.
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

    /// The question, with the conditions in the order in which they were given.
    func query() throws -> DumpQuery {
        let times = try times.milliseconds()
        return DumpQuery(
            name: name, grouping: .total, sinceMilliseconds: times.since,
            untilMilliseconds: times.until,
            conditions: try conditions.map { try DumpQuery.Condition(argument: $0) })
    }

    /// The rows that are meant.
    func cell(_ pipelines: PipelinesOptions) throws -> any Cell {
        var query = try query()
        guard name != Funnel.name else {
            return try FunnelCell(
                FunnelQuery(
                    query: query, catalog: try pipelines.catalog(),
                    trustsDevelopment: try pipelines.trustsDevelopment(),
                    appsByBundle: try pipelines.appsByBundle()))
        }
        if name == ConversionUpdatesFold.streamName {
            query.conversionModels = try pipelines.conversionModels()
        }
        return try DumpCell(query)
    }

    /// The measures of a cell that a name stands for; nil for all.
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
