import ArgumentParser
import ConfigurationValues
import DatabaseFiles
import Foundation
import Program
import Reports
import Streams
import Wording

struct DumpCommand: GroupingCommand, InstallationCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Prints the rows of a dump, an aggregate of records.",
        discussion: """
            Dumps: \(reportNames().joined(separator: ", ")).

            Totals are exact. Rows of zeros are left out. Rows are sorted by their columns. Aggregates are hourly, \
            costs and cohorts are daily. --since and --until compare with the start of the row's hour or day. If several --data \
            have the same partition, the copy with the highest next offset counts.

            --measures selects measures. --columns selects columns and measures, in that order. Without --by, \
            rows are grouped by the columns in --columns. --limit is the maximum number of rows:

              weir dump bids --by seat --measures bids,wins
              weir dump funnel --columns name,cost_micros,installs --sort cost_micros:desc --limit 10
              weir dump funnel --by total --day yesterday --in USD --measures cost_micros

            Tables show times as RFC 3339, amounts in units with their currency, and the names of loss reasons. \
            Other formats contain numbers, names with --names, and amounts in millionths of the currency's unit, \
            for which the columns end in _micros. Amounts in different currencies are never added up: a table \
            shows them in one cell, other formats in one row for each currency. --in converts them. A table that is wider than the terminal is printed in another layout with every column: \
            docs/guides/save-a-report.md.

            --names adds names from the catalog: network, app, and the campaign's name, media_source and \
            partner. A name appears if the columns that identify it are shown. A name is '? of 2' if two \
            campaigns of the catalog end with the shortened identifier of a postback.

            catalog_campaign is a column of every dump with a campaign. It names the campaign as funnel does: \
            rows with the identifier of a campaign, its last digits or its campaign id have the same value. The \
            column appears only if --by names it (docs/concepts/funnel.md):

              weir dump bids --by source_app_id --where catalog_campaign=5239

            costs contains imported costs only. The spend of campaigns, from bids and costs, is \
            cost_micros in funnel.

            conversion-updates compares the values that Weir gave to installs with the values in postbacks \
            (docs/concepts/conversion-values.md). The models of --pipelines show the model version of each \
            value.

            \(allReports.compactMap(\.help).joined(separator: "\n\n"))
            """)

    @Argument(help: "Name of the dump.", completion: WordCompletion.dumps)
    var name: String?
    @OptionGroup var grouping: GroupingOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var zone: TimeZoneOptions
    @OptionGroup var conditions: ConditionOptions
    @Option(
        help: "Print only these measures: measure,measure,... (default: all).",
        completion: WordCompletion.measures)
    var measures: String?
    @OptionGroup var arrangement: ArrangementOptions
    @Flag(help: "Add names from the catalog (WEIR_NAMES=1).")
    var names = false
    @Option(
        help: """
            Funnel: the day of postbacks, arrival (default) or install, the estimated day of the install.
            """)
    var date: String?
    @Flag(
        help: """
            Funnel: add an estimate of the revenue, in columns that begin with estimated_.
            """)
    var estimate = false
    @Flag(
        help: """
            Postbacks, conversion-values and decoded-events: add the share of windows that are closed \
            (maturity), and the time after which no postback counts for the row's days (final_after). The funnel \
            always has both.
            """)
    var maturity = false
    @Flag(
        help: """
            Cohorts and install-cohorts: print a row for each age or window, with the sums up to it, and the \
            share of the cohorts that has reached it (maturity).
            """)
    var curve = false
    @Option(
        name: .customLong("in"),
        help: ArgumentHelp(
            "Convert amounts into this currency with the rates of rates.csv in --pipelines.",
            valueName: "currency"))
    var target: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            Print the dump as it was at this time: records with an earlier timestamp, from the stores that were \
            in force then. For a time within an hour, the command reads the records of that hour from the log.
            """, valueName: "time"))
    var asOf: String?
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var archive: ArchiveOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        let isRaw = try csv.isSet()
        let isVertical = try arrangement.isVertical(as: format)
        var request = try self.request()
        let stores = try stores()
        guard format == .table || isVertical else {
            let notices = try BufferedOutput.writing(as: format) { sink in
                try request.write(
                    stores, installation.configuration, as: format, isRaw: isRaw, to: sink)
            }
            notices.forEach(Console.write)
            return try stores.warnOfOtherRules()
        }
        let width = isVertical ? nil : StandardStream.output.terminalColumns
        let limit = width == nil ? nil : request.takeLimit()
        let answer = try request.answer(stores, installation.configuration, as: format)
        var notices = answer.notices
        if answer.report.mixesCurrencies {
            notices.append(
                "amounts are in several currencies: --in USD converts them with rates.csv")
        }
        let output = BufferedOutput()
        if isVertical {
            try output.write(answer.report.verticalLines.map { $0 + "\n" }.joined())
        } else if let width {
            notices += try answer.writeTable(
                within: width, keepsMeasures: request.measures != nil, limit: limit,
                to: output.write(bytes:))
        } else {
            try answer.write(as: format, isRaw: isRaw, to: output.write(bytes:))
        }
        try output.flush()
        notices.forEach(Console.write)
        try stores.warnOfOtherRules()
    }

    /// The rows as a table for people, of any width.
    func writeTable(to sink: ([UInt8]) throws(CommandError) -> Void) throws {
        try request().answer(stores(), installation.configuration, as: .table)
            .write(as: .table, isRaw: false, to: sink)
    }

    private func stores() throws -> OpenStores {
        try OpenStores(
            directories: data.directories, asOf: asOf.map { try installation.asOf($0) },
            present: clock.present)
    }

    func request() throws -> ReportRequest {
        guard let name else {
            throw CommandError.usage(
                "name a dump, such as weir dump funnel for the spend and results of campaigns. The dumps are "
                    + reportNames().joined(separator: ", "))
        }
        var request = try request(name, installation.configuration)
        request.measures = measures?.split(separator: ",", omittingEmptySubsequences: false).map(
            String.init)
        request.dateRule = try date.map { date in
            guard let rule = ReportRequest.DateRule(rawValue: date) else {
                throw CommandError.usage(
                    "--date '\(date)' does not exist: write arrival or install")
            }
            return rule
        }
        request.showsNames = try Environment().isSet("WEIR_NAMES", option: names)
        request.estimates = estimate
        request.maturity = maturity
        request.curve = curve
        request.target = target
        request.arrangement = try arrangement.arrangement()
        request.leavesOutZeros = true
        try request.groupByShownColumns(isGrouped: grouping.by != nil)
        return request
    }
}

struct DigestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "digest",
        abstract: "Prints a digest that is the same for equal logs and configurations.",
        discussion: """
            The digest covers the rows of every dump, the next offset of each partition, the remembered ids, the \
            ids of partner postbacks, and the configurations that were in force. If two sets of stores have the \
            same digest, their content is the same.
            """)

    @OptionGroup var data: DataOptions

    func run() throws {
        let stores = try data.stores()
        try BufferedOutput.print(stores.digest() + "\n")
        try stores.warnOfOtherRules()
    }
}

struct ExportCommand: InstallationCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Exports decoded postbacks with the column names of a measurement service.",
        discussion: """
            Prints one row for each accepted postback in its best copy, with the names of the current catalog. \
            The command reads the records from the log and decodes them as they were decoded when \
            they were folded. With --partner, it prints only postbacks that were published for that partner.

            The profile weir has Weir's own column names, and postbacks of both frameworks. The other profiles \
            fit an existing warehouse table of that service. They leave out postbacks of AdAttributionKit, \
            because the services have no columns for them. The command prints the numbers of exported and \
            omitted postbacks on standard error. docs/reference/export-profiles.md describes each column and \
            lists the missing ones.

            An export can continue where the last one ended: --next-cursor writes a file, and --changed-since \
            takes its content. The export then contains only rows that changed in between. A warehouse merges \
            them by the columns key and revision of the profile weir:

              weir export postbacks --profile weir --changed-since start --next-cursor new > rows.csv
              load rows.csv && mv new cursor
              weir export postbacks --profile weir --changed-since "$(cat cursor)" --next-cursor new > rows.csv
            """)

    enum Subject: String, ExpressibleByArgument, CaseIterable {
        /// Postbacks accepted by `weir-postbacks`.
        case postbacks
    }

    @Argument(help: "The kind of export: postbacks.")
    var subject: Subject
    @Option(
        help:
            "The profile of column names: \(ExportProfile.allCases.map(\.rawValue).joined(separator: ", ")).",
        completion: WordCompletion.profiles
    )
    var profile: String
    @Option(
        help:
            "Only postbacks that were published for this partner (default: all accepted postbacks)."
    )
    var partner: String?
    @Option(
        help: ArgumentHelp(
            "Only rows that changed since an earlier export: the content of its --next-cursor file, or start for all rows (WEIR_CHANGED_SINCE).",
            valueName: "cursor"))
    var changedSince: String?
    @Option(
        help: ArgumentHelp(
            "Write the start of the next export of changes to this file, after all rows are printed (WEIR_NEXT_CURSOR).",
            valueName: "file"))
    var nextCursor: String?
    @OptionGroup var times: TimeOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var archive: ArchiveOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions
    @Option(help: "csv or ndjson (WEIR_FORMAT; default: csv).")
    var format: String?
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try Environment().format(format, default: ExportFormat.csv)
        let (query, file) = (try query(), try cursorFile())
        let stores = try data.stores()
        let written = try BufferedOutput.writing(as: format == .csv ? .csv : .ndjson) { sink in
            try stores.export(
                query, catalog: installation.configuration.catalog(),
                log: installation.loggedPostbacks(),
                as: format, isRaw: csv.isSet(), to: sink)
        }
        notices(written, isOfChanges: query.changedSince != nil).forEach(Console.write)
        try stores.warnOfOtherRules()
        if let partner { try warn(partner, isWithoutRows: written.rowCount == 0) }
        try file?.write(written.cursor)
    }

    /// Writes notices on a partner's configuration that explain its export.
    private func warn(_ name: String, isWithoutRows: Bool) throws {
        let directory = installation.pipelines
        guard isWithoutRows || directory.exists else { return }
        let partners = try directory.partners()
        if isWithoutRows, !partners.contains(where: { $0.name == name }) {
            Console.write(
                "no postbacks for a partner '\(name)' here: \(directory.path)/partners contains "
                    + (partners.isEmpty
                        ? "no partners" : partners.map(\.name).joined(separator: ", ")))
        }
        if partners.contains(where: { $0.name == name && $0.delivery.isOff }) {
            Console.write(
                "partner \(name) is off: its file has no delivery.url, so its documents are held and not sent"
            )
        }
    }

    private func cursorFile() throws -> CursorFile? {
        guard let path = nextCursor ?? Environment()["WEIR_NEXT_CURSOR"] else { return nil }
        let times = try times.milliseconds()
        guard times.since == nil, times.until == nil else {
            throw CommandError.usage(
                "--next-cursor excludes --since and --until: the next export would never contain the rows that they leave out"
            )
        }
        return try CursorFile(path)
    }

    /// The cursor of an earlier export; nil to export everything.
    private func cursor() throws -> ExportCursor? {
        let variable = "WEIR_CHANGED_SINCE"
        guard changedSince != nil || !Environment().isSetToNothing(variable) else {
            throw CommandError.usage("\(variable) is empty: give a cursor, or start for all rows")
        }
        let given = changedSince ?? Environment()[variable]
        guard let text = given?.trimmingCharacters(in: .whitespacesAndNewlines), text != "start"
        else { return nil }
        guard let cursor = ExportCursor(text) else {
            throw CommandError.usage(
                "--changed-since '\(text)' is not a cursor: give the whole content of the --next-cursor file, or start"
            )
        }
        let times = try times.milliseconds()
        guard times.since == nil, times.until == nil else {
            throw CommandError.usage(
                "--changed-since excludes --since and --until: later exports would never contain the rows that they leave out"
            )
        }
        return cursor
    }

    /// The lines on standard error about an export: the summary last.
    func notices(_ written: WrittenExport, isOfChanges: Bool) -> [String] {
        var notices: [String] = []
        let omissions = written.omissions
        func add(_ count: Int, _ reason: String) {
            guard count > 0 else { return }
            notices.append(
                "\(counted(count, "postback")) \(count == 1 ? "is" : "are") left out: \(reason)")
        }
        add(
            omissions.adAttributionKit,
            "the profile has no columns for AdAttributionKit; the profile weir has them")
        add(
            omissions.unproven,
            "no production key verifies the signature, and the profile has no column for this; the profile weir has one"
        )
        add(omissions.otherTimes, "outside --since and --until")
        if omissions.withdrawn > 0 {
            notices.append(
                "withdrawn: \(counted(omissions.withdrawn, "postback")) of earlier exports: "
                    + "the profile has no column for this; the profile weir has one")
        }
        var summary = "exported \(counted(written.rowCount, "postback"))"
        if isOfChanges { summary += " that changed" }
        // Stores know the documents published for a partner, deliveries those that it received.
        if let partner {
            summary += "\(isOfChanges ? ", and" : " that") "
            summary += "\(written.rowCount == 1 ? "was" : "were") published for partner \(partner)"
        }
        if let accepted = written.acceptedRecords {
            summary += "; the stores have accepted \(counted(accepted, "record"))"
            if written.replacedRecords > 0 {
                summary += ", \(written.replacedRecords) replaced by a better copy"
            }
        }
        return notices + [summary]
    }

    func query() throws -> ExportQuery {
        guard let profile = ExportProfile(rawValue: profile) else {
            let suggestion = UnknownName(profile, valid: ExportProfile.allCases.map(\.rawValue))
            throw CommandError.usage("no profile '\(profile)': \(suggestion)")
        }
        guard partner != "" else {
            throw CommandError.usage("--partner is empty: name a partner, or remove the option")
        }
        let times = try times.milliseconds()
        return ExportQuery(
            profile: profile, partner: partner, sinceMilliseconds: times.since,
            untilMilliseconds: times.until, changedSince: try cursor())
    }
}

/// The file with the cursor of the next export. Another kind of file at its path is not replaced.
private struct CursorFile {
    private let path: String
    /// The target of a symbolic link.
    private let url: URL

    init(_ path: String) throws(CommandError) {
        guard !path.isEmpty else { throw .usage("--next-cursor is empty: name a file") }
        self.path = path
        url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
        let manager = FileManager.default
        let kind = try? manager.attributesOfItem(atPath: url.path)[.type] as? FileAttributeType
        guard kind == nil || kind == .typeRegular else {
            throw .usage(
                "--next-cursor \(path) is not a file: name a file, which the command replaces")
        }
        var isDirectory = ObjCBool(false)
        let directory = url.deletingLastPathComponent().path
        guard manager.fileExists(atPath: directory, isDirectory: &isDirectory),
            isDirectory.boolValue
        else {
            throw .usage("--next-cursor \(path): there is no directory \(directory): create it")
        }
    }

    func write(_ cursor: ExportCursor) throws {
        let manager = FileManager.default
        let mode = try? manager.attributesOfItem(atPath: url.path)[.posixPermissions]
        do {
            try Data("\(cursor)\n".utf8).write(to: url, options: .atomic)
            if let mode {
                try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: url.path)
            }
        } catch {
            throw CommandError.failure(
                "cannot write \(path): \(SystemRefusal.explanation(of: error)); use the previous cursor for the next export"
            )
        }
    }
}
