import ArgumentParser
import EventLog
import Foundation
import History
import Program
import Reports
import Streams
import Synchronization

/// The selected rows of a dump, and their grouping.
struct SelectionOptions: ParsableArguments {
    @Option(
        help: "Columns to group by: column,column,... (also hour and day), or total.",
        completion: WordCompletion.columns)
    var by: String?
    @OptionGroup var times: TimeOptions
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only rows with this value in this column; repeatable.",
            valueName: "column=value"))
    var conditions: [String] = []

    func request(_ name: String) throws -> ReportRequest {
        let grouping = try by.map { try ReportRequest.Grouping($0) }
        var request = try ReportRequest(name, where: conditions, times)
        if let grouping { request.grouping = grouping }
        request.tellsCurrenciesApart = true
        return request
    }
}

extension ReportRequest {
    fileprivate init(_ name: String, where conditions: [String], _ times: TimeOptions) throws {
        let times = try times.milliseconds()
        self.init(
            name: name, sinceMilliseconds: times.since, untilMilliseconds: times.until,
            conditions: try Condition.list(arguments: conditions))
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

/// The rows of a dump to explain.
struct CellOptions: ParsableArguments {
    @Argument(
        help: "The name of the dump with the number.", completion: WordCompletion.dumps)
    var name: String
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only rows with this value in this column; repeatable.",
            valueName: "column=value"))
    var conditions: [String] = []
    @OptionGroup var times: TimeOptions

    /// The figure that explains the rows.
    func figure(_ pipelines: ReportConfiguration) throws -> any Figure {
        try Explainer.figure(request, pipelines)
    }

    /// The figure that proves the rows in evidence: sums of stored rows only.
    func provableFigure(_ pipelines: ReportConfiguration) throws -> any Figure {
        guard reportNames(.sums).contains(name) || !reportNames().contains(name) else {
            throw CommandError.usage(
                "\(name) is computed from several dumps, but evidence proves sums of one dump: run weir evidence for "
                    + "each dump that docs/guides/explain-a-number.md names")
        }
        return try requireReport(name, .sums).provableFigure(request, pipelines)
    }

    private var request: ReportRequest {
        get throws {
            var request = try ReportRequest(name, where: conditions, times)
            request.grouping = .total
            return request
        }
    }

    /// The terms of a rate; nil for a measure that is not a rate.
    func division(_ measure: String?, _ source: SourceOptions) throws -> FunnelDivision? {
        guard let measure else { return nil }
        return try requireReport(name).division(
            of: measure, request, source.installation.stores(), source.installation.configuration)
    }

    /// The counted parts of a cost; nil for another measure.
    func cost(_ measure: String?, _ source: SourceOptions) throws -> String? {
        guard let measure else { return nil }
        return try requireReport(name).costInWords(
            measure, request, source.installation.stores(), source.installation.configuration)
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
    static let forms = """
        RFC 3339, a date, milliseconds since 1970, now, today, yesterday (from midnight, UTC), or an age: 90s, \
        15m, 24h, 7d, 2w
        """

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
    static func milliseconds(_ text: String, option: String) throws(CommandError) -> Int64 {
        if let number = Int64(text) {
            guard numbers.contains(number) else {
                throw .usage(
                    "\(option) \(text) is not a time: a number means milliseconds since 1970, from 2001-09-09 on "
                        + "(\(numbers.lowerBound)); write \(forms)")
            }
            return number
        }
        if let time = UTC.milliseconds(text: text) { return time }
        if let time = relative(text, nowMilliseconds: startMilliseconds) {
            let explanation = "\(option) \(text) is \(UTC.text(milliseconds: time))"
            if named.withLock({ $0.insert(explanation).inserted }) { Console.write(explanation) }
            return time
        }
        throw .usage("\(option) '\(text)' is not a time: write \(forms)")
    }

    /// The beginning of a day, which a date, `today` or `yesterday` names; nil for anything else.
    static func midnight(_ text: String) throws(CommandError) -> Int64? {
        guard ["today", "yesterday"].contains(text) else {
            return text.utf8.count == 10 ? UTC.milliseconds(text: text) : nil
        }
        return try milliseconds(text, option: "--day")
    }

    /// `now`, `today`, `yesterday`, and a number with a unit, with or without a minus; nil for anything else, and for
    /// times before the year 0.
    static func relative(_ text: String, nowMilliseconds now: Int64) -> Int64? {
        let midnight = now - now % dayMilliseconds
        switch text {
        case "now": return now
        case "today": return midnight
        case "yesterday": return midnight - dayMilliseconds
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

struct TimeOptions: ParsableArguments {
    @Option(parsing: .unconditional, help: "Only records from this time on: \(LogTime.forms).")
    var since: String?
    @Option(parsing: .unconditional, help: "Only records before this time.")
    var until: String?

    @Option(help: "Only this day (UTC): a date, today or yesterday.")
    var day: String?

    var isGiven: Bool { since != nil || until != nil || day != nil }

    /// Both in milliseconds since 1970; nil for an option that was not given.
    func milliseconds() throws(CommandError) -> (since: Int64?, until: Int64?) {
        func time(_ text: String?, _ option: String) throws(CommandError) -> Int64? {
            guard let text else { return nil }
            return try LogTime.milliseconds(text, option: option)
        }
        if let day {
            guard since == nil, until == nil else {
                throw .usage("--day excludes --since and --until: remove it or them")
            }
            guard let start = try LogTime.midnight(day) else {
                throw .usage("--day '\(day)' is not a day: write a date, today or yesterday")
            }
            return (start, start + LogTime.dayMilliseconds)
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
