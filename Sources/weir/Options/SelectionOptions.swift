import ArgumentParser
import ConfigurationValues
import EventLog
import Foundation
import History
import Program
import Reports
import Streams
import Synchronization

/// The grouping of the rows of a dump.
struct GroupingOptions: ParsableArguments {
    @Option(
        help: "Columns to group by: column,column,... (also hour and day), or total.",
        completion: WordCompletion.columns)
    var by: String?
}

/// The conditions for the rows of a dump.
struct ConditionOptions: ParsableArguments {
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only rows with this value in this column; repeatable.",
            valueName: "column=value"))
    var arguments: [String] = []
}

/// A command that selects rows of a dump.
protocol SelectionCommand: ParsableCommand {
    var times: TimeOptions { get }
    var zone: TimeZoneOptions { get }
    var conditions: ConditionOptions { get }
}

extension SelectionCommand {
    fileprivate func selection(
        _ name: String, _ configuration: ReportConfiguration
    ) throws -> ReportRequest {
        let zone = try zone.zone(configuration)
        let times = try times.milliseconds(in: zone)
        var request = ReportRequest(
            name: name, sinceMilliseconds: times.since, untilMilliseconds: times.until,
            conditions: try ReportRequest.Condition.list(arguments: conditions.arguments))
        request.timeZone = zone
        return request
    }
}

/// A command that selects and groups rows of a dump.
protocol GroupingCommand: SelectionCommand {
    var grouping: GroupingOptions { get }
}

extension GroupingCommand {
    /// - Parameter configuration: has the default time zone.
    func request(_ name: String, _ configuration: ReportConfiguration) throws -> ReportRequest {
        let grouping = try grouping.by.map { try ReportRequest.Grouping($0) }
        var request = try selection(name, configuration)
        if let grouping { request.grouping = grouping }
        request.tellsCurrenciesApart = true
        return request
    }
}

extension ReportRequest.Condition {
    /// Reads the values of `--where`. Throws for a repeated column: no row has two values in it.
    static func list(
        arguments texts: [String]
    ) throws(CommandError) -> [ReportRequest.Condition] {
        var conditions: [ReportRequest.Condition] = []
        for text in texts {
            let condition = try ReportRequest.Condition(argument: text)
            guard !conditions.contains(where: { $0.column == condition.column }) else {
                throw .usage("--where \(text): \(condition.column) is given twice: keep one")
            }
            conditions.append(condition)
        }
        return conditions
    }

    /// Reads `column=value`.
    private init(argument text: String) throws(CommandError) {
        guard let sign = text.firstIndex(of: "="), sign > text.startIndex else {
            throw .usage("--where '\(text)' is not a condition: write column=value")
        }
        self.init(column: String(text[..<sign]), value: String(text[text.index(after: sign)...]))
    }
}

/// The shown columns and rows, and their order.
struct ArrangementOptions: ParsableArguments {
    @Option(
        help: "Print only these columns and measures, in this order: column,measure,...",
        completion: WordCompletion.columnsAndMeasures)
    var columns: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Sort rows by these columns or measures: column,-column,... where -column and column:desc mean largest first (default: by their columns).",
            valueName: "columns"), completion: WordCompletion.columnsAndMeasures)
    var sort: String?
    @Option(help: "The maximum number of rows (default: all).")
    var limit: Int?
    @Flag(help: "Tables: print one line for each value, not for each row (WEIR_VERTICAL).")
    var vertical = false

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit is \(limit): write 1 or more") }
    }

    func arrangement() throws -> TableArrangement {
        try TableArrangement(columns: columns, sort: sort, limit: limit)
    }

    /// Whether rows are written as lines of a name and a value.
    func isVertical(as format: DumpFormat) throws -> Bool {
        guard !vertical || format == .table else {
            throw CommandError.usage("--vertical needs the format table: remove it or --format")
        }
        return try format == .table && Environment().isSet("WEIR_VERTICAL", option: vertical)
    }
}

/// The dump of a number to explain.
struct CellOptions: ParsableArguments {
    @Argument(
        help: "The name of the dump with the number.", completion: WordCompletion.dumps)
    var name: String
}

/// A command that explains the sum of selected rows.
protocol CellCommand: SelectionCommand, InstallationCommand {
    var cell: CellOptions { get }
}

