import ArgumentParser
import Inspection
import Streams

/// `weir diff`
struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compares two sets of stores: what differs, in which rows and by how much.",
        discussion: """
            A and B are data directories, mostly the one that is in use and one that was replayed. \
            Without NAME there is a line for each dump and measure that differs in any row; with it, a \
            line for each row and measure, the largest difference first, and the totals at the end.

              weir replay --topic postbacks --into fixed
              weir diff data fixed
              weir diff data fixed decoded-events --by day,campaign,currency --measure revenue_max_micros

            difference is B less A. Amounts of different currencies are not added up where the \
            currency is a column. The stores have to be of one log; streams that only one directory has \
            are left out. docs/analysis.md has more.
            """)

    @Argument(help: "The data directory that differences are measured from.")
    var first: String
    @Argument(help: "The data directory that is compared with it.")
    var second: String
    @Argument(help: "Name of a dump (default: all of them, summed up).")
    var name: String?
    @OptionGroup var selection: SelectionOptions
    @OptionGroup var comparison: ComparisonOptions
    @Flag(help: "End with exit code 1 when anything differs.")
    var exitCode = false
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        let differs = try compare().write(as: format, isRaw: csv.isSet())
        guard !exitCode || !differs else { throw CommandError.differs }
    }

    private func compare() throws -> StoreComparison {
        let sets = try [first, second].map { try StoreSet(directories: [$0]) }
        guard let name else {
            guard selection.by == nil, selection.conditions.isEmpty, comparison.isDefault else {
                throw CommandError.usage(
                    "--by, --where, --measure, --all and --limit are of one dump: name it")
            }
            var query = try selection.query("")
            query.conversionModels = try pipelines.conversionModels()
            return try sets[0].diff(sets[1], everyDumpBy: query)
        }
        let query = try selection.query(name)
        guard name != Funnel.name else {
            return try sets[0].diff(
                sets[1], funnel: pipelines.funnelQuery(query), comparison.question(query))
        }
        return try sets[0].diff(sets[1], comparison.question(pipelines.dumpQuery(query)))
    }
}

extension StoreComparison {
    /// Writes the table and then the notices; says whether anything differs.
    func write(as format: DumpFormat, isRaw: Bool) throws -> Bool {
        try BufferedOutput.print(table, as: format, isRaw: isRaw, ifEmpty: "same\n")
        notices.forEach(Notice.write)
        return differs
    }
}
