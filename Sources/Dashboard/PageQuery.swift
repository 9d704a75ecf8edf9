import Monitoring
import Program
import Reports
import Streams

/// A request to a dump. It is the address of a page, a command that prints the same, and the rows that answer it.
struct PageQuery: Equatable {
    var dump: String
    /// The columns that rows are grouped by; none: everything in one row, or all rows.
    var by: [String] { didSet { isOfAllRows = false } }
    /// Whether rows are as they are stored, since nothing says how to group them.
    var isOfAllRows = false
    var conditions: [DumpQuery.Condition] = []
    /// A time as `weir` reads it; nil for no bound.
    var since: String?
    var until: String?
    /// Only records that were there before this time count; nil for all.
    var asOf: String?
    /// The measures that are shown; none: all.
    var measures: [String] = []
    /// Of the funnel: whether postbacks count on the day of their install.
    var isByInstall = false
    /// Of dumps of cohorts: whether each step has all that was counted up to it.
    var isCurve = false
    /// Of the funnel: whether sums of whole apps are left out, since the reader may see some of an app's campaigns only.
    var hidesAppSums = false
    /// Whether the reader may see some rows only.
    var isScoped = false

    init(_ dump: String, by: [String] = [], measures: [String] = []) {
        self.dump = dump
        self.by = by
        self.measures = measures
    }

    /// What is asked; nil for a name that no report has.
    var report: (any Report)? { try? knownReport(dump) }

    /// The columns of its report; none for one that there is not.
    var columns: [String] { report?.columnNames ?? [] }

    /// Whether rows are of the days on which postbacks arrived.
    var isByArrival: Bool { has(.dates) && !isByInstall }

    /// Whether the rows cannot be added up.
    private var hasOwnRows: Bool { !has(.groups) }

    /// Whether its report can do something.
    func has(_ ability: ReportAbilities) -> Bool { report?.abilities.contains(ability) ?? false }

    // MARK: Addresses

    /// Names of parameters that are no columns of a dump.
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

    /// Reads the parameters of a page: those that are named as columns are conditions.
    ///
    /// - Throws: for a name that means nothing here, or that stands there twice: an answer to less than was asked would
    ///   look like one.
    init(_ dump: String, _ parameters: QueryParameters) throws {
        self.init(dump)
        let columns = try knownReport(dump).columnNames
        // Filters of pages are columns of most dumps too.
        let known = columns + (Parameter.all + PageContext.filters).filter { !columns.contains($0) }
        if let unknown = parameters.names.first(where: { !known.contains($0) }) {
            throw CommandError.usage(
                "no parameter '\(unknown)' here: there are \(known.joined(separator: ", "))")
        }
        if let twice = parameters.repeated.min() {
            throw CommandError.usage("\(twice) stands there twice: one value at a time")
        }
        by = Self.names(parameters[Parameter.by]).filter { $0 != "total" }
        isOfAllRows = parameters[Parameter.by].nonempty == nil
        measures = Self.names(parameters[Parameter.measures])
        since = parameters[Parameter.since].nonempty
        until = parameters[Parameter.until].nonempty
        asOf = parameters[Parameter.asOf].nonempty
        isByInstall = parameters[Parameter.date] == "install"
        isCurve = parameters[Parameter.curve] == "1"
        // An empty text is a value too: that of rows where the column is not known.
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

    /// The columns that rows are grouped by, as addresses and commands have them; nil for all rows.
    private var grouping: String? {
        guard !hasOwnRows, !isOfAllRows else { return nil }
        return by.isEmpty ? "total" : by.joined(separator: ",")
    }

    var address: PageAddress { PageAddress("/dump/\(dump)", parameters) }

    /// The same rows as a file.
    func address(as format: DumpFormat) -> PageAddress {
        PageAddress("/dump/\(dump).\(format.rawValue)", parameters)
    }

    /// Where a number of one row is explained.
    func explanation(of measure: String?, where key: [DumpQuery.Condition]) -> PageAddress {
        var cell = self
        cell.by = []
        // What is explained is one number, whatever rows are grouped by.
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

    /// The command that prints the rows, as it is typed in a shell.
    ///
    /// - Parameter clock: the words of the option `--at`; none for the clock.
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
                    "no time lies from \(since ?? "") to before \(until ?? ""): the days end before the one that is named last, so give a later one"
                )
            }
            return query
        }
    }

    /// The request with what the reader may see of it.
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

    /// The same of one row, as one number is explained.
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
            throw .usage("\(name) '\(text)' is no time: write 2026-11-21 or 2026-11-21T05:00:00Z")
        }
        return milliseconds
    }
}

/// The rows that answer a request.
struct PageAnswer {
    let request: PageQuery
    private(set) var table: ReportTable
    /// So many of the first columns tell rows apart.
    let keyCount: Int
    /// The place of the first measure; names that explain a key may lie before it.
    let firstMeasure: Int
    /// What a reader should know beside the rows.
    var notices: [String] = []
    /// How many rows there are beside these.
    var moreRows = 0

    var rows: [[ReportValue]] { table.rows }

    /// The values of a row's key, as conditions.
    func key(of row: [ReportValue]) -> [DumpQuery.Condition] {
        zip(table.columns, row).prefix(keyCount).map {
            DumpQuery.Condition(column: $0.name, value: $1.plainText)
        }
    }

    /// What a row is of, in one of its columns. A refused record's type is named as `outcomes` names it.
    func name(_ row: [ReportValue], _ place: Int) -> String {
        let column = table.columns[place].name
        guard column == "type", let topic = self.place(of: "topic"),
            let reason = self.place(of: "reason")
        else { return ShownValue.text(row[place], in: column, isKey: true) }
        return ShownValue.type(
            row[place].plainText, of: row[topic].plainText, refusedFor: row[reason].plainText)
    }

    /// Leaves out the rows that have no number but what they are of: files have them.
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

    /// Puts the rows in the order in which people look for them.
    mutating func orderNaturally() {
        table =
            ReportTable(
                columns: table.columns, rows: table.rows, keyCount: keyCount
            ).inNaturalOrder
    }

    /// What stands beside numbers and is none of them.
    private static let saysNothing = ["maturity", "final_after", "cost_source"]

    /// What a cost per install divides by, where rows are of several campaigns.
    var noteOnCostPerInstall: String? {
        guard place(of: "cpi") != nil,
            !(request.by + request.conditions.map(\.column)).contains(where: {
                ["campaign", "name"].contains($0)
            })
        else { return nil }
        return
            "cpi is the cost divided by all installs of the row, also those of campaigns without a known cost."
    }

    func place(of column: String) -> Int? { table.columns.firstIndex { $0.name == column } }

    /// The value of a column in the only row; nil when there is no such row, or nothing is known.
    func only(_ column: String) -> ReportValue? {
        guard let row = rows.first, rows.count == 1, let place = place(of: column) else {
            return nil
        }
        return row[place] == .null ? nil : row[place]
    }
}

/// Words of a command, as a shell takes them.
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