extension CellCommand {
    /// The figure that explains the rows.
    func figure() throws -> any Figure {
        let configuration = installation.configuration
        return try Explainer.figure(request(configuration), configuration)
    }

    /// The figure that proves the rows in evidence: sums of stored rows only.
    func provableFigure() throws -> any Figure {
        let name = cell.name
        guard reportNames(.sums).contains(name) || !reportNames().contains(name) else {
            throw CommandError.usage(
                "\(name) is computed from several dumps, but evidence proves sums of one dump: run weir evidence for "
                    + "each dump that docs/guides/explain-a-number.md names")
        }
        let configuration = installation.configuration
        return try requireReport(name, .sums).provableFigure(request(configuration), configuration)
    }

    private func request(_ configuration: ReportConfiguration) throws -> ReportRequest {
        var request = try selection(cell.name, configuration)
        request.grouping = .total
        return request
    }

    /// The terms of a rate; nil for a measure that is not a rate.
    func division(_ measure: String?) throws -> FunnelDivision? {
        guard let measure else { return nil }
        let configuration = installation.configuration
        return try requireReport(cell.name).division(
            of: measure, request(configuration), installation.stores(), configuration)
    }

    /// The counted parts of a cost; nil for another measure.
    func cost(_ measure: String?) throws -> String? {
        guard let measure else { return nil }
        let configuration = installation.configuration
        return try requireReport(cell.name).costInWords(
            measure, request(configuration), installation.stores(), configuration)
    }
}

struct ComparisonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only this measure; repeatable (default: all).", valueName: "measure"),
        completion: WordCompletion.measures)
    var measure: [String] = []
    @Flag(help: "Print equal rows too.")
    var all = false
    @Option(help: "The maximum number of rows; totals cover all rows.")
    var limit: Int?

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit is \(limit): write 0 or more") }
    }

    var isDefault: Bool { measure.isEmpty && !all && limit == nil }

    func question(_ request: ReportRequest) -> ComparisonQuery {
        var question = ComparisonQuery(request)
        question.request.measures = measure.isEmpty ? nil : measure
        question.showsEqual = all
        question.limit = limit
        return question
    }
}

/// Checks the `--limit` of a list.
func requirePositive(limit: Int) throws(CommandError) {
    guard limit > 0 else { throw .usage("--limit is \(limit): write 1 or more") }
}

/// Parses times in the formats of the command line.
enum LogTime {
    static let forms = forms(from: "midnight, UTC")

    /// - Parameter midnight: the beginning of a day.
    static func forms(from midnight: String) -> String {
        """
        RFC 3339, a date, milliseconds since 1970, now, today, yesterday (from \(midnight)), or an age: 90s, \
        15m, 24h, 7d, 2w
        """
    }

    /// The clock at the start of the program: all relative times of a command line refer to the same instant.
    private static let startMilliseconds = WallClock.milliseconds
    static let dayMilliseconds: Int64 = 86_400_000
    /// Numbers are milliseconds since 1970, from 2001-09-09 to the end of 9999. A smaller number is probably meant as
    /// seconds, days or a year.
    private static let numbers: ClosedRange<Int64> = 1_000_000_000_000...253_402_300_799_999
    private static let units: [Character: Int64] = [
        "s": 1000, "m": 60_000, "h": 3_600_000, "d": dayMilliseconds, "w": 7 * dayMilliseconds,
    ]
    /// The relative times that were already explained on standard error.
    private static let named = Mutex<Set<String>>([])

    /// Milliseconds since 1970. Writes the absolute value of a relative time to standard error, once.
    ///
    /// - Parameter zone: that of dates, `today` and `yesterday`.
    static func milliseconds(
        _ text: String, option: String, in zone: ReportTimeZone = .utc
    ) throws(CommandError) -> Int64 {
        if let number = Int64(text) {
            guard numbers.contains(number) else {
                throw .usage(
                    "\(option) \(text) is not a time: a number means milliseconds since 1970, from 2001-09-09 on "
                        + "(\(numbers.lowerBound)); write \(forms)")
            }
            return number
        }
        if let time = zone.milliseconds(text: text) { return time }
        if let time = relative(text, nowMilliseconds: startMilliseconds, in: zone) {
            let explanation = "\(option) \(text) is \(UTC.text(milliseconds: time))"
            if named.withLock({ $0.insert(explanation).inserted }) { Console.write(explanation) }
            return time
        }
        throw .usage("\(option) '\(text)' is not a time: write \(forms)")
    }

