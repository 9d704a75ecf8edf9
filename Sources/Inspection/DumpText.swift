import AggregateStore
import Streams

/// How a dump is written.
package enum DumpFormat: String, CaseIterable, Sendable {
    /// Aligned columns under a header, for people.
    case table
    /// One array of objects, a row a line.
    case json
    /// An object a line.
    case ndjson
    /// RFC 4180: a header, CRLF, quotes where they are needed.
    case csv
}

extension Dump {
    /// Writes the rows as UTF-8, in large pieces.
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
        try TextTable(
            header: columns.map(\.name) + measures, isNumber: areNumbers,
            rows: rows.map(wordsOfTable)
        ).write(to: sink)
    }

    /// For each column and measure, whether a table aligns it to the right.
    var areNumbers: [Bool] {
        columns.map { $0.kind == .integer && !$0.isInstant } + measures.map { _ in true }
    }

    /// The values of a row as a table shows them: times as people read them.
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

/// Writes rows of a dump as JSON objects. The parts that are the same in every row are prepared
/// once.
struct DumpRowJSON {
    /// The places of the columns to write, each with the text before its value.
    private let columns: [(place: Int, lead: [UInt8], isBoolean: Bool)]
    /// The text before each measure.
    private let measures: [[UInt8]]

    /// Prepares the rows of a dump, without the columns of these names.
    init(_ dump: Dump, leavingOut omitted: Set<String> = []) {
        let places = dump.columns.indices.filter { !omitted.contains(dump.columns[$0].name) }
        columns = places.enumerated().map { index, place in
            let column = dump.columns[place]
            return (place, Self.lead(column.name, isFirst: index == 0), column.kind == .boolean)
        }
        measures = dump.measures.enumerated().map { index, name in
            Self.lead(name, isFirst: index == 0 && places.isEmpty)
        }
    }

    /// Appends a row, without a line end.
    func append(_ row: Dump.Row, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "{"))
        for column in columns {
            json.append(contentsOf: column.lead)
            switch row.columns[column.place] {
            case .integer(let integer) where column.isBoolean:
                JSONBytes.append(integer != 0 ? "true" : "false", to: &json)
            case .integer(let integer): JSONBytes.append(String(integer), to: &json)
            case .text(let text): JSONBytes.appendString(text.utf8, to: &json)
            }
        }
        for (lead, sum) in zip(measures, row.measures) {
            json.append(contentsOf: lead)
            JSONBytes.append(Int64(exactly: sum).map { String($0) } ?? sum.description, to: &json)
        }
        json.append(UInt8(ascii: "}"))
    }

    private static func lead(_ name: String, isFirst: Bool) -> [UInt8] {
        var lead = isFirst ? [] : [UInt8(ascii: ",")]
        JSONBytes.appendString(name.utf8, to: &lead)
        lead.append(UInt8(ascii: ":"))
        return lead
    }
}
