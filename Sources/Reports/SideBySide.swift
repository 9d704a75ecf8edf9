import Store

/// Sums of several tables with the same columns and measures, side by side: a part for each table.
struct SideBySide {
    /// One measure of a row.
    struct Line {
        let columns: [StoredValue]
        fileprivate let key: RowKeyBytes
        let measure: Int
        /// An unknown part is nil.
        let parts: [Int128?]

        /// The last part minus the first; nil if either is unknown.
        var difference: Int128? { SideBySide.difference(of: parts) }

        /// Whether the first and the last part differ, or a part between them is not zero.
        var isChanged: Bool {
            parts.first != parts.last || parts.dropFirst().dropLast().contains { $0 != 0 }
        }
    }

    struct Total {
        let measure: Int
        /// Nil for counts. If the currency is a column, amounts of different currencies are never added.
        let currency: StoredValue?
        /// The number of rows that differ.
        var rows = 0
        var parts: [Int128?]
    }

    private static func difference(of parts: [Int128?]) -> Int128? {
        (parts.last ?? nil) - (parts.first ?? nil)
    }

    let columns: [DumpColumn]
    let measures: [String]
    private let partCount: Int
    /// The parts of the first measure, then those of the next.
    private var rows: RowGroups<[Int128?]>

    init(_ columns: [DumpColumn], _ measures: [String], parts: Int) {
        self.columns = columns
        self.measures = measures
        partCount = parts
        rows = RowGroups(
            by: Array(columns.indices), empty: Array(repeating: 0, count: measures.count * parts))
    }

    mutating func add(_ table: Dump, to part: Int, sign: Int128 = 1) {
        for row in table.rows {
            rows.add(row.columns) { sums in
                for (measure, amount) in row.measures.enumerated() {
                    let index = measure * partCount + part
                    sums[index] = sums[index] + amount.map { sign * $0 }
                }
            }
        }
    }

    /// The lines that are not 0 in every part, sorted by descending difference, then by columns and measures; and the
    /// totals by measure and currency.
    ///
    /// - Parameters:
    ///   - showsEqual: whether to include lines that are equal in all parts.
    ///   - totalsOfEqual: whether totals include these.
    func lines(showsEqual: Bool, totalsOfEqual: Bool) -> (lines: [Line], totals: [Total]) {
        let currencyIndex = columns.firstIndex { $0.name == "currency" }
        var lines: [Line] = []
        var totals: [RowKeyBytes: Total] = [:]
        for row in rows.sorted {
            for measure in measures.indices {
                let parts = Array(row.sums[measure * partCount..<(measure + 1) * partCount])
                let line = Line(
                    columns: row.columns, key: row.key, measure: measure, parts: parts)
                guard parts.contains(where: { $0 != 0 }) else { continue }
                if showsEqual || line.isChanged { lines.append(line) }
                guard totalsOfEqual || line.isChanged else { continue }
                let isMoney = MoneyByCurrency.isMoney(measures[measure])
                let currency = isMoney ? currencyIndex.map { row.columns[$0] } : nil
                let key = RowKeyBytes([.integer(Int64(measure)), currency ?? .text("")])
                var total =
                    totals[key]
                    ?? Total(
                        measure: measure, currency: currency,
                        parts: Array(repeating: 0, count: partCount))
                if parts.first != parts.last { total.rows += 1 }
                for part in parts.indices { total.parts[part] = total.parts[part] + parts[part] }
                totals[key] = total
            }
        }
        lines.sort { left, right in
            let sizes = (left.difference?.magnitude ?? 0, right.difference?.magnitude ?? 0)
            guard sizes.0 == sizes.1 else { return sizes.0 > sizes.1 }
            return left.key == right.key ? left.measure < right.measure : left.key < right.key
        }
        return (lines, totals.sorted { $0.key < $1.key }.map(\.value))
    }

