import Reports

/// Answers with the same key columns as one table. A storefront is the same key as its country. Each number links to the explanation of its own report.
struct JoinedTable {
    private struct Column {
        /// The index of its answer, and its index there.
        let answer: Int
        let index: Int
    }

    private let answers: [PageAnswer]
    private let columns: [Column]
    private let labels: [String]
    /// The number of rows that the table leaves out.
    let moreRows: Int
    /// The rows of each answer, by the texts of their keys.
    private let rows: [[[String]: [ReportValue]]]
    /// The keys, first in the order of the answers with the sorting measure, then of the others.
    private let keys: [[String]]
    /// The keys of rows of zeros.
    private let emptyKeys: Set<[String]>

    /// - Parameters:
    ///   - sort: the measure that sorts the rows, largest first; nil for the largest key first.
    ///   - labels: the headings of the first measure of each answer; empty for the measures' own.
    init(_ answers: [PageAnswer], sort: String?, labels: [String] = []) {
        self.labels = labels
        self.answers = answers
        let columns = Self.columns(of: answers)
        self.columns = columns
        func key(_ row: [ReportValue], _ answer: PageAnswer) -> [String] {
            answer.key(of: row).map { key in
                guard key.column == PageContext.storefront else { return key.value }
                return Countries.country(ofStorefront: key.value) ?? key.value
            }
        }
        let byKey = answers.map { answer in
            Dictionary(
                answer.rows.map { (key($0, answer), $0) }, uniquingKeysWith: { first, _ in first })
        }
        var keys: [[String]] = []
        var seen: Set<[String]> = []
        // The answers with the measure decide the order.
        let first = answers.filter { answer in sort.flatMap(answer.index) != nil }
        let rest = answers.filter { answer in sort.flatMap(answer.index) == nil }
        for answer in first + rest {
            keys += answer.rows(largest: sort).map { key($0, answer) }
                .filter { seen.insert($0).inserted }
        }
        rows = byKey
        if sort == nil { keys.sort { $1.lexicographicallyPrecedes($0) } }
        // A row of zeros is not worth a line.
        let counted = keys.filter { key in
            columns.contains { byKey[$0.answer][key]?[$0.index].isZero == false }
        }
        self.keys = Array(counted.prefix(PageWriter.mostRows))
        emptyKeys = Set(keys).subtracting(counted)
        moreRows = counted.count - self.keys.count
    }

    /// The key columns with one value in all rows, which the table leaves out. The last column stays.
    var constantKeys: [ReportRequest.Condition] {
        guard let key = keys.first else { return [] }
        return keyNames.indices.dropLast().filter { index in
            keys.allSatisfy { $0[index] == key[index] }
        }.map { .init(column: keyNames[$0], value: key[$0]) }
    }

    var isEmpty: Bool { keys.isEmpty }

    private var keyNames: [String] {
        answers.first.map { answer in
            answer.table.columns.prefix(answer.keyCount).map {
                $0.name == PageContext.storefront ? "country" : $0.name
            }
        } ?? []
    }

    /// The measures with a number in any row.
    private static func columns(of answers: [PageAnswer]) -> [Column] {
        answers.indices.flatMap { number in
            let answer = answers[number]
            return answer.table.columns.indices.dropFirst(answer.firstMeasure)
                .filter { index in answer.rows.contains { !$0[index].isZero } }
                .map { Column(answer: number, index: $0) }
        }
    }

    private func name(of column: Column) -> String {
        answers[column.answer].table.columns[column.index].name
    }

    /// The heading of a measure, with the report if several have a measure of this name.
    private func heading(of column: Column) -> String {
        let name = name(of: column)
        let label = labels.indices.contains(column.answer) ? labels[column.answer] : ""
        if !label.isEmpty {
            let isFirst = column.index == answers[column.answer].firstMeasure
            let heading = ShownValue.heading(name)
            // A heading that has the label, such as `sales less refunds`, does not need it twice.
            guard !isFirst else { return label }
            return heading.hasPrefix(label) ? heading : "\(label), \(heading)"
        }
        let isTwice = columns.count { self.name(of: $0) == name } > 1
        return ShownValue.heading(name)
            + (isTwice ? " (\(answers[column.answer].request.name))" : "")
    }

    /// - Parameters:
    ///   - title: names the table.
    ///   - key: writes the value of a key column.
    func write(
        named title: String, to html: inout HTML,
        key writeKey: (_ column: String, _ value: String, inout HTML) -> Void = { _, value, html in
            html.named(value, nil)
        }
    ) {
        let constant = constantKeys.map(\.column)
        let shown = keyNames.indices.filter { !constant.contains(keyNames[$0]) }
        let decimals = answers.map { $0.fractionDigits(of: $0.rows) }
        html.table(named: title) { html in
            html.element("thead") { html in
                html.element("tr") { html in
                    for index in shown {
                        html.element(
                            "th", ["scope": "col"], text: ShownValue.heading(keyNames[index]))
                    }
                    for column in columns {
                        html.element(
                            "th", ["scope": "col", "class": "number"], text: heading(of: column))
                    }
                }
            }
            html.element("tbody") { html in
                for (number, key) in keys.enumerated() {
                    if number > 0 { gap(from: keys[number - 1], to: key, to: &html) }
                    html.element("tr") { html in
                        for (position, index) in shown.enumerated() {
                            html.rowHeader(isFirst: position == 0) {
                                writeKey(keyNames[index], key[index], &$0)
                            }
                        }
                        for column in columns {
                            html.element("td", ["class": "number"]) { html in
                                write(column, of: key, decimals, to: &html)
                            }
                        }
                    }
                }
            }
        }
    }

    /// A row for each day between two keys of which there is none, in a table of days alone.
    private func gap(from first: [String], to last: [String], to html: inout HTML) {
        guard keyNames == [DayGap.column] else { return }
        for day in DayGap.days(between: first, and: last, at: 0) {
            let reason = emptyKeys.contains([day]) ? DayGap.onlyZeros : DayGap.noRecords
            html.element("tr") { html in
                html.rowHeader(isFirst: true) { $0.gap(day, reason) }
                for _ in columns { html.gapNumber(reason) }
            }
        }
    }

    /// A report without a row of the key has counted nothing.
    private func write(
        _ column: Column, of key: [String], _ decimals: [[Int: Int]], to html: inout HTML
    ) {
        let answer = answers[column.answer]
        let row = rows[column.answer][key]
        let name = name(of: column)
        let conditions = zip(answer.table.columns, key).map { column, value in
            let storefront =
                column.name == PageContext.storefront ? Countries.storefront(of: value) : nil
            return ReportRequest.Condition(column: column.name, value: storefront ?? value)
        }
        let nothing: ReportValue = ShownValue.isShare(name) ? .null : .integer(0)
        NumberLink(answer, key: conditions, row: row).write(
            row?[column.index] ?? nothing, of: name,
            decimals: decimals[column.answer][column.index], to: &html)
    }
}
