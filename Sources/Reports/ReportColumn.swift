import JSON

/// A column of a command's output: its name, and its value in a row.
package struct ReportColumn<Row>: Sendable {
    package let name: String
    /// Whether tables align it to the right.
    package let isNumber: Bool
    package let value: @Sendable (Row) -> ReportValue

    package init(
        name: String, isNumber: Bool, value: @escaping @Sendable (Row) -> ReportValue
    ) {
        self.name = name
        self.isNumber = isNumber
        self.value = value
    }

    package static func text(
        _ name: String, _ text: @escaping @Sendable (Row) -> String?
    ) -> ReportColumn {
        ReportColumn(name: name, isNumber: false) { text($0).map { .text($0) } ?? .null }
    }

    package static func number<Number: BinaryInteger & Sendable>(
        _ name: String, _ number: @escaping @Sendable (Row) -> Number?
    ) -> ReportColumn {
        ReportColumn(name: name, isNumber: true) {
            number($0).map { .integer(Int128($0)) } ?? .null
        }
    }

    /// The column for rows that contain a row of this column.
    package func of<Outer>(_ row: @escaping @Sendable (Outer) -> Row) -> ReportColumn<Outer> {
        ReportColumn<Outer>(name: name, isNumber: isNumber) { value(row($0)) }
    }
}

extension ReportTable {
    /// - Parameter keyCount: the number of leading columns that identify a row.
    package init<Row>(
        _ rows: some Sequence<Row>, _ columns: [ReportColumn<Row>], keyCount: Int = 0
    ) {
        self.init(
            columns: columns.map { Column($0.name, isNumber: $0.isNumber) },
            rows: rows.map { row in columns.map { $0.value(row) } }, keyCount: keyCount)
    }
}

extension TextTable {
    /// - Parameter keyCount: the number of leading columns that identify a row.
    package init<Row>(
        _ rows: some Sequence<Row>, _ columns: [ReportColumn<Row>], keyCount: Int = 0
    ) {
        self.init(
            header: columns.map(\.name), isNumber: columns.map(\.isNumber),
            rows: rows.map { row in columns.map { $0.value(row).plainText } }, keyCount: keyCount)
    }
}

extension JSONText {
    package mutating func members<Row>(of row: Row, _ columns: [ReportColumn<Row>]) {
        for column in columns {
            let value = column.value(row)
            if case .text(let text) = value {
                member(column.name, text)
            } else {
                name(column.name)
                raw(value == .null ? "null" : value.plainText)
            }
        }
    }
}
