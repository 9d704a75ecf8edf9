import Monitoring
import Program
import Reports
import Streams

/// A request for a dump. It maps to the address of a page, the equivalent command, and the rows of the answer.
struct PageQuery: Equatable {
    var dump: String
    /// The grouping columns; empty for a single row or for all rows.
    var by: [String] { didSet { isOfAllRows = false } }
    /// Whether rows are as stored, because no grouping is given.
    var isOfAllRows = false
    var conditions: [DumpQuery.Condition] = []
    /// A time in the syntax of `weir`; nil for no bound.
    var since: String?
    var until: String?
    /// Only records before this time count; nil for all.
    var asOf: String?
    /// The measures to show; empty for all.
    var measures: [String] = []
    /// For the funnel: whether postbacks count on the day of their install.
    var isByInstall = false
    /// For dumps of cohorts: whether steps are cumulative.
    var isCurve = false
    /// For the funnel: whether sums of whole apps are left out, because the reader may see only some of an app's
    /// campaigns.
    var hidesAppSums = false
    /// Whether the reader may see only some rows.
    var isScoped = false

    init(_ dump: String, by: [String] = [], measures: [String] = []) {
        self.dump = dump
        self.by = by
        self.measures = measures
    }

    /// The requested report; nil for an unknown name.
    var report: (any Report)? { try? knownReport(dump) }

    /// The columns of its report; empty for an unknown one.
    var columns: [String] { report?.columnNames ?? [] }

    /// Whether rows are grouped by the day on which postbacks arrived.
    var isByArrival: Bool { has(.dates) && !isByInstall }

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
            by, since, until, asOf, measures, date, curve, "measure", "from", PageContext.period,
            PageContext.shownPeriod,
        ]
    }

    /// Parses the parameters of a page; those named after columns are conditions.
    ///
    /// - Throws: for an unknown or repeated name, because ignoring it would answer a different request.
    init(_ dump: String, _ parameters: QueryParameters) throws {
        self.init(dump)
        let columns = try knownReport(dump).columnNames
        // Filters of pages are columns of most dumps too.
        let known = columns + (Parameter.all + PageContext.filters).filter { !columns.contains($0) }
        if let unknown = parameters.names.first(where: { !known.contains($0) }) {
            throw CommandError.usage(
                "unknown parameter '\(unknown)': use one of \(known.joined(separator: ", "))")
        }
        if let twice = parameters.repeated.min() {
            throw CommandError.usage("\(twice) is given twice: keep one value")
        }
        by = Self.names(parameters[Parameter.by]).filter { $0 != "total" }
        isOfAllRows = parameters[Parameter.by].nonempty == nil
        measures = Self.names(parameters[Parameter.measures])
        since = parameters[Parameter.since].nonempty
        until = parameters[Parameter.until].nonempty
        asOf = parameters[Parameter.asOf].nonempty
        isByInstall = parameters[Parameter.date] == "install"
        isCurve = parameters[Parameter.curve] == "1"
        // An empty text is also a value: that of rows with an unknown column.
        conditions = columns.compactMap { name in
            parameters[name].map { DumpQuery.Condition(column: name, value: $0) }
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
        add(Parameter.by, grouping)
        for condition in conditions { add(condition.column, condition.value) }
        add(Parameter.since, since)
        add(Parameter.until, until)
        add(Parameter.asOf, asOf)
        add(Parameter.measures, measures.isEmpty ? nil : measures.joined(separator: ","))
        add(Parameter.date, isByInstall ? "install" : nil)
        add(Parameter.curve, isCurve ? "1" : nil)
        return parameters
    }

    /// The grouping columns as written in addresses and commands; nil for all rows.
    private var grouping: String? {
        guard !hasOwnRows, !isOfAllRows else { return nil }
        return by.isEmpty ? "total" : by.joined(separator: ",")
    }

    var address: PageAddress { PageAddress("/dump/\(dump)", parameters) }

    func address(as format: DumpFormat) -> PageAddress {
        PageAddress("/dump/\(dump).\(format.rawValue)", parameters)
    }

    /// The address of the explanation of a number in a row.
    func explanation(of measure: String?, where key: [DumpQuery.Condition]) -> PageAddress {
        var cell = self
        cell.by = []
        // One number is explained, independent of the grouping.
        cell.isOfAllRows = true
        cell.measures = []
        cell.conditions =
            key
            + conditions.filter { condition in
                !key.contains { $0.column == condition.column }
            }
        cell.isByInstall = false
        return PageAddress(
            "/explain/\(cell.dump)", cell.parameters + (measure.map { [("measure", $0)] } ?? []))
    }

    // MARK: Commands

    /// The command that prints the rows, quoted for a shell.
    ///
    /// - Parameter clock: the words of the option `--at`; empty to use the clock.
    func command(_ clock: [String]) -> String {
        var words = ["weir", "dump", dump]
        if let grouping { words += ["--by", grouping] }
        words += selection
        if !measures.isEmpty { words += ["--measures", measures.joined(separator: ",")] }
        if let asOf { words += ["--as-of", asOf] }
        if isByInstall { words += ["--date", "install"] }
        if isCurve { words.append("--curve") }
        return ShellWords.text(words + clock)
    }

    /// A command about the selected rows.
    func command(_ name: String, _ rest: [String] = []) -> String {
        ShellWords.text(["weir", name, dump] + selection + rest)
    }

    private var selection: [String] {
        conditions.flatMap { ["--where", "\($0.column)=\($0.value)"] }
            + (since.map { ["--since", $0] } ?? []) + (until.map { ["--until", $0] } ?? [])
    }

    // MARK: Asking

    var query: DumpQuery {
        get throws {
            let grouping: DumpQuery.Grouping =
                hasOwnRows || isOfAllRows ? .all : by.isEmpty ? .total : .columns(by)
            var query = DumpQuery(name: dump, grouping: grouping, conditions: conditions)
            query.tellsCurrenciesApart = true
            query.measures = measures.isEmpty ? nil : measures
            query.sinceMilliseconds = try Self.time(since, Parameter.since)
            query.untilMilliseconds = try Self.time(until, Parameter.until)
            if let start = query.sinceMilliseconds, let end = query.untilMilliseconds, end <= start
            {
                throw CommandError.usage(
                    "the range from \(since ?? "") to \(until ?? "") is empty: its end is exclusive, so give a later one"
                )
            }
            return query
        }
    }

    /// The request limited to the reader's scope.
    var request: ReportRequest {
        get throws {
            var request = ReportRequest(query: try query)
            request.dateRule = isByInstall ? .install : nil
            request.curve = isCurve
            request.isScoped = isScoped
            request.hidesAppSums = hidesAppSums
            return request
        }
    }

    /// The same for one row, as used by explanations.
    var totalQuery: DumpQuery {
        get throws {
            var query = try query
            query.grouping = .total
            return query
        }
    }

    var asOfMilliseconds: Int64? {
        get throws { try Self.time(asOf, Parameter.asOf) }
    }

    private static func time(_ text: String?, _ name: String) throws(CommandError) -> Int64? {
        guard let text else { return nil }
        guard let milliseconds = UTC.milliseconds(text: text) else {
            throw .usage(
                "\(name) must be a time, for example 2026-11-21 or 2026-11-21T05:00:00Z, not '\(text)'"
            )
        }
        return milliseconds
    }
}

