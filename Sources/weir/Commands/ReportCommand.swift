import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import EventLog
import History
import Program
import Reports
import Streams
import Wording

struct ReportCommand: InstallationCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Prints a saved report, or lists them.",
        discussion: """
            A report is a file reports/NAME.yaml of --pipelines: a dump with its columns, conditions, order and \
            period. docs/guides/save-a-report.md explains the keys. The period ends at --as-of, by default at \
            the newest folded record that is not dated ahead of the clock. So the same stores always give the \
            same report.

              weir report                      list the reports
              weir report campaigns            print one report
              weir report campaigns --as-of 2026-11-01T00:00:00Z
              0 7 * * *  weir report campaigns | mail -s campaigns team@example.com
            """)

    @Argument(help: "The name of the report (default: list all reports).")
    var name: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Print the report as it was at this time: only records with an earlier timestamp count.",
            valueName: "time"))
    var asOf: String?
    @OptionGroup var zone: TimeZoneOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var archive: ArchiveOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions
    @Option(
        help:
            "table, json, ndjson or csv (WEIR_FORMAT; default: the format of the report, otherwise table)."
    )
    var format: String?
    @OptionGroup var csv: RawOptions

    func run() throws {
        guard let name else { return try list() }
        let file = try installation.pipelines.report(name)
        let written = try file.format.map { word in
            guard let format = DumpFormat(rawValue: word) else {
                let valid = DumpFormat.allCases.map(\.rawValue).joined(separator: ", ")
                throw file.fault("format", "is '\(word)': write one of \(valid)")
            }
            return format
        }
        let format = try Environment().format(format, default: written ?? .table)
        let asked = try asOf.map { try installation.asOf($0) }
        let stores = try OpenStores(
            directories: data.directories, asOf: asked, present: clock.present)
        var request = try ReportRequest(file)
        request.timeZone = try zone.zone(installation.configuration)
        let width = format == .table ? StandardStream.output.terminalColumns : nil
        let limit: Int?
        let answer: DumpAnswer
        let period: String?
        do {
            period = try request.limit(to: file, stores, asOf: asked?.milliseconds)
            limit = width == nil ? nil : request.takeLimit()
            answer = try request.answer(stores, installation.configuration, as: format)
        } catch let error as InspectionError where error.isUsage {
            throw file.fault(request.key(of: error), "\(error)")
        } catch CommandError.usage(let explanation) {
            throw file.fault("dump", explanation)
        }
        let output = BufferedOutput()
        let heading = [file.title, period].compactMap { $0 }.filter { !$0.isEmpty }
        if format == .table, !heading.isEmpty {
            try output.write(heading.joined(separator: "\n").withoutControlsInLines + "\n\n")
        }
        var notices = answer.notices
        if let width {
            notices = try answer.writeTable(
                within: width, keepsMeasures: request.measures != nil, limit: limit,
                to: output.write(bytes:))
        } else {
            try answer.write(as: format, isRaw: csv.isSet(), to: output.write(bytes:))
        }
        try output.flush()
        if format != .table { period.map(Console.write) }
        notices.forEach(Console.write)
        try stores.warnOfOtherRules()
    }

    private func list() throws {
        let directory = installation.pipelines
        var files: [ReportFile] = []
        var faults: [ConfigurationError] = []
        for name in try directory.reportNames() {
            do throws(ConfigurationError) {
                files.append(try directory.report(name))
            } catch {
                faults.append(error)
            }
        }
        let format = try Environment().format(format, default: DumpFormat.table)
        try BufferedOutput.print(
            ReportTable(
                files,
                [
                    .text("report") { $0.name }, .text("dump") { $0.dump },
                    .text("period") { $0.period?.text }, .text("title") { $0.title },
                ]), as: format, isRaw: csv.isSet(),
            ifEmpty:
                "no reports: write one to \(directory.path)/reports (see docs/guides/save-a-report.md)\n"
        )
        for fault in faults.dropLast() { Console.write(fault.description) }
        if let last = faults.last { throw last }
    }
}