    /// The beginning and the end of a day, which a date, `today` or `yesterday` names; nil for anything else.
    static func bounds(
        ofDay text: String, in zone: ReportTimeZone
    ) throws(CommandError) -> (start: Int64, end: Int64)? {
        guard ["today", "yesterday"].contains(text) else { return zone.bounds(ofDay: text) }
        let start = try milliseconds(text, option: "--day", in: zone)
        return zone.bounds(ofDay: zone.day(milliseconds: start))
    }

    /// `now`, `today`, `yesterday`, and a number with a unit, with or without a minus; nil for anything else, and for
    /// times before the year 0.
    static func relative(
        _ text: String, nowMilliseconds now: Int64, in zone: ReportTimeZone = .utc
    ) -> Int64? {
        switch text {
        case "now": return now
        case "today": return zone.startOfDay(milliseconds: now)
        case "yesterday":
            return zone.start(ofDay: zone.dayNumber(milliseconds: now) - 1)
        default:
            let digits = text.drop { $0 == "-" }.dropLast()
            guard text.count - digits.count <= 2, !digits.isEmpty,
                digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let count = Int64(digits), let unit = text.last.flatMap({ units[$0] })
            else { return nil }
            let (span, overflows) = count.multipliedReportingOverflow(by: unit)
            return overflows || span > now ? nil : now - span
        }
    }
}

/// The time zone of days.
struct TimeZoneOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The time zone of days: of rows, and of dates, today and yesterday in --since, --until and --day. An IANA \
            name such as Europe/Berlin, or UTC (WEIR_TIME_ZONE; default: report_time_zone in catalog.yaml of \
            --pipelines, otherwise UTC).
            """, valueName: "name"))
    var timeZone: String?

    /// The zones that were already stated on standard error.
    private static let stated = Mutex<Set<String>>([])

    /// The zone. States it on standard error, once, unless it is UTC.
    func zone(_ configuration: ReportConfiguration) throws -> ReportTimeZone {
        let zone = try given ?? configuration.timeZone()
        if !zone.isUTC, Self.stated.withLock({ $0.insert(zone.name).inserted }) {
            Console.write(zone.statement)
        }
        return zone
    }

    /// The zone of the option or of the environment; nil without either.
    private var given: ReportTimeZone? {
        get throws(CommandError) {
            let variable = "WEIR_TIME_ZONE"
            guard let name = timeZone ?? Environment()[variable] else { return nil }
            do throws(ReportTimeZone.Fault) {
                return try ReportTimeZone(named: name)
            } catch {
                throw .usage("\(timeZone == nil ? variable : "--time-zone") \(error)")
            }
        }
    }
}

struct TimeOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: "Only records from this time on: \(LogTime.forms(from: "midnight")).")
    var since: String?
    @Option(parsing: .unconditional, help: "Only records before this time.")
    var until: String?

    @Option(
        help: """
            Only this day: a date, today or yesterday. Days are in UTC if the command has no --time-zone.
            """)
    var day: String?

    var isGiven: Bool { since != nil || until != nil || day != nil }

    /// Both in milliseconds since 1970; nil for an option that was not given.
    ///
    /// - Parameter zone: that of days.
    func milliseconds(
        in zone: ReportTimeZone = .utc
    ) throws(CommandError) -> (since: Int64?, until: Int64?) {
        func time(_ text: String?, _ option: String) throws(CommandError) -> Int64? {
            guard let text else { return nil }
            return try LogTime.milliseconds(text, option: option, in: zone)
        }
        if let day {
            guard since == nil, until == nil else {
                throw .usage("--day excludes --since and --until: remove it or them")
            }
            guard let bounds = try LogTime.bounds(ofDay: day, in: zone) else {
                throw .usage("--day '\(day)' is not a day: write a date, today or yesterday")
            }
            return (bounds.start, bounds.end)
        }
        let (start, end) = (try time(since, "--since"), try time(until, "--until"))
        if let start, let end, end < start {
            throw .usage(
                "--until \(UTC.text(milliseconds: end)) is before --since "
                    + "\(UTC.text(milliseconds: start)), so the range is empty: correct one of them"
            )
        }
        return (start, end)
    }
}
