import AggregateStore
import Streams

extension Dump {
    /// The dump with a column `reason_name` behind its columns when it shows OpenRTB's loss reason codes; else
    /// as it is.
    package func withLossReasonNames() -> Dump {
        let place = columns.firstIndex { column in
            column.name == "reason" && column.kind == .integer
        }
        guard let place else { return self }
        return Dump(
            columns: columns + [DumpColumn("reason_name", .text)], measures: measures,
            rows: rows.map { row in
                guard case .integer(let code) = row.columns[place] else { return row }
                return Row(
                    columns: row.columns + [.text(LossReason.name(code))], measures: row.measures,
                    campaignIDKinds: row.campaignIDKinds, windows: row.windows)
            }, watermarkMilliseconds: watermarkMilliseconds)
    }
}
