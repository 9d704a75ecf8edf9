import ArgumentParser
import ConfigurationFiles
import Foundation
import Program
import Reports
import Streams

struct DumpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Prints an aggregate.",
        discussion: """
            Dumps: \(DumpDescription.all.map(\.name).joined(separator: ", ")), \(Funnel.name), \
            \(NullEstimates.name).

            Totals are exact; rows of zeros are left out; rows are sorted by their columns. Amounts \
            that end in _micros are millionths of the currency's unit. Aggregates are hourly (costs and cohorts daily): \
            --since and --until look at the beginning of the hour, or of the day that rows are of. Of several --data, the copy of \
            a partition that is folded furthest counts.

            --measures shows some of the measures only: weir dump bids --by seat --measures bids,wins. \
            Tables show times as RFC 3339, and the names of loss reasons; other formats have numbers, and \
            the names with --names.

            --names adds the catalog's names: network, app, and of the campaign name, media_source and \
            partner, each when the columns are shown that it is found by. A name is '? of 2' when two \
            campaigns of the catalog end with the shortened identifier of a postback.

            conversion-updates shows what installs were told beside the values that postbacks brought \
            (docs/conversion-values.md); the models of --pipelines say which version those are of.

            funnel joins all streams to a row a day and campaign: docs/funnel.md has its columns.

            null-estimates says of what values the null values of a campaign may be, with intervals that hold the \
            truth in 90 % of cases: docs/null-estimates.md. They are estimates, and in no other number.
            """)

    @Argument(help: "Name of the dump.")
    var name: String
    @OptionGroup var selection: SelectionOptions
    @Option(help: "Only these measures: measure,measure,... (default: all).")
    var measures: String?
    @Flag(help: "Add names from the catalog (WEIR_NAMES=1).")
    var names = false
    @Option(
        help: """
            Of the funnel: the day of postbacks, arrival (default) or install, the latest day on which \
            the app may have been installed.
            """)
    var date: String?
    @Flag(
        help: """
            Of the funnel: adds an estimate of the revenue, in columns of their own that begin with \
            estimated_.
            """)
    var estimate = false
    @Flag(
        help: """
            Of postbacks, conversion-values and decoded-events: adds which share of the windows is closed \
            (maturity), and from when on no postback for installs of the row's days can arrive \
            (final_after). The funnel always has both.
            """)
    var maturity = false
    @Flag(
        help: """
            Of cohorts and install-cohorts: a row an age, or a window, with all that was counted up to it, \
            and the share of the cohorts that have all of it (maturity).
            """)
    var curve = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            What it said at this time: the records with an earlier timestamp, of the stores that were in \
            force. Within an hour, the records of that hour are read from the log.
            """, valueName: "time"))
    var asOf: String?
    @OptionGroup var source: SourceOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        let isRaw = try csv.isSet()
        let output = BufferedOutput()
        let notices = try write(as: format, isRaw: isRaw, to: output.write(bytes:))
        try output.flush()
        notices.forEach(Console.write)
    }

    func write(
        as format: DumpFormat, isRaw: Bool = false, to sink: ([UInt8]) throws(CommandError) -> Void
    ) throws -> [String] {
        let names = measures?.split(separator: ",", omittingEmptySubsequences: false).map(
            String.init)
        if name == Funnel.name {
            let funnel = try stores().funnel(funnelQuery())
            let table = try names.map { try funnel.table(ofMeasures: $0) } ?? funnel.table
            try table.write(as: format, isRaw: isRaw, to: sink)
            return funnel.notices
        }
        if name == NullEstimates.name {
            guard names == nil, !curve, !maturity, !self.names, date == nil, !estimate else {
                throw CommandError.usage(
                    "\(name) stands without --measures, --curve, --maturity, --names, --date and --estimate"
                )
            }
            let report = try stores().nullEstimates(
                query(), trustsDevelopment: source.pipelines.trustsDevelopment())
            try report.table.write(as: format, isRaw: isRaw, to: sink)
            return report.notices
        }
        if curve {
            try curves(ofMeasures: names).write(as: format, isRaw: isRaw, to: sink)
            return []
        }
        var dump = try dump(as: format)
        if let names { dump = try dump.limited(toMeasures: names) }
        try dump.requireOneCurrency()
        if maturity {
            try dump.withMaturity().write(as: format, isRaw: isRaw, to: sink)
        } else {
            try dump.write(as: format, isRaw: isRaw, to: sink)
        }
        return []
    }

    private func curves(ofMeasures measures: [String]?) throws -> ReportTable {
        guard !maturity, !names, date == nil, !estimate else {
            throw CommandError.usage(
                "--curve stands without --maturity, --names, --date and --estimate")
        }
        return try stores().curves(source.pipelines.dumpQuery(query()), measures: measures)
    }

    private func dump(as format: DumpFormat) throws -> Dump {
        guard date == nil else {
            throw CommandError.usage(
                "--date is of the funnel: \(name) goes by the hour of its records")
        }
        guard !estimate else {
            throw CommandError.usage("--estimate is of the funnel: \(name) has no estimates")
        }
        let dump = try stores().dump(source.pipelines.dumpQuery(query()))
        let isNamed = try Environment().isSet("WEIR_NAMES", option: names)
        let readable = isNamed || format == .table ? dump.withLossReasonNames() : dump
        guard isNamed else { return readable }
        return readable.named(
            by: try source.pipelines.catalog(), appsByBundle: try source.pipelines.appsByBundle())
    }

    private func stores() throws -> OpenStores {
        guard let asOf else { return try source.data.stores() }
        let milliseconds = try LogTime.milliseconds(asOf, option: "--as-of")
        guard milliseconds <= LogTime.now else {
            throw CommandError.usage(
                "--as-of \(asOf) is still to come: give a time that is past, or leave it out")
        }
        let instant = AsOf(milliseconds: milliseconds, hours: try source.hours())
        return try OpenStores(directories: source.data.directories, asOf: instant)
    }

    func funnelQuery() throws -> FunnelQuery {
        guard let rule = FunnelQuery.DateRule(rawValue: date ?? "arrival") else {
            throw CommandError.usage("no --date '\(date ?? "")': there are arrival and install")
        }
        var question = try source.pipelines.funnelQuery(query(), dateRule: rule)
        question.estimates = estimate
        return question
    }

    func query() throws -> DumpQuery {
        var query = try selection.query(name)
        query.notesMaturity = maturity && ![Funnel.name, NullEstimates.name].contains(name)
        return query
    }
}

extension Funnel {
    var notices: [String] {
        var notices: [String] = []
        if !missingStreams.isEmpty {
            notices.append(
                "no store of \(missingStreams.joined(separator: ", ")): what comes of them is not known, and empty here"
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

struct DigestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "digest",
        abstract: "Prints one line that is the same for equal logs and configurations.",
        discussion: """
            It covers the rows of every dump, how far each partition is folded, which ids are \
            remembered, what is for partners, and which configurations were in force. Two sets of \
            stores with one digest hold the same, whatever happened on the way.
            """)

    @OptionGroup var data: DataOptions

    func run() throws {
        try BufferedOutput.print(data.stores().digest() + "\n")
    }
}

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints decoded postbacks with the column names of a measurement service.",
        discussion: """
            One row a postback that a partner got, in its best copy, with the names that the catalog has \
            today. The profile weir has Weir's own names, and postbacks of both frameworks; the others leave those of \
            AdAttributionKit out, since no page of the services names columns for them. An existing warehouse table of that service takes the rows; \
            docs/export-profiles.md says what each column is and which are not there.
            """)

    enum Subject: String, ExpressibleByArgument, CaseIterable {
        /// What `weir-postbacks` decoded for partners.
        case postbacks
    }

    @Argument(help: "What to export: postbacks.")
    var subject: Subject
    @Option(
        help:
            "Whose column names: \(ExportProfile.allCases.map(\.rawValue).joined(separator: ", "))."
    )
    var profile: String
    @Option(help: "Only what this partner got (default: what any partner got).")
    var partner: String?
    @OptionGroup var times: TimeOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @Option(help: "csv or ndjson (WEIR_FORMAT; default: csv).")
    var format: String?
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try Environment().format(format, default: ExportFormat.csv)
        let output = BufferedOutput()
        let written = try data.stores().export(
            query(), catalog: pipelines.catalog(), as: format, isRaw: csv.isSet(),
            to: output.write(bytes:))
        try output.flush()
        notices(omissions: written.omissions, isEmpty: written.rowCount == 0)
            .forEach(Console.write)
    }

    func notices(omissions: ExportOmissions, isEmpty: Bool) -> [String] {
        var notices: [String] = []
        if omissions.adAttributionKit > 0 {
            notices.append(
                "\(omissions.adAttributionKit) postbacks of AdAttributionKit are left out: "
                    + "the profile has no columns for them; weir has")
        }
        if omissions.otherTimes > 0 {
            notices.append(
                "\(omissions.otherTimes) postbacks are left out: they did not arrive in the time "
                    + "that --since and --until ask for")
        }
        if isEmpty, notices.isEmpty {
            notices.append(
                "no postback was decoded for a partner: exports hold what partners of "
                    + "\(pipelines.directory.path)/partners got")
        }
        return notices
    }

    func query() throws -> ExportQuery {
        guard let profile = ExportProfile(rawValue: profile) else {
            let known = ExportProfile.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandError.usage("no profile '\(profile)': there are \(known)")
        }
        let times = try times.milliseconds()
        return ExportQuery(
            profile: profile, partner: partner, sinceMilliseconds: times.since,
            untilMilliseconds: times.until)
    }
}
