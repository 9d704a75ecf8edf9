import AggregateStore
import Streams

extension Dump {
    /// Writes the rows, and hands the text, which is UTF-8, over in large pieces.
    ///
    /// - Parameter isRaw: whether CSV has every text as it is.
    package func write<Failure: Error>(
        as format: DumpFormat, isRaw: Bool = false, to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        switch format {
        case .table: try writeTable(to: sink)
        case .json: try writeArray(to: sink)
        case .ndjson:
            let json = DumpRowJSON(self)
            try TextPieces.write(
                rows, to: { piece throws(Failure) in try sink(JSONBytes.shown(piece)) }
            ) { row, text in
                json.append(row, to: &text)
                text.append(TextPieces.newline)
            }
        case .csv:
            let line = CSVLine(isRaw: isRaw)
            try sink(line.bytes((columns.map(\.name) + measures).map(CSVLine.Field.own)))
            try TextPieces.write(rows, to: sink) { row, text in
                text.append(contentsOf: line.bytes(fields(row)))
            }
        }
    }

    private func writeArray<Failure: Error>(
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard !rows.isEmpty else { return try sink(Array("[]\n".utf8)) }
        let json = DumpRowJSON(self)
        try TextPieces.write(
            rows.indices, to: { piece throws(Failure) in try sink(JSONBytes.shown(piece)) }
        ) { index, text in
            text.append(contentsOf: (index == 0 ? "[" : ",\n ").utf8)
            json.append(rows[index], to: &text)
        }
        try sink(Array("]\n".utf8))
    }

    private func writeTable<Failure: Error>(
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard !rows.isEmpty else { return try sink(Array("no rows\n".utf8)) }
        let table = TextTable(
            header: columns.map(\.name) + measures, isNumber: areNumbers,
            rows: rows.map(wordsOfTable))
        try TextPieces.write(table.lines, to: sink) { line, text in
            text.append(contentsOf: line.utf8)
            text.append(TextPieces.newline)
        }
    }

    /// For each column and measure, whether a table aligns it to the right.
    var areNumbers: [Bool] {
        columns.map { $0.kind == .integer && !$0.isInstant } + measures.map { _ in true }
    }

    /// The values of a row as a table shows them: instants as people read them.
    func wordsOfTable(_ row: Row) -> [String] {
        var words = words(row)
        for place in columns.indices where columns[place].isInstant {
            guard case .integer(let milliseconds) = row.columns[place] else { continue }
            words[place] = UTC.text(milliseconds: milliseconds)
        }
        return words
    }

    private func fields(_ row: Row) -> [CSVLine.Field] {
        words(row).enumerated().map { index, words in
            guard index < row.columns.count, case .text = row.columns[index] else {
                return .own(words)
            }
            return .text(words)
        }
    }

    /// The values of a row as CSV has them.
    func words(_ row: Row) -> [String] {
        zip(columns, row.columns).map { column, value in
            switch value {
            case .integer(let integer) where column.kind == .boolean: "\(integer != 0)"
            case .integer(let integer): String(integer)
            case .text(let text): text
            }
        } + row.measures.map { sum in Int64(exactly: sum).map { String($0) } ?? sum.description }
    }
}
