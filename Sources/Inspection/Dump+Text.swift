import AggregateStore

extension Dump {
    /// Writes the rows, and hands the text, which is UTF-8, over in large pieces.
    public func write<Failure: Error>(
        as format: DumpFormat, to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        switch format {
        case .table: try writeTable(to: sink)
        case .json: try writeArray(to: sink)
        case .ndjson:
            let json = DumpRowJSON(self)
            try write(rows, to: sink) { row, text in
                json.append(row, to: &text)
                text.append(Self.newline)
            }
        case .csv:
            try sink(Self.csvLine(columns.map(\.name) + measures))
            try write(rows, to: sink) { row, text in
                text.append(contentsOf: Self.csvLine(words(row)))
            }
        }
    }

    private static let newline = UInt8(ascii: "\n")
    /// Text is gathered up to this size before it is handed over.
    private static let pieceBytes = 1 << 17

    private func write<Element, Failure: Error>(
        _ elements: some Sequence<Element>, to sink: ([UInt8]) throws(Failure) -> Void,
        _ append: (Element, inout [UInt8]) -> Void
    ) throws(Failure) {
        var piece: [UInt8] = []
        for element in elements {
            append(element, &piece)
            guard piece.count >= Self.pieceBytes else { continue }
            try sink(piece)
            piece.removeAll(keepingCapacity: true)
        }
        try sink(piece)
    }

    private func writeArray<Failure: Error>(
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard !rows.isEmpty else { return try sink(Array("[]\n".utf8)) }
        let json = DumpRowJSON(self)
        try write(rows.indices, to: sink) { index, text in
            text.append(contentsOf: (index == 0 ? "[" : ",\n ").utf8)
            json.append(rows[index], to: &text)
        }
        try sink(Array("]\n".utf8))
    }

    private func writeTable<Failure: Error>(
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard !rows.isEmpty else { return try sink(Array("no rows\n".utf8)) }
        let isNumber = columns.map { $0.kind == .integer } + measures.map { _ in true }
        let table = TextTable(
            header: columns.map(\.name) + measures, isNumber: isNumber, rows: rows.map(words))
        try write(table.lines, to: sink) { line, text in
            text.append(contentsOf: line.utf8)
            text.append(Self.newline)
        }
    }

    /// The values of a row as people read them.
    func words(_ row: Row) -> [String] {
        zip(columns, row.columns).map { column, value in
            switch value {
            case .integer(let integer) where column.kind == .boolean: "\(integer != 0)"
            case .integer(let integer): String(integer)
            case .text(let text): text
            }
        } + row.measures.map { sum in Int64(exactly: sum).map { String($0) } ?? sum.description }
    }

    private static func csvLine(_ fields: [String]) -> [UInt8] {
        var line: [UInt8] = []
        for (index, field) in fields.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            append(csvField: field, to: &line)
        }
        return line + [0x0D, 0x0A]
    }

    private static func append(csvField field: String, to line: inout [UInt8]) {
        let quote = UInt8(ascii: "\"")
        let needsQuotes = field.utf8.contains { byte in
            byte == quote || byte == UInt8(ascii: ",") || byte == 0x0D || byte == 0x0A
        }
        guard needsQuotes else {
            line.append(contentsOf: field.utf8)
            return
        }
        line.append(quote)
        for byte in field.utf8 {
            if byte == quote { line.append(quote) }
            line.append(byte)
        }
        line.append(quote)
    }
}
