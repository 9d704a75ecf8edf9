extension TableComparison {
    /// What the two tables are called in a report.
    struct Titles {
        var first: String
        var second: String

        static let sets = Titles(first: "a", second: "b")
        static let models = Titles(first: "stored", second: "candidate")
    }

    /// One line a row and measure, and behind them one line a measure with the totals of all rows,
    /// whose columns are null but for the currency of amounts.
    ///
    /// - Parameter limit: so many rows at most; totals cover all of them.
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

    /// Nothing is added up where nothing differs and nothing else was asked for.
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

    /// One line a measure that differs in any row.
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
