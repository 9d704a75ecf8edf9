/// Writes rows of a report one by one, in a format that needs to know nothing of those that follow.
struct ReportLines {
    /// Such a format.
    enum Format {
        /// RFC 4180.
        case csv(CSVLine)
        /// An object a line.
        case ndjson
    }

    private let format: Format
    private let names: [String]
    /// What stands before each value of a JSON object.
    private let leads: [[UInt8]]

    init(columns names: [String], as format: Format) {
        self.format = format
        self.names = names
        leads = ReportTable.leads(of: names)
    }

    /// What comes before the rows.
    var header: [UInt8] {
        switch format {
        case .csv(let line): line.bytes(names.map(CSVLine.Field.own))
        case .ndjson: []
        }
    }

    /// Appends a row, which has a value for each column.
    func append(_ row: [ReportValue], to text: inout [UInt8]) {
        switch format {
        case .csv(let line): text.append(contentsOf: line.bytes(row.map(\.field)))
        case .ndjson:
            ReportTable.append(row, leads, to: &text)
            text.append(TextPieces.newline)
        }
    }
}
