import Streams

extension Dump {
    /// The dump as a report, with two columns behind the measures: `maturity`, the share of the windows
    /// of installs on the row's days that are closed, from 0 to 1, and `final_after`, from when on no
    /// postback for such an install can arrive. As in the funnel: `docs/funnel.md`.
    ///
    /// The query has to have asked for windows (`DumpQuery.notesMaturity`).
    package func withMaturity() -> ReportTable {
        ReportTable(
            columns: columns.map(\.reportColumn)
                + (measures + ["maturity", "final_after"]).map {
                    ReportTable.Column($0, isNumber: true)
                },
            rows: rows.map { row in
                zip(columns, row.columns).map { $0.reportValue($1) }
                    + row.measures.map { .integer($0) } + maturity(of: row)
            })
    }

    private func maturity(of row: Row) -> [ReportValue] {
        let end = PostbackKinds.finalAfterMilliseconds(of: row.windows)
        let share = watermarkMilliseconds.flatMap { watermark in
            let windows = PostbackKinds.windows(of: row.windows, closedAt: watermark)
            return ExactRatio(windows.closed, windows.all)
        }
        return [
            share.map { .decimal($0.text) } ?? .null,
            end.map { .text(UTC.text(milliseconds: $0)) } ?? .null,
        ]
    }
}
