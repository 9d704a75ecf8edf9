import ArgumentParser
import ConversionModels
import Inspection
import Pipelines
import Streams

/// `weir dump`
struct DumpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Prints an aggregate.",
        discussion: """
            Dumps: \(DumpDescription.all.map(\.name).joined(separator: ", ")), \(Funnel.name).

            Totals are exact; rows of zeros are left out; rows are sorted by their columns. Amounts \
            that end in _micros are millionths of the currency's unit. Aggregates are hourly: --since and \
            --until look at the hour's beginning. Of several --data, the copy of \
            a partition that is folded furthest counts.

            --names adds the catalog's names: network, app, and of the campaign name, media_source and \
            partner, each when the columns are shown that it is found by. A name is '? of 2' when two \
            campaigns of the catalog end with the shortened identifier of a postback.

            conversion-updates shows what installs were told beside the values that postbacks brought \
            (docs/conversion-values.md); the models of --pipelines say which version those are of.

            funnel joins all streams to a row a day and campaign: docs/funnel.md has its columns.
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
    @Flag(help: "Add names from the catalog (WEIR_NAMES=1).")
    var names = false
    @Option(
        help: """
            Of the funnel: the day of postbacks, arrival (default) or install, the latest day on which \
            the app may have been installed.
            """)
    var date: String?
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @Option(help: "table, json, ndjson or csv (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: DumpFormat.table)
        let output = BufferedOutput()
        let sink = { (piece: [UInt8]) throws(CommandError) in try output.write(piece) }
        if name == Funnel.name {
            let funnel = try StoreSet(directories: data.directories).funnel(funnelQuery())
            try funnel.table.write(as: format, to: sink)
            try output.flush()
            funnel.notices.forEach(Notice.write)
        } else {
            try dump().write(as: format, to: sink)
            try output.flush()
        }
    }

    private func dump() throws -> Dump {
        guard date == nil else {
            throw CommandError.usage(
                "--date is of the funnel: \(name) goes by the hour of its records")
        }
        let models =
            name == ConversionUpdatesFold.streamName ? try pipelines.conversionModels() : []
        let dump = try StoreSet(directories: data.directories).dump(query(models: models))
        guard try Environment().isSet("WEIR_NAMES", option: names) else { return dump }
        return dump.named(by: try pipelines.catalog(), appsByBundle: try pipelines.appsByBundle())
    }

    /// The question that the options ask of the funnel.
    func funnelQuery() throws -> FunnelQuery {
        guard let rule = FunnelQuery.DateRule(rawValue: date ?? "arrival") else {
            throw CommandError.usage("no --date '\(date ?? "")': there are arrival and install")
        }
        return FunnelQuery(
            query: try query(), dateRule: rule, catalog: try pipelines.catalog(),
            trustsDevelopment: try pipelines.trustsDevelopment(),
            appsByBundle: try pipelines.appsByBundle())
    }

    /// The question that the options ask.
    func query(models: [ConversionModel] = []) throws -> DumpQuery {
        var query = DumpQuery(name: name)
        query.conversionModels = models
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

extension Funnel {
    /// What a reader should know beside the rows.
    fileprivate var notices: [String] {
        var notices: [String] = []
        if !missingStreams.isEmpty {
            notices.append(
                "no store of \(missingStreams.joined(separator: ", ")): what comes of them is 0 here"
            )
        }
        if !unknownBundles.isEmpty {
            notices.append(
                "notifications of \(unknownBundles.joined(separator: ", ")) are left out: no app of "
                    + "store-notifications.yaml has this bundle_id with its app_apple_id")
        }
        return notices
    }
}
