import ConfigurationValues
import Monitoring
import Program
import Reports
import Streams
import Wording

/// A request for a report as an address writes it: parsed from the parameters of a page, and written to addresses of
/// pages and to commands.
///
/// Its times stay texts, so that an address is written as it was read. `resolved` parses them. Everything else is the
/// request itself.
@dynamicMemberLookup
struct ReportAddress {
    /// The request without a time.
    private var request: ReportRequest
    /// A time in the syntax of `weir`; nil for no bound.
    var since: String?
    var until: String?
    /// Only records before this time count; nil for all.
    var asOf: String?

    init(_ name: String, by: [String] = [], measures: [String] = []) {
        request = ReportRequest(name: name)
        request.tellsCurrenciesApart = true
        self.by = by
        request.measures = measures.nonempty
    }

    subscript<Value>(dynamicMember path: WritableKeyPath<ReportRequest, Value>) -> Value {
        get { request[keyPath: path] }
        set { request[keyPath: path] = newValue }
    }

    /// The grouping columns; empty for a single row or for all rows.
    var by: [String] {
        get { if case .columns(let names) = request.grouping { names } else { [] } }
        set { request.grouping = newValue.isEmpty ? .total : .columns(newValue) }
    }

    /// The requested report; nil for an unknown name.
    var report: (any Report)? { try? requireReport(request.name) }

    /// The columns of its report; empty for an unknown one.
    var columns: [String] { report?.columnNames ?? [] }

    /// Whether rows are grouped by the day on which postbacks arrived.
    var isByArrival: Bool { has(.dates) && request.dateRule != .install }

    /// Whether the rows cannot be summed.
    private var hasOwnRows: Bool { !has(.groups) }

    /// Whether its report has an ability.
    func has(_ ability: ReportAbilities) -> Bool { report?.abilities.contains(ability) ?? false }

    // MARK: Addresses

    /// Names of parameters that are not columns of a dump.
    private enum Parameter {
        static let by = "by"
        static let since = "since"
        static let until = "until"
        static let asOf = "as_of"
        static let measures = "measures"
        static let date = "date"
        static let curve = "curve"

        static let all = [
            by, since, until, asOf, measures, date, curve, "measure", "from", "verify",
            PageContext.period,
            PageContext.shownPeriod, PageContext.compare, PageContext.currency,
        ]
    }

    /// Parses the parameters of a page; those named after columns are conditions.
    ///
    /// - Throws: for an unknown or repeated name, because ignoring it would answer a different request.
    init(_ name: String, _ parameters: QueryParameters) throws {
        self.init(name)
        let columns = try requireReport(name).conditionNames
        // Filters of pages are columns of most dumps too.
        let valid = columns + (Parameter.all + PageContext.filters).filter { !columns.contains($0) }
        if let unknown = parameters.names.first(where: { !valid.contains($0) }) {
            throw CommandError.usage(
                "unknown parameter '\(unknown)': use one of \(valid.joined(separator: ", "))")
        }
        if let twice = parameters.repeated.min() {
            throw CommandError.usage("\(twice) is given twice: keep one value")
        }
        by = Self.names(parameters[Parameter.by]).filter { $0 != "total" }
        if parameters[Parameter.by].nonempty == nil { request.grouping = .all }
        request.measures = Self.names(parameters[Parameter.measures]).nonempty
        since = parameters[Parameter.since].nonempty
        until = parameters[Parameter.until].nonempty
        asOf = parameters[Parameter.asOf].nonempty
        let isByInstall = parameters[Parameter.date] == ReportRequest.DateRule.install.rawValue
        request.dateRule = isByInstall ? .install : nil
        request.curve = parameters[Parameter.curve] == "1"
        request.target = PageContext.target(parameters)
        // An empty text is also a value: that of rows with an unknown column. An empty field of the bar limits nothing.
        let isOfBar = parameters[PageContext.shownPeriod] != nil
        request.conditions = columns.compactMap { name in
            guard let value = parameters[name],
                !value.isEmpty || !isOfBar || !PageContext.isFilter(name)
            else { return nil }
            return ReportRequest.Condition(column: name, value: value)
        }
    }

    /// Whether it selects rows without a value in the column of a filter. The bar cannot show that choice.
    var hasEmptyFilter: Bool {
        request.conditions.contains {
            $0.value.isEmpty && PageContext.isFilter($0.column)
        }
    }

    private static func names(_ text: String?) -> [String] {
        (text ?? "").split(separator: ",").map(String.init)
    }

    var parameters: [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        func add(_ name: String, _ value: String?) {
            if let value { parameters.append((name, value)) }
        }
        add(Parameter.by, groupingText)
        for condition in request.conditions { add(condition.column, condition.value) }
        add(Parameter.since, since)
        add(Parameter.until, until)
        add(Parameter.asOf, asOf)
        add(Parameter.measures, request.measures?.joined(separator: ","))
        add(Parameter.date, request.dateRule?.rawValue)
        add(Parameter.curve, request.curve ? "1" : nil)
        add(PageContext.currency, request.target)
        return parameters
    }

