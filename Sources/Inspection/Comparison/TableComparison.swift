import AggregateStore

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
        /// Nil for one that counts; amounts of different currencies are never added where the
        /// currency is a column.
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
    /// A total for each measure that is anything in one of the tables; amounts by currency.
    let totals: [Total]

    /// Whether anything differs.
    var differs: Bool { lines.contains { $0.difference != 0 } }

    /// Sets two tables of the same columns and measures side by side.
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
