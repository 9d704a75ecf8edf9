import Pipelines

/// Writes rows of a report one by one, in a format that needs no knowledge of later rows.
struct ReportLines {
    enum Format {
        /// RFC 4180.
        case csv(CSVLine)
        /// An object a line.
        case ndjson
    }

    private let format: Format
    private let names: [String]
    /// The text before each value of a JSON object.
    private let leads: [[UInt8]]

    init(columns names: [String], as format: Format) {
        self.format = format
        self.names = names
        leads = ReportTable.leads(of: names)
    }

    /// What comes before the rows.
    var header: [UInt8] {
        switch format {
        case .csv(let line): line.bytes(names.map(CSVLine.Field.own))
        case .ndjson: []
        }
    }

    /// Appends a row, which has a value for each column.
    func append(_ row: [ReportValue], to text: inout [UInt8]) {
        switch format {
        case .csv(let line): text.append(contentsOf: line.bytes(row.map(\.field)))
        case .ndjson:
            ReportTable.append(row, leads, to: &text)
            text.append(TextPieces.newline)
        }
    }
}

/// A line of CSV by RFC 4180: quotes where they are needed, CRLF at the end.
struct CSVLine {
    enum Field {
        /// Digits, names of columns, and other text that Weir itself wrote.
        case own(String)
        /// A text that anybody may have written.
        case text(String)
    }

    /// Whether texts are written unchanged. Else they are escaped as in tables, and an apostrophe
    /// precedes those that a spreadsheet would run as a formula.
    let isRaw: Bool

    func bytes(_ fields: [Field]) -> [UInt8] {
        var line: [UInt8] = []
        for (index, field) in fields.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            switch field {
            case .own(let text): Self.append(text, to: &line)
            case .text(let text) where isRaw: Self.append(text, to: &line)
            case .text(let text):
                Self.append(Self.isFormula(text) ? "'\(text.escaped)" : text.escaped, to: &line)
            }
        }
        return line + [0x0D, 0x0A]
    }

    /// Whether a spreadsheet takes a cell for a formula. Spreadsheets skip blanks and invisible
    /// characters at the beginning.
    private static func isFormula(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first else { return false }
        if first == "\t" || first == "\r" { return true }
        let start = text.unicodeScalars.first { !$0.properties.isWhitespace && !$0.isDeceptive }
        return start.map { "=+-@".unicodeScalars.contains($0) } ?? false
    }

    private static func append(_ field: String, to line: inout [UInt8]) {
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

/// Writes JSON text as bytes, where a `String` for each piece would be too slow.
package enum JSONBytes {
    /// Appends text that is JSON already.
    package static func append(_ text: String, to json: inout [UInt8]) {
        json.append(contentsOf: text.utf8)
    }

    /// Appends a string with its quotes; `text` is UTF-8.
    package static func appendString(_ text: some Sequence<UInt8>, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                json.append(UInt8(ascii: "\\"))
                json.append(byte)
            case 0x0A: append("\\n", to: &json)
            case 0x0D: append("\\r", to: &json)
            case 0x09: append("\\t", to: &json)
            case 0..<0x20, 0x7F:
                append("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))", to: &json)
            default: json.append(byte)
            }
        }
        json.append(UInt8(ascii: "\""))
    }

    /// JSON text that is safe at a terminal: the same values, without control characters.
    package static func shown(_ json: [UInt8]) -> [UInt8] {
        guard json.contains(where: { $0 >= 0x7F }) else { return json }
        return Array(String(decoding: json, as: UTF8.self).withoutControlsInJSON.utf8)
    }
}

/// Gathers text and hands it over in large pieces.
enum TextPieces {
    static let newline = UInt8(ascii: "\n")
    /// The size from which gathered text is handed over.
    static let pieceBytes = 1 << 17

    /// Calls `append` with each element, and `sink` with the gathered text.
    static func write<Element, Failure: Error>(
        _ elements: some Sequence<Element>, to sink: ([UInt8]) throws(Failure) -> Void,
        _ append: (Element, inout [UInt8]) -> Void
    ) throws(Failure) {
        var piece: [UInt8] = []
        for element in elements {
            append(element, &piece)
            guard piece.count >= pieceBytes else { continue }
            try sink(piece)
            piece.removeAll(keepingCapacity: true)
        }
        try sink(piece)
    }
}
