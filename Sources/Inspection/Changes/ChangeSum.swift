import AggregateStore

/// Why sums are others at a later instant: parts that add up to the difference.
struct ChangeSum {
    /// Why a set of stores that took another one's place says something else of the same records.
    enum Cause {
        /// It was folded under another configuration.
        case configuration
        /// It was folded under the same one: something that was wrong before is right now, or there.
        case correction
    }

    /// One measure of a row.
    struct Line {
        let columns: [StoredValue]
        let key: RowKeyBytes
        let measure: Int
        fileprivate(set) var from = Int128(0)
        fileprivate(set) var laterRecords = Int128(0)
        fileprivate(set) var configuration = Int128(0)
        fileprivate(set) var correction = Int128(0)

        /// What it says at the later instant.
        var to: Int128 { from + laterRecords + configuration + correction }

        fileprivate init(columns: [StoredValue], key: RowKeyBytes, measure: Int) {
            self.columns = columns
            self.key = key
            self.measure = measure
        }

        fileprivate mutating func add(_ difference: Int128, _ cause: Cause) {
            switch cause {
            case .configuration: configuration += difference
            case .correction: correction += difference
            }
        }

        fileprivate mutating func add(_ other: Line) {
            from += other.from
            laterRecords += other.laterRecords
            configuration += other.configuration
            correction += other.correction
        }

        fileprivate var isChanged: Bool {
            laterRecords != 0 || configuration != 0 || correction != 0
        }
    }

    let columns: [DumpColumn]
    let measures: [String]
    private var lines: [LineKey: Line] = [:]

    /// Begins with what the set in force at the earlier instant says of the records before it.
    init(_ table: MeasuredTable) {
        columns = table.columns
        measures = table.measures
        add(table, sign: 1) { $0.from += $1 }
    }

    /// Adds what another set says of the same records that took the place of one.
    mutating func replace(_ old: MeasuredTable, by new: MeasuredTable, _ cause: Cause) {
        add(new, sign: 1) { $0.add($1, cause) }
        add(old, sign: -1) { $0.add($1, cause) }
    }

    /// Adds what the records between the two instants are, all of one set.
    mutating func advance(from old: MeasuredTable, to new: MeasuredTable) {
        add(new, sign: 1) { $0.laterRecords += $1 }
        add(old, sign: -1) { $0.laterRecords += $1 }
    }

    private mutating func add(
        _ table: MeasuredTable, sign: Int128, _ body: (inout Line, Int128) -> Void
    ) {
        for row in table.rows {
            let key = RowKeyBytes(row.columns)
            for (measure, amount) in row.measures.enumerated() where amount != 0 {
                let empty = Line(columns: row.columns, key: key, measure: measure)
                body(&lines[LineKey(row: key, measure: measure), default: empty], sign * amount)
            }
        }
    }

    /// What changed, the largest difference first, then in order of columns and measures.
    var changes: [Line] {
        lines.values.filter(\.isChanged).sorted { left, right in
            let sizes = ((left.to - left.from).magnitude, (right.to - right.from).magnitude)
            guard sizes.0 == sizes.1 else { return sizes.0 > sizes.1 }
            return left.key == right.key ? left.measure < right.measure : left.key < right.key
        }
    }
}

private struct LineKey: Hashable {
    let row: RowKeyBytes
    let measure: Int
}

extension ChangeSum {
    /// One line a row and measure that changed, and behind them one line a measure with the totals of all
    /// of these, whose columns are null but for the currency of amounts.
    var report: ReportTable {
        let parts = [
            "value_from", "later_records", "configuration", "correction", "value_to",
        ]
        let changes = changes
        return ReportTable(
            columns: [ReportTable.Column("line")] + columns.map(\.reportColumn)
                + [ReportTable.Column("measure")]
                + parts.map { ReportTable.Column($0, isNumber: true) },
            rows: changes.map { line in
                [.text("row")] + zip(columns, line.columns).map { $0.reportValue($1) }
                    + numbers(of: line)
            } + totals(of: changes))
    }

    /// Amounts of different currencies are never added up where the currency is a column.
    private func totals(of changes: [Line]) -> [[ReportValue]] {
        let currencyPlace = columns.firstIndex { $0.name == "currency" }
        var totals: [LineKey: Line] = [:]
        for line in changes {
            let isMoney = measures[line.measure].hasSuffix("_micros")
            let currency = isMoney ? currencyPlace.map { line.columns[$0] } : nil
            let group: [StoredValue] =
                [.integer(Int64(line.measure))] + (currency.map { [$0] } ?? [])
            let key = RowKeyBytes(group)
            totals[
                LineKey(row: key, measure: line.measure),
                default: Line(columns: currency.map { [$0] } ?? [], key: key, measure: line.measure)
            ].add(line)
        }
        return totals.values.sorted { $0.key < $1.key }.map { total in
            [.text("total")]
                + columns.indices.map { place in
                    guard place == currencyPlace, let currency = total.columns.first else {
                        return .null
                    }
                    return .text(currency.text)
                } + numbers(of: total)
        }
    }

    private func numbers(of line: Line) -> [ReportValue] {
        [.text(measures[line.measure])]
            + [line.from, line.laterRecords, line.configuration, line.correction, line.to].map {
                .integer($0)
            }
    }
}