/// The rows of a request.
struct PageAnswer {
    let request: PageQuery
    private(set) var table: ReportTable
    /// The number of leading columns that identify a row.
    let keyCount: Int
    /// The index of the first measure; names that explain a key may precede it.
    let firstMeasure: Int
    /// Notices for the reader.
    var notices: [String] = []
    /// The number of further rows.
    var moreRows = 0

    var rows: [[ReportValue]] { table.rows }

    /// The values of a row's key, as conditions.
    func key(of row: [ReportValue]) -> [DumpQuery.Condition] {
        zip(table.columns, row).prefix(keyCount).map {
            DumpQuery.Condition(column: $0.name, value: $1.plainText)
        }
    }

    /// The name of a row in one of its columns. The type of a rejected record is the one that `outcomes` uses.
    func name(_ row: [ReportValue], _ place: Int) -> String {
        let column = table.columns[place].name
        guard column == "type", let topic = self.place(of: "topic"),
            let reason = self.place(of: "reason")
        else { return ShownValue.text(row[place], in: column, isKey: true) }
        return ShownValue.type(
            row[place].plainText, of: row[topic].plainText, refusedFor: row[reason].plainText)
    }

    /// Leaves out rows without any number; files contain them.
    mutating func leaveOutEmptyRows() {
        guard firstMeasure < table.columns.count else { return }
        table = ReportTable(
            columns: table.columns,
            rows: rows.filter { row in
                table.columns.indices.dropFirst(firstMeasure).contains {
                    !row[$0].isZero && !Self.saysNothing.contains(table.columns[$0].name)
                }
            },
            keyCount: table.keyCount)
    }

    /// Sorts the rows in natural order.
    mutating func orderNaturally() {
        table =
            ReportTable(
                columns: table.columns, rows: table.rows, keyCount: keyCount
            ).inNaturalOrder
    }

    /// Columns that accompany numbers and do not count as content.
    private static let saysNothing = ["maturity", "final_after", "cost_source"]

    /// A note on the installs in a cost per install, if rows have several campaigns.
    var noteOnCostPerInstall: String? {
        guard place(of: "cpi") != nil,
            !(request.by + request.conditions.map(\.column)).contains(where: {
                ["campaign", "name"].contains($0)
            })
        else { return nil }
        return
            "cpi is the cost divided by all installs of the row, including installs of campaigns without a known cost."
    }

    func place(of column: String) -> Int? { table.columns.firstIndex { $0.name == column } }

    /// The value of a column in the only row; nil without such a row, or for an unknown value.
    func only(_ column: String) -> ReportValue? {
        guard let row = rows.first, rows.count == 1, let place = place(of: column) else {
            return nil
        }
        return row[place] == .null ? nil : row[place]
    }
}

/// Quotes the words of a command for a shell.
enum ShellWords {
    static func text(_ words: [String]) -> String { words.map(quoted).joined(separator: " ") }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                || "-_./:,=@%+".utf8.contains(byte)
        }
        return isPlain && !word.isEmpty
            ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }
}

extension String? {
    /// Nil for an empty text too.
    var nonempty: String? { self?.isEmpty == true ? nil : self }
}