    /// The grouping columns as written in addresses and commands; nil for all rows.
    private var groupingText: String? {
        guard !hasOwnRows, request.grouping != .all else { return nil }
        return by.isEmpty ? "total" : by.joined(separator: ",")
    }

    var address: PageAddress { PageAddress("/dump/\(request.name)", parameters) }

    func address(as format: DumpFormat) -> PageAddress {
        PageAddress("/dump/\(request.name).\(format.rawValue)", parameters)
    }

    /// The address of the explanation of a number in a row.
    func explanation(of measure: String?, where key: [ReportRequest.Condition]) -> PageAddress {
        var cell = self
        // One number is explained, independent of the grouping.
        cell.grouping = .all
        cell.measures = nil
        let key = request.incrementConditions(key)
        cell.curve = false
        cell.conditions =
            key
            + request.conditions.filter { condition in
                !key.contains { $0.column == condition.column }
            }
        cell.dateRule = nil
        if !(measure.map(keepsTarget) ?? false) { cell.target = nil }
        return PageAddress(
            "/explain/\(cell.name)", cell.parameters + (measure.map { [("measure", $0)] } ?? []))
    }

    /// Whether the explanation of a measure needs the currency of amounts: records have amounts in their own currency,
    /// but a quotient of several needs one, and a sum of amounts shows its conversion.
    private func keepsTarget(_ measure: String) -> Bool {
        let parts = DerivedMeasure.named(measure, of: request.name)?.parts ?? [measure]
        return Funnel.isRatio(measure)
            || has(.amounts) && parts.contains(where: MoneyByCurrency.isMoney)
    }

    // MARK: Commands

    /// The command that prints the rows, quoted for a shell.
    ///
    /// - Parameter clock: the words of the option `--at`; empty to use the clock.
    func command(_ clock: [String]) -> String {
        var words = ["weir", "dump", request.name]
        if let groupingText { words += ["--by", groupingText] }
        words += selection
        if let measures = request.measures {
            words += ["--measures", measures.joined(separator: ",")]
        }
        if let asOf { words += ["--as-of", asOf] }
        if let dateRule = request.dateRule { words += ["--date", dateRule.rawValue] }
        if request.curve { words.append("--curve") }
        if let target = request.target { words += ["--in", target] }
        return ShellWords.text(words + clock)
    }

    /// A command about the selected rows.
    func command(_ command: String, _ rest: [String] = []) -> String {
        ShellWords.text(["weir", command, request.name] + selection + rest)
    }

    private var selection: [String] {
        request.conditions.flatMap { ["--where", "\($0.column)=\($0.value)"] }
            + (since.map { ["--since", $0] } ?? []) + (until.map { ["--until", $0] } ?? [])
    }

    // MARK: Asking

    /// The request with its times.
    ///
    /// - Parameter zone: that of days.
    func resolved(in zone: ReportTimeZone) throws -> ReportRequest {
        var request = self.request
        request.timeZone = zone
        if hasOwnRows { request.grouping = .all }
        request.sinceMilliseconds = try Self.time(since, Parameter.since, in: zone)
        request.untilMilliseconds = try Self.time(until, Parameter.until, in: zone)
        if let start = request.sinceMilliseconds, let end = request.untilMilliseconds,
            end <= start
        {
            throw CommandError.usage(
                "the range from \(since ?? "") to \(until ?? "") is empty: its end is exclusive, so give a later one"
            )
        }
        return request
    }

    /// The same by the day of arrival, as comparisons need it.
    func resolvedByArrival(in zone: ReportTimeZone) throws -> ReportRequest {
        var request = try resolved(in: zone)
        request.dateRule = nil
        return request
    }

    /// The same for one row, as explanations need it.
    func resolvedTotal(in zone: ReportTimeZone) throws -> ReportRequest {
        var request = try resolvedByArrival(in: zone)
        request.grouping = .total
        return request
    }

    /// Whether the answer depends on the time zone of days.
    var isOfDays: Bool {
        since != nil || until != nil || request.target != nil || request.grouping.names("day")
            || request.conditions.contains { $0.column == "day" }
    }

    var asOfMilliseconds: Int64? {
        get throws { try Self.time(asOf, Parameter.asOf, in: .utc) }
    }

    private static func time(
        _ text: String?, _ name: String, in zone: ReportTimeZone
    ) throws(CommandError) -> Int64? {
        guard let text else { return nil }
        guard let milliseconds = zone.milliseconds(text: text) else {
            throw .usage(
                "\(name) must be a time, for example 2026-11-21 or 2026-11-21T05:00:00Z, not '\(text)'"
            )
        }
        return milliseconds
    }
}

extension String? {
    /// Nil for an empty text too.
    var nonempty: String? { self?.isEmpty == true ? nil : self }
}

extension [String] {
    /// Nil for an empty list.
    fileprivate var nonempty: [String]? { isEmpty ? nil : self }
}
