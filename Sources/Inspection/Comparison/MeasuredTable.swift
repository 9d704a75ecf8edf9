import AggregateStore
import Streams

/// Sums by columns, ready to be set beside those of another table of the same columns.
struct MeasuredTable {
    /// A row.
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

    /// The rows of a dump.
    init(_ dump: Dump) {
        self.init(
            columns: dump.columns, measures: dump.measures,
            rows: dump.rows.map { Row(columns: $0.columns, measures: $0.measures) })
    }

    /// The sums of a funnel, without what is worked out of them. Amounts of several currencies are
    /// rows of their own, in a column behind the others; it is empty for counts.
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

    /// What adds up over rows of the funnel; refunds, which stand in every row of an app, do not.
    private static let funnelMeasures: Set<String> = [
        "bids", "overlay_requested", "overlay_eligible", "wins", "presented", "viewed",
        "skadn_impressions", "clicks", "automatic_clicks", "installs", "redownloads",
        "reengagements", "postbacks", "null_values", "revenue_min_micros", "revenue_max_micros",
        "cost_micros",
    ]
}

extension ReportValue {
    /// The value as a key of rows; keys of reports are texts and integers of 64 bits.
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