extension Installation {
    /// An instant. Its partial hour is folded from the log.
    func asOf(_ text: String) throws -> AsOf {
        let milliseconds = try LogTime.milliseconds(text, option: "--as-of")
        guard milliseconds <= WallClock.milliseconds else {
            throw CommandError.usage(
                "--as-of \(text) is in the future: give an earlier time, or remove the option")
        }
        return AsOf(milliseconds: milliseconds, hours: try hours())
    }
}

extension String {
    /// Without control characters other than line ends.
    fileprivate var withoutControlsInLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).withoutControls }
            .joined(separator: "\n")
    }
}

extension ReportRequest {
    /// The request of a saved report, without a time range.
    init(_ file: ReportFile) throws {
        self.init(
            name: file.dump,
            conditions: file.conditions.map { .init(column: $0.column, value: $0.value) })
        if let by = file.by {
            do {
                grouping = try ReportRequest.Grouping(by.joined(separator: ","))
            } catch {
                throw file.fault("by", "\(error)")
            }
        }
        tellsCurrenciesApart = true
        dateRule = try file.date.map { date in
            guard let rule = ReportRequest.DateRule(rawValue: date) else {
                throw file.fault("date", "is '\(date)': write arrival or install")
            }
            return rule
        }
        showsNames = file.showsNames
        estimates = file.estimates
        maturity = file.maturity
        curve = file.curve
        target = file.currency
        leavesOutZeros = true
        do {
            arrangement = try TableArrangement(
                columns: file.columns?.joined(separator: ","),
                sort: file.sort?.joined(separator: ","), limit: file.limit)
            try groupByShownColumns(isGrouped: file.by != nil)
        } catch let error as InspectionError {
            throw file.fault(key(of: error), "\(error)")
        }
    }

    /// Limits the request to the period of a report, and returns a description of it.
    mutating func limit(
        to file: ReportFile, _ stores: OpenStores, asOf instant: Int64?
    ) throws -> String? {
        guard let text = file.period else { return nil }
        guard let period = ReportPeriod(text.text) else {
            throw text.fault(
                "is '\(text.text)', which is not a period: write \(ReportPeriod.forms)")
        }
        let end = try instant.map { $0 - 1 } ?? stores.newestMilliseconds(of: name)
        let (since, until) = period.bounds(at: end, in: timeZone)
        sinceMilliseconds = since
        untilMilliseconds = until
        return
            "\(text.text): from \(UTC.text(milliseconds: since)), before \(UTC.text(milliseconds: until)); "
            + (instant == nil ? "the newest record is of " : "as of ")
            + UTC.text(milliseconds: instant ?? end)
            + (timeZone.isUTC ? "" : "; days are those of \(timeZone.name)")
    }

    /// Checks the columns of the request. Throws the error at the line of the report that names an unknown column.
    func requireColumns(as file: ReportFile) throws {
        do {
            let report = try requireReport(name)
            // Reports without grouping do not list their columns.
            guard report.abilities.contains(.groups) else { return }
            var named = [(conditions.map(\.column), report.conditionNames)]
            if case .columns(let columns) = grouping { named.append((columns, report.columnNames)) }
            for (names, valid) in named {
                if let unknown = names.first(where: { !valid.contains($0) }) {
                    throw InspectionError.unknownColumn(unknown, dump: self.name, valid: valid)
                }
            }
        } catch let error as InspectionError {
            throw file.fault(key(of: error), "\(error)")
        }
    }

    func key(of error: InspectionError) -> String {
        switch error {
        case .unknownColumn(let column, _, _):
            conditions.contains { $0.column == column }
                ? "where"
                : arrangement.columns?.contains(column) == true
                    ? "columns"
                    : arrangement.orders.contains { $0.column == column } ? "sort" : "by"
        case .unknownMeasure: "columns"
        case .badCondition, .curveColumn: "where"
        case .badOrder: "sort"
        case .badColumns: "columns"
        case .noMaturity: "maturity"
        case .noCurves: "curve"
        default: "dump"
        }
    }
}
