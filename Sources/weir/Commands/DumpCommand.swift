import ArgumentParser
import Inspection

/// `weir dump`
struct DumpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Prints an aggregate.",
        discussion: """
            Dumps: \(DumpDescription.all.map(\.name).joined(separator: ", ")).

            Totals are exact; rows of zeros are left out; rows are sorted by their columns. Amounts \
            that end in _micros are millionths of the currency's unit. Aggregates are hourly: --since and \
            --until look at the hour's beginning. Of several --data, the copy of \
            a partition that is folded furthest counts.
            """)

    @Argument(help: "Name of the dump.")
    var name: String
    @Option(help: "Columns to group by: column,column,... among them hour and day, or total.")
    var by: String?
    @Option(help: "Only from this time on: RFC 3339, a date, or milliseconds since 1970.")
    var since: String?
    @Option(help: "Only before this time.")
    var until: String?
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only rows with this value in this column; may be given several times.",
            valueName: "column=value"))
    var conditions: [String] = []
    @OptionGroup var data: DataOptions
    @Option(help: "table, json, ndjson or csv (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: DumpFormat.table)
        let dump = try StoreSet(directories: data.directories).dump(query())
        let output = BufferedOutput()
        try dump.write(as: format) { (piece) throws(CommandError) in try output.write(piece) }
        try output.flush()
    }

    /// The question that the options ask.
    func query() throws -> DumpQuery {
        var query = DumpQuery(name: name)
        if let by { query.grouping = try DumpQuery.Grouping(by) }
        query.sinceMilliseconds = try since.map { try LogTime.milliseconds($0, option: "--since") }
        query.untilMilliseconds = try until.map { try LogTime.milliseconds($0, option: "--until") }
        query.conditions = try conditions.map { text in
            guard let sign = text.firstIndex(of: "="), sign > text.startIndex else {
                throw CommandError.usage("--where '\(text)' is no condition: write column=value")
            }
            return DumpQuery.Condition(
                column: String(text[..<sign]), value: String(text[text.index(after: sign)...]))
        }
        return query
    }
}
