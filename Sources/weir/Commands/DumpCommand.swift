import ArgumentParser
import ConfigurationValues
import DatabaseFiles
import Foundation
import Program
import Reports
import Streams
import Wording

struct DumpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Prints an aggregate.",
        discussion: """
            Dumps: \(reportNames().joined(separator: ", ")).

            Totals are exact; rows of zeros are left out; rows are sorted by their columns. Amounts \
            that end in _micros are millionths of the currency's unit. Aggregates are hourly (costs and cohorts daily): \
            --since and --until look at the beginning of the hour, or of the day that rows are of. Of several --data, the copy of \
            a partition that is folded furthest counts.

            --measures shows some of the measures only. --columns names all that is shown, in order; without --by, \
            rows are grouped by those of it that are no measures. --limit counts the rows that are shown:

              weir dump bids --by seat --measures bids,wins
              weir dump funnel --columns name,cost_micros,installs --sort cost_micros:desc --limit 10

            Tables show times as RFC 3339, amounts in units with their currency, and the names of loss \
            reasons; other formats have numbers, millionths with a column for the currency, and the names with \
            --names. Amounts of several currencies are never added up: rows that would are told apart by currency, \
            whether --by names it or not. A table that is wider than the terminal is laid out so that it fits, with every \
            column: docs/guides/save-a-report.md.

            --names adds the catalog's names: network, app, and of the campaign name, media_source and \
            partner, each when the columns are shown that it is found by. A name is '? of 2' when two \
            campaigns of the catalog end with the shortened identifier of a postback.

            conversion-updates shows what installs were told beside the values that postbacks brought \
            (docs/concepts/conversion-values.md); the models of --pipelines say which version those are of.

            \(allReports.compactMap(\.help).joined(separator: "\n\n"))
            """)

    @Argument(help: "Name of the dump.")
    var name: String
    @OptionGroup var selection: SelectionOptions
    @Option(help: "Only these measures: measure,measure,... (default: all).")
    var measures: String?
    @OptionGroup var arrangement: ArrangementOptions
    @Flag(help: "Add names from the catalog (WEIR_NAMES=1).")
    var names = false
    @Option(
        help: """
            Of the funnel: the day of postbacks, arrival (default) or install, the estimated day of the \
            install.
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
            (maturity), and from when on no postback counts for installs of the row's days \
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
        name: .customLong("in"),
        help: ArgumentHelp(
            "Convert amounts into this currency, by the rates of rates.csv in --pipelines.",
            valueName: "currency"))
    var target: String?
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
        let isVertical = try arrangement.isVertical(as: format)
        var request = try self.request()
        let stores = try stores()
        guard format == .table || isVertical else {
            let notices = try BufferedOutput.writing(as: format) { sink in
                try request.write(
                    stores, source.pipelines.configuration, as: format, isRaw: isRaw, to: sink)
            }
            notices.forEach(Console.write)
            return try stores.warnOfOtherRules()
        }
        let width = isVertical ? nil : StandardStream.output.terminalColumns
        let limit = width == nil ? nil : request.takeLimit()
        let answer = try request.answer(stores, source.pipelines.configuration, as: format)
        var notices = answer.notices
        let output = BufferedOutput()
        if isVertical {
            try output.write(answer.report.verticalLines.map { $0 + "\n" }.joined())
        } else if let width {
            notices = try answer.writeTable(
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
        try request().answer(stores(), source.pipelines.configuration, as: .table)
            .write(as: .table, isRaw: false, to: sink)
    }

    private func stores() throws -> OpenStores {
        try OpenStores(
            directories: source.data.directories, asOf: asOf.map { try source.asOf($0) },
            present: source.clock.present)
    }

    func request() throws -> ReportRequest {
        var request = try selection.request(name)
        request.measures = measures?.split(separator: ",", omittingEmptySubsequences: false).map(
            String.init)
        request.dateRule = try date.map { date in
            guard let rule = ReportRequest.DateRule(rawValue: date) else {
                throw CommandError.usage("no --date '\(date)': there are arrival and install")
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
        try request.groupByShownColumns(isGrouped: selection.by != nil)
        return request
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
        let stores = try data.stores()
        try BufferedOutput.print(stores.digest() + "\n")
        try stores.warnOfOtherRules()
    }
}

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints decoded postbacks with the column names of a measurement service.",
        discussion: """
            One row for each accepted postback, in its best copy, with the names that the catalog has today. The records \
            are read from the log again and decoded as they were when they were folded; --partner prints only what was published \
            for that partner. The profile weir has Weir's own names, and postbacks of both frameworks. The other profiles leave out \
            postbacks of AdAttributionKit, for which the services have no columns. An existing warehouse table of that \
            service takes the rows. Standard error reports how many postbacks were exported and left out. \
            docs/reference/export-profiles.md describes each column and lists those that are missing.

            An export can go on where the last one ended: --next-cursor writes a file, and --changed-since takes what \
            stands there. Then only rows come that changed in between, and a warehouse merges them by the \
            columns key and revision of the profile weir:

              weir export postbacks --profile weir --changed-since start --next-cursor new > rows.csv
              load rows.csv && mv new cursor
              weir export postbacks --profile weir --changed-since "$(cat cursor)" --next-cursor new > rows.csv
            """)

    enum Subject: String, ExpressibleByArgument, CaseIterable {
        /// Postbacks accepted by `weir-postbacks`.
        case postbacks
    }

    @Argument(help: "What to export: postbacks.")
    var subject: Subject
    @Option(
        help:
            "Whose column names: \(ExportProfile.allCases.map(\.rawValue).joined(separator: ", "))."
    )
    var profile: String
    @Option(help: "Only what was published for this partner (default: all accepted postbacks).")
    var partner: String?
    @Option(
        help: ArgumentHelp(
            "Only what changed since an earlier export: what --next-cursor wrote, or start for everything (WEIR_CHANGED_SINCE).",
            valueName: "cursor"))
    var changedSince: String?
    @Option(
        help: ArgumentHelp(
            "Writes where the next export of changes begins to this file, once all is printed (WEIR_NEXT_CURSOR).",
            valueName: "file"))
    var nextCursor: String?
    @OptionGroup var times: TimeOptions
    @OptionGroup var source: SourceOptions
    @Option(help: "csv or ndjson (WEIR_FORMAT; default: csv).")
    var format: String?
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try Environment().format(format, default: ExportFormat.csv)
        let (query, file) = (try query(), try cursorFile())
        let stores = try source.data.stores()
        let written = try BufferedOutput.writing(as: format == .csv ? .csv : .ndjson) { sink in
            try stores.export(
                query, catalog: source.pipelines.configuration.catalog(),
                log: source.installation.loggedPostbacks(),
                as: format, isRaw: csv.isSet(), to: sink)
        }
        notices(written, isOfChanges: query.changedSince != nil).forEach(Console.write)
        try stores.warnOfOtherRules()
        if let partner { try note(partner, isWithoutRows: written.rowCount == 0) }
        try file?.write(written.cursor)
    }

    /// Writes notices on a partner's configuration that explain its export.
    private func note(_ name: String, isWithoutRows: Bool) throws {
        let directory = source.pipelines.directory
        guard isWithoutRows || directory.exists else { return }
        let partners = try directory.partners()
        if isWithoutRows, !partners.contains(where: { $0.name == name }) {
            Console.write(
                "nothing is for a partner '\(name)' here: \(directory.path)/partners has "
                    + (partners.isEmpty ? "none" : partners.map(\.name).joined(separator: ", ")))
        }
        if partners.contains(where: { $0.name == name && $0.delivery.isOff }) {
            Console.write(
                "partner \(name) is off: its file has no delivery.url, and what is for it is held and not sent"
            )
        }
    }

    private func cursorFile() throws -> CursorFile? {
        guard let path = nextCursor ?? Environment()["WEIR_NEXT_CURSOR"] else { return nil }
        let times = try times.milliseconds()
        guard times.since == nil, times.until == nil else {
            throw CommandError.usage(
                "--next-cursor goes with neither --since nor --until: what they leave out would never come"
            )
        }
        return try CursorFile(path)
    }

    /// The cursor of an earlier export; nil to export everything.
    private func cursor() throws -> ExportCursor? {
        let variable = "WEIR_CHANGED_SINCE"
        guard changedSince != nil || !Environment().isSetToNothing(variable) else {
            throw CommandError.usage("\(variable) is empty: give a cursor, or start for everything")
        }
        let given = changedSince ?? Environment()[variable]
        guard let text = given?.trimmingCharacters(in: .whitespacesAndNewlines), text != "start"
        else { return nil }
        guard let cursor = ExportCursor(text) else {
            throw CommandError.usage(
                "--changed-since '\(text)' is no cursor: give what --next-cursor wrote, all of it, or start"
            )
        }
        let times = try times.milliseconds()
        guard times.since == nil, times.until == nil else {
            throw CommandError.usage(
                "--changed-since goes with neither --since nor --until: what they leave out would never come"
            )
        }
        return cursor
    }

    /// The lines on standard error about an export: the summary last.
    func notices(_ written: WrittenExport, isOfChanges: Bool) -> [String] {
        var notices: [String] = []
        let omissions = written.omissions
        func note(_ count: Int, _ reason: String) {
            guard count > 0 else { return }
            notices.append(
                "\(counted(count, "postback")) \(count == 1 ? "is" : "are") left out: \(reason)")
        }
        note(
            omissions.adAttributionKit,
            "the profile has no columns for AdAttributionKit; the profile weir has")
        note(
            omissions.unproven,
            "no production key fits the signature, and the profile has no column for that; the profile weir has"
        )
        note(omissions.otherTimes, "outside of --since and --until")
        if omissions.withdrawn > 0 {
            notices.append(
                "withdrawn: \(counted(omissions.withdrawn, "postback")) of earlier exports: "
                    + "the profile has no column for that; the profile weir has")
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
                summary += ", \(written.replacedRecords) of which a better copy replaced"
            }
        }
        return notices + [summary]
    }

    func query() throws -> ExportQuery {
        guard let profile = ExportProfile(rawValue: profile) else {
            let known = UnknownName(profile, known: ExportProfile.allCases.map(\.rawValue))
            throw CommandError.usage("no profile '\(profile)': \(known)")
        }
        guard partner != "" else {
            throw CommandError.usage("--partner is empty: name a partner, or leave it out")
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
            throw .usage("--next-cursor \(path) is no file: name one, which is replaced")
        }
        var isDirectory = ObjCBool(false)
        let directory = url.deletingLastPathComponent().path
        guard manager.fileExists(atPath: directory, isDirectory: &isDirectory),
            isDirectory.boolValue
        else { throw .usage("--next-cursor \(path): there is no directory \(directory): make it") }
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
                "cannot write \(path): \(SystemRefusal.explanation(of: error)); the next export begins where this one did"
            )
        }
    }
}
