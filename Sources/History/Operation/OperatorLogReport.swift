import Reports
import Streams

/// The log of operators' actions as rows.
package enum OperatorLogReport {
    package static func table(_ entries: [OperatorLog.Entry]) -> ReportTable {
        ReportTable(entries, columns)
    }

    private static let columns: [ReportColumn<OperatorLog.Entry>] = [
        .text("time") { UTC.text(milliseconds: $0.begunMilliseconds) },
        .text("by") { $0.by.name }, .text("token") { $0.by.token },
        .text("action") { $0.kind.rawValue }, .text("subject") { $0.subject },
        .text("state") { $0.end.map { $0.isDone ? "done" : "failed" } ?? "begun" },
        .text("result") { $0.end?.result },
        .text("id") { $0.id },
    ]
}
