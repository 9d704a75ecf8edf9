import EventLog
import Foundation
import Program
import Reports
import Streams

/// Why the values of a dump differ from those at an earlier time.
struct ChangesPage {
    let source: PageSource
    /// The compared rows.
    let request: ReportAddress
    /// The measures to show; empty for all.
    private let measures: [String]
    /// The earlier time as requested.
    let from: String
    private let changes: StoreChanges

    init(_ source: PageSource, _ context: PageContext, _ name: String) throws {
        self.source = source
        var request = try context.request(name)
        from = context.parameters["from"].nonempty ?? ""
        guard let begin = UTC.milliseconds(text: from), begin <= WallClock.milliseconds else {
            throw CommandError.usage(
                "from must be a day in the past, for example 2026-11-21, not '\(from)'")
        }
        measures = request.measures ?? []
        request.measures = nil
        if request.grouping == .all { request.by = [] }
        self.request = request
        changes = try StoreChanges(
            requireReport(name, .sums).comparedRows(
                request.resolvedByArrival(in: source.timeZone(of: request)), source.configuration),
            directories: source.installation.directories, fromMilliseconds: begin,
            toMilliseconds: WallClock.milliseconds, hours: source.installation.hours())
    }

    private func index(of column: String) -> Int? {
        changes.table.columns.firstIndex { $0.name == column }
    }

    /// The output of `weir changes`, limited to the chosen measures.
    var table: ReportTable {
        let index = index(of: "measure")
        return ReportTable(
            columns: changes.table.columns,
            rows: changes.table.rows.filter { row in
                measures.isEmpty || index.map { measures.contains(row[$0].plainText) } ?? true
            })
    }

    var notices: [String] { changes.notices }

    var command: String {
        request.command(
            "changes",
            ["--by", request.by.isEmpty ? "total" : request.by.joined(separator: ",")]
                + ["--from", from] + source.clockWords)
    }

    func address(as format: DumpFormat) -> PageAddress {
        let chosen = measures.isEmpty ? [] : [("measures", measures.joined(separator: ","))]
        // Without a grouping, `weir changes` compares totals.
        let asked = request.parameters.filter { $0 != ("by", "total") }
        return PageAddress(
            "/changes/\(request.name).\(format.rawValue)", asked + chosen + [("from", from)])
    }

    /// The records of a number in a row: later records, or all that count now; nil for other numbers.
    func records(of row: [ReportValue], in column: String) -> PageAddress? {
        guard ["later_records", "value_to"].contains(column), let first = index(of: "measure"),
            let number = index(of: column), row[number] != .integer(0)
        else { return nil }
        let key = zip(changes.table.columns, row).prefix(first).dropFirst()
        let conditions = key.filter { column, value in
            value != .null && request.columns.contains(column.name)
        }.map { ReportRequest.Condition(column: $0.0.name, value: $0.1.plainText) }
        var address = request.explanation(of: row[first].plainText, where: conditions)
        if column == "later_records" { address.parameters.append(("from", from)) }
        return address
    }

    /// A number of a row for display: money in units of the row's currency.
    func text(_ value: ReportValue, of row: [ReportValue], in column: ReportTable.Column) -> String
    {
        guard column.isNumber, let measure = index(of: "measure"),
            case .integer(let integer) = value
        else { return ShownValue.text(value, in: column.name, isKey: true) }
        let currency = index(of: "currency").map { row[$0].plainText }
        return ShownValue.sum(integer, of: row[measure].plainText, currency)
    }
}

extension PageWriter {
    mutating func writeChanges(_ name: String) throws {
        let changes = try ChangesPage(source, context, name)
        try section(
            "Changes since \(changes.from)",
            "The old value plus the effects of later records, of the configuration and of corrections is the new value. Click a number of later records to list these records."
        ) { page in
            let table = changes.table
            page.write { html in
                ReportView.write(
                    table, to: &html,
                    text: { row, index in
                        changes.text(
                            table.rows[row][index], of: table.rows[row], in: table.columns[index])
                    },
                    link: { row, index in
                        changes.records(of: table.rows[row], in: table.columns[index].name)
                    })
            }
            page.writeNotices(changes.notices)
            page.files(
                [("CSV", changes.address(as: .csv)), ("JSON", changes.address(as: .json))],
                changes.command)
        }
    }
}
