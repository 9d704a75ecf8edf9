import Inspection

/// What was trimmed, or would be.
struct TrimReport {
    let rows: [LogTrim.Row]
    let isDry: Bool

    /// A row for each partition.
    var table: ReportTable {
        ReportTable(
            columns: [
                .init("topic"), .init("partition", isNumber: true),
                .init("earliest", isNumber: true), .init("end", isNumber: true),
                .init(isDry ? "would_trim" : "trimmed", isNumber: true),
                .init("left", isNumber: true), .init("why_no_more"),
            ],
            rows: rows.map { row in
                [
                    .text(row.topic), .integer(Int128(row.partition)),
                    .integer(Int128(row.earliestOffset)), .integer(Int128(row.endOffset)),
                    .integer(Int128(row.count)), .integer(Int128(row.endOffset - row.target)),
                    .text(row.reason),
                ]
            })
    }

    /// All of it in a line.
    var summary: String {
        let count = rows.reduce(0) { $0 + $1.count }
        let topics = Dictionary(grouping: rows.filter { $0.count > 0 }, by: \.topic)
            .map { name, rows in "\(name) \(rows.reduce(0) { $0 + $1.count })" }.sorted()
        let words = isDry ? "would trim" : "trimmed"
        let what = topics.isEmpty ? "" : ": \(topics.joined(separator: ", "))"
        return "\(words) \(count) records that are past the retention of their topics\(what)"
    }
}