    /// One line for each row and measure, then one for each measure with the totals of all rows. Columns of totals are
    /// null, except the currency of amounts.
    ///
    /// - Parameters:
    ///   - titles: a name for each part; an additional one adds a column with the difference.
    ///   - limit: the maximum number of rows; totals cover all rows.
    func report(
        _ found: (lines: [Line], totals: [Total]), _ titles: [String], limit: Int? = nil
    ) -> ReportTable {
        func numbers(_ measure: Int, _ parts: [Int128?]) -> [ReportValue] {
            let shown = titles.count > partCount ? parts + [Self.difference(of: parts)] : parts
            return [.text(measures[measure])] + shown.map(\.reportValue)
        }
        let measuresShown = Set(found.lines.map(\.measure))
        let rows = found.lines.prefix(limit ?? .max).map { line in
            [.text("row")] + zip(columns, line.columns).map { $0.reportValue($1) }
                + numbers(line.measure, line.parts)
        }
        let totals = found.totals.filter { measuresShown.contains($0.measure) }.map { total in
            [.text("total")]
                + columns.map { column -> ReportValue in
                    guard column.name == "currency", let currency = total.currency else {
                        return .null
                    }
                    return .text(currency.text)
                } + numbers(total.measure, total.parts)
        }
        return ReportTable(
            columns: [ReportTable.Column("line")] + columns.map(\.reportColumn)
                + [ReportTable.Column("measure")]
                + titles.map { ReportTable.Column($0, isNumber: true) },
            rows: rows + totals)
    }

    /// One line for each measure that differs in any row, with the sums of all rows.
    func summary(of dump: String) -> [[ReportValue]] {
        lines(showsEqual: false, totalsOfEqual: true).totals.filter { $0.rows > 0 }.map { total in
            return [
                .text(dump), .text(measures[total.measure]), .text(total.currency?.text ?? ""),
                .integer(Int128(total.rows)),
            ] + (total.parts + [Self.difference(of: total.parts)]).map(\.reportValue)
        }
    }
}

extension Funnel {
    /// The columns that can be summed over rows of the funnel. Refunds cannot, because they appear in every row of an
    /// app.
    private static let sums: Set<String> = Set(
        FunnelMeasure.allCases.map(\.name) + [
            "revenue_min_micros", "revenue_max_micros", "cost_micros",
        ])

    /// The sums without computed columns. An additional column splits amounts by currency; it is empty for counts.
    func sums(by keys: [DumpColumn]) -> Dump {
        let indices = table.columns.indices.dropFirst(keys.count).filter { index in
            Self.sums.contains(table.columns[index].name)
        }
        let rows = table.rows.flatMap { values -> [Dump.Row] in
            let key = values.prefix(keys.count).map(\.stored)
            var byCurrency: [StoredValue: ExactSums] = [:]
            func add(_ amount: Int128?, _ currency: String, _ measure: Int) {
                let sums = StoredSums([0], unknown: amount == nil ? 1 : 0)
                byCurrency[.text(currency), default: ExactSums(count: indices.count)]
                    .add(sums, at: measure)
                byCurrency[.text(currency)]?.add(amounts: [amount ?? 0], at: measure)
            }
            for (measure, index) in indices.enumerated() {
                switch values[index] {
                case .integer(let count): add(count, "", measure)
                case .money(let money):
                    for amount in money.amounts { add(amount.micros, amount.currency, measure) }
                case .null: if hasUnknown { add(nil, "", measure) }
                case .text, .decimal, .boolean: break
                }
            }
            return byCurrency.sorted { $0.key < $1.key }.map { currency, sums in
                Dump.Row(columns: key + [currency], measures: sums)
            }
        }
        return Dump(
            columns: keys + [DumpColumn("currency", .text)],
            measures: indices.map { table.columns[$0].name }, rows: rows)
    }
}

extension ReportValue {
    /// The value as a row key. Keys of reports are texts and 64-bit integers.
    fileprivate var stored: StoredValue {
        if case .integer(let integer) = self { return .integer(Int64(clamping: integer)) }
        return .text(plainText)
    }
}
