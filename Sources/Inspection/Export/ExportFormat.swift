/// How an export is written: a row after the other, as they are read.
package enum ExportFormat: String, CaseIterable, Sendable {
    /// RFC 4180.
    case csv
    /// An object a line.
    case ndjson

    func lines(isRaw: Bool) -> ReportLines.Format {
        switch self {
        case .csv: .csv(CSVLine(isRaw: isRaw))
        case .ndjson: .ndjson
        }
    }
}
