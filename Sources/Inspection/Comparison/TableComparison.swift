import AggregateStore
import Streams

/// Two tables of sums side by side.
struct TableComparison {
    /// One measure of a row, in both tables.
    struct Line {
        let columns: [StoredValue]
        let key: RowKeyBytes
        let measure: Int
        let first: Int128
        let second: Int128

        var difference: Int128 { second - first }
    }

    /// The sums of a measure in both tables.
    struct Total {
        let measure: Int
        /// nil for counts. Amounts of different currencies are never added where the currency is a
        /// column.
        let currency: String?
        /// How many rows differ.
        private(set) var rows = 0
        private(set) var first = Int128(0)
        private(set) var second = Int128(0)

        init(measure: Int, currency: String?) {
            self.measure = measure
            self.currency = currency
        }

        mutating func add(_ line: Line) {
            rows += line.difference == 0 ? 0 : 1
            first += line.first
            second += line.second
        }
    }

    let columns: [DumpColumn]
    let measures: [String]
    /// The lines, the largest difference first, then in order of their columns and measures.
    let lines: [Line]
    /// A total for each measure that is not 0 in at least one table; of amounts one a currency.
    let totals: [Total]

    var differs: Bool { lines.contains { $0.difference != 0 } }

    /// Compares two tables of the same columns and measures.
    ///
    /// - Parameter showsEqual: whether there are lines for what is the same in both.
    init(_ first: MeasuredTable, _ second: MeasuredTable, showsEqual: Bool) {
        columns = first.columns
        measures = first.measures
        var sides: [RowKeyBytes: Sides] = [:]
        for row in first.rows {
            sides[RowKeyBytes(row.columns), default: Sides(row)].first = row.measures
        }
        for row in second.rows {
            sides[RowKeyBytes(row.columns), default: Sides(row)].second = row.measures
        }
        let currencyPlace = columns.firstIndex { $0.name == "currency" }
        var lines: [Line] = []
        var totals: [TotalKey: Total] = [:]
        for (key, sides) in sides {
            for measure in measures.indices {
                let line = Line(
                    columns: sides.columns, key: key, measure: measure,
                    first: sides.first?[measure] ?? 0, second: sides.second?[measure] ?? 0)
                guard line.first != 0 || line.second != 0 else { continue }
                let isMoney = measures[measure].hasSuffix("_micros")
                let currency = isMoney ? currencyPlace.map { sides.columns[$0].text } : nil
                totals[
                    TotalKey(measure: measure, currency: .text(currency ?? "")),
                    default: Total(measure: measure, currency: currency)
                ].add(line)
                if showsEqual || line.difference != 0 { lines.append(line) }
            }
        }
        self.lines = lines.sorted { left, right in
            let sizes = (left.difference.magnitude, right.difference.magnitude)
            guard sizes.0 == sizes.1 else { return sizes.0 > sizes.1 }
            return left.key == right.key ? left.measure < right.measure : left.key < right.key
        }
        self.totals = totals.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// The sums of a row in both tables; nil where a table lacks the row.
private struct Sides {
    let columns: [StoredValue]
    var first: [Int128]?
    var second: [Int128]?

    init(_ row: MeasuredTable.Row) {
        columns = row.columns
    }
}

private struct TotalKey: Hashable, Comparable {
    let measure: Int
    let currency: StoredValue

    static func < (left: TotalKey, right: TotalKey) -> Bool {
        left.measure == right.measure
            ? left.currency < right.currency : left.measure < right.measure
    }
}

extension TableComparison {
    /// The names of the two tables in a report.
    struct Titles {
        var first: String
        var second: String

        static let sets = Titles(first: "a", second: "b")
        static let models = Titles(first: "stored", second: "candidate")
    }

    /// One line for each row and measure, then one for each measure with the totals of all rows.
    /// Columns of totals are null, except the currency of amounts.
    ///
    /// - Parameter limit: the most rows to show; totals cover all of them.
    func report(_ titles: Titles, limit: Int?) -> ReportTable {
        let reportColumns =
            [ReportTable.Column("line")] + columns.map(\.reportColumn)
            + [
                ReportTable.Column("measure"), ReportTable.Column(titles.first, isNumber: true),
                ReportTable.Column(titles.second, isNumber: true),
                ReportTable.Column("difference", isNumber: true),
            ]
        let rows = lines.prefix(limit ?? .max).map { line in
            [.text("row")] + zip(columns, line.columns).map { $0.reportValue($1) }
                + numbers(line.measure, line.first, line.second)
        }
        return ReportTable(columns: reportColumns, rows: rows + totalRows)
    }

    /// There are no totals without lines.
    private var totalRows: [[ReportValue]] {
        guard !lines.isEmpty else { return [] }
        let shown = Set(lines.map(\.measure))
        return totals.filter { shown.contains($0.measure) }.map { total in
            [.text("total")]
                + columns.map { column -> ReportValue in
                    guard column.name == "currency", let currency = total.currency else {
                        return .null
                    }
                    return .text(currency)
                } + numbers(total.measure, total.first, total.second)
        }
    }

    /// One line for each measure that differs in any row.
    func summary(of dump: String) -> [[ReportValue]] {
        totals.filter { $0.rows > 0 }.map { total in
            [
                .text(dump), .text(measures[total.measure]), .text(total.currency ?? ""),
                .integer(Int128(total.rows)),
            ] + numbers(total.measure, total.first, total.second).dropFirst()
        }
    }

    /// The columns of `summary`.
    static func summaryColumns(_ titles: Titles) -> [ReportTable.Column] {
        [ReportTable.Column("dump"), ReportTable.Column("measure"), ReportTable.Column("currency")]
            + ["rows", titles.first, titles.second, "difference"].map {
                ReportTable.Column($0, isNumber: true)
            }
    }

    private func numbers(_ measure: Int, _ first: Int128, _ second: Int128) -> [ReportValue] {
        [
            .text(measures[measure]), .integer(first), .integer(second),
            .integer(second - first),
        ]
    }
}

/// Sums by columns, to be compared with those of another table of the same columns.
struct MeasuredTable {
    struct Row {
        /// The columns' values; booleans are 0 and 1.
        let columns: [StoredValue]
        /// One for each measure.
        let measures: [Int128]
    }

    let columns: [DumpColumn]
    let measures: [String]
    let rows: [Row]

    init(columns: [DumpColumn], measures: [String], rows: [Row]) {
        self.columns = columns
        self.measures = measures
        self.rows = rows
    }

    init(_ dump: Dump) {
        self.init(
            columns: dump.columns, measures: dump.measures,
            rows: dump.rows.map { Row(columns: $0.columns, measures: $0.measures) })
    }

    /// The sums of a funnel, without computed columns. Amounts of several currencies get rows of
    /// their own by a further column, which is empty for counts.
    init(_ funnel: Funnel, columns keys: [DumpColumn]) {
        let table = funnel.table
        let places = table.columns.indices.dropFirst(keys.count).filter { place in
            Self.funnelMeasures.contains(table.columns[place].name)
        }
        columns = keys + [DumpColumn("currency", .text)]
        measures = places.map { table.columns[$0].name }
        rows = table.rows.flatMap { values -> [Row] in
            let key = values.prefix(keys.count).map(\.stored)
            var byCurrency: [StoredValue: [Int128]] = [:]
            func add(_ amount: Int128, _ currency: String, _ measure: Int) {
                let empty = Array(repeating: Int128(0), count: places.count)
                byCurrency[.text(currency), default: empty][measure] += amount
            }
            for (measure, place) in places.enumerated() {
                switch values[place] {
                case .integer(let count): add(count, "", measure)
                case .money(let money):
                    for amount in money.amounts { add(amount.micros, amount.currency, measure) }
                case .null, .text, .decimal, .boolean: break
                }
            }
            return byCurrency.sorted { $0.key < $1.key }.map { currency, sums in
                Row(columns: key + [currency], measures: sums)
            }
        }
    }

    /// The columns that add up over rows of the funnel. Refunds do not: they stand in every row of
    /// an app.
    private static let funnelMeasures: Set<String> = [
        "bids", "overlay_requested", "overlay_eligible", "wins", "presented", "viewed",
        "skadn_impressions", "clicks", "automatic_clicks", "installs", "redownloads",
        "reengagements", "postbacks", "null_values", "revenue_min_micros", "revenue_max_micros",
        "cost_micros",
    ]
}

extension ReportValue {
    /// The value as a key of rows. Keys of reports are texts and integers of 64 bits.
    fileprivate var stored: StoredValue {
        if case .integer(let integer) = self { return .integer(Int64(clamping: integer)) }
        return .text(words)
    }
}

extension DumpColumn {
    /// A value of the column, for a report.
    func reportValue(_ value: StoredValue) -> ReportValue {
        switch value {
        case .integer(let integer) where kind == .boolean: .boolean(integer != 0)
        case .integer(let integer): .integer(Int128(integer))
        case .text(let text): .text(text)
        }
    }

    /// The column in a report.
    var reportColumn: ReportTable.Column {
        ReportTable.Column(name, isNumber: kind == .integer)
    }
}
