import AggregateStore
import Streams

extension Dump {
    /// Writes the rows, and hands the text over in large pieces.
    public func write<Failure: Error>(
        as format: DumpFormat, to sink: (String) throws(Failure) -> Void
    ) throws(Failure) {
        switch format {
        case .table: try writeTable(to: sink)
        case .json: try writeArray(to: sink)
        case .ndjson: try writeLines(rows.lazy.map { self.json($0) + "\n" }, to: sink)
        case .csv:
            let header = (columns.map(\.name) + measures).map(Self.csvField)
            try sink(header.joined(separator: ",") + "\r\n")
            try writeLines(rows.lazy.map { self.csv($0) + "\r\n" }, to: sink)
        }
    }

    /// A row as a JSON object, without the columns of these names.
    func json(_ row: Row, leavingOut omitted: Set<String> = []) -> String {
        var json = JSONText()
        json.object { json in
            for (column, value) in zip(columns, row.columns) where !omitted.contains(column.name) {
                json.name(column.name)
                switch value {
                case .integer(let integer) where column.kind == .boolean: json.raw(integer != 0)
                case .integer(let integer): json.raw(integer)
                case .text(let text): json.string(text)
                }
            }
            for (name, sum) in zip(measures, row.measures) {
                json.name(name)
                json.raw(sum)
            }
        }
        return json.text
    }

    /// Texts are gathered up to this size before they are handed over.
    private static let pieceBytes = 1 << 17

    private func writeLines<Failure: Error>(
        _ lines: some Sequence<String>, to sink: (String) throws(Failure) -> Void
    ) throws(Failure) {
        var piece = ""
        for line in lines {
            piece += line
            guard piece.utf8.count >= Self.pieceBytes else { continue }
            try sink(piece)
            piece = ""
        }
        try sink(piece)
    }

    private func writeArray<Failure: Error>(
        to sink: (String) throws(Failure) -> Void
    ) throws(Failure) {
        guard !rows.isEmpty else { return try sink("[]\n") }
        let lines = rows.indices.lazy.map { index in
            (index == 0 ? "[" : ",\n ") + self.json(self.rows[index])
        }
        try writeLines(lines, to: sink)
        try sink("]\n")
    }

    private func writeTable<Failure: Error>(
        to sink: (String) throws(Failure) -> Void
    ) throws(Failure) {
        guard !rows.isEmpty else { return try sink("no rows\n") }
        let isNumber =
            columns.map { $0.kind == .integer } + measures.map { _ in true }
        let table = TextTable(
            header: columns.map(\.name) + measures, isNumber: isNumber,
            rows: rows.map(words))
        try writeLines(table.lines.lazy.map { $0 + "\n" }, to: sink)
    }

    private func csv(_ row: Row) -> String {
        words(row).map(Self.csvField).joined(separator: ",")
    }

    private func words(_ row: Row) -> [String] {
        zip(columns, row.columns).map { column, value in
            switch value {
            case .integer(let integer) where column.kind == .boolean: "\(integer != 0)"
            case .integer(let integer): "\(integer)"
            case .text(let text): text
            }
        } + row.measures.map(\.description)
    }

    private static func csvField(_ text: String) -> String {
        let needsQuotes = text.utf8.contains { byte in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: "\r"), UInt8(ascii: "\n"): true
            default: false
            }
        }
        guard needsQuotes else { return text }
        return text.unicodeScalars.reduce(into: "\"") { quoted, scalar in
            if scalar == "\"" { quoted.unicodeScalars.append(scalar) }
            quoted.unicodeScalars.append(scalar)
        } + "\""
    }
}
