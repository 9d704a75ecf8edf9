import Store

// Rows of pages as a file has them.

extension KeptWriter {
    mutating func append(_ rows: ShownRows) {
        append(rows.keyCount)
        append(rows.firstMeasure)
        append(rows.moreRows)
        append(rows.notices)
        append(rows.table.keyCount)
        append(rows.table.columns.count)
        for column in rows.table.columns {
            append(column.name)
            append([column.isNumber])
            append(column.steps)
        }
        append(rows.table.rows.count)
        for value in rows.table.rows.joined() { append(value) }
    }

    private mutating func append(_ texts: [String]) {
        append(texts.count)
        for text in texts { append(text) }
    }

    private mutating func append(_ value: ReportValue) {
        switch value {
        case .null: append(UInt8(0))
        case .text(let text):
            append(UInt8(1))
            append(text)
        case .integer(let integer):
            append(UInt8(2))
            append(integer)
        case .decimal(let digits):
            append(UInt8(3))
            append(digits)
        case .boolean(let isTrue): append(UInt8(isTrue ? 5 : 4))
        case .money(let money):
            append(UInt8(money.isOfThousand ? 7 : 6))
            append(money.amounts.count)
            for amount in money.amounts {
                append(amount.currency)
                append(amount.micros)
            }
        }
    }
}

extension KeptReader {
    mutating func rows() throws -> ShownRows {
        let (keyCount, firstMeasure): (Int, Int) = (try integer(), try integer())
        let moreRows: Int = try integer()
        let notices = try texts()
        let tableKeys: Int = try integer()
        let columns = try (0..<integer(Int.self)).map { _ in
            ReportTable.Column(
                try text(), isNumber: try array(of: Bool.self)[0], steps: try texts())
        }
        let values = try (0..<integer(Int.self)).map { _ in
            try columns.indices.map { _ in try value() }
        }
        var rows = ShownRows(
            table: ReportTable(columns: columns, rows: values, keyCount: tableKeys),
            keyCount: keyCount)
        rows.firstMeasure = firstMeasure
        rows.moreRows = moreRows
        rows.notices = notices
        return rows
    }

    private mutating func texts() throws -> [String] {
        try (0..<integer(Int.self)).map { _ in try text() }
    }

    private mutating func value() throws -> ReportValue {
        let kind: UInt8 = try integer()
        switch kind {
        case 0: return .null
        case 1: return .text(try text())
        case 2: return .integer(try integer())
        case 3: return .decimal(try text())
        case 4, 5: return .boolean(kind == 5)
        case 6, 7:
            var amounts: [StoredValue: Int128] = [:]
            for _ in 0..<(try integer(Int.self)) {
                let currency = try text()
                amounts[.text(currency)] = try integer()
            }
            return .money(MoneyByCurrency(amounts, isOfThousand: kind == 7))
        default: throw End()
        }
    }
}
