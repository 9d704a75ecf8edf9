import JSON

/// Writes rows one by one, in a format that does not depend on later rows, and collects the text into large pieces.
struct RowWriter {
    enum Format {
        /// One array of JSON objects, one row per line.
        case array
        /// One JSON object per line.
        case lines
        /// RFC 4180.
        case csv(isRaw: Bool)
    }

    private let format: Format
    private let objects: JSONObjects
    private var piece: [UInt8] = []
    private(set) var rowCount = 0

    /// The size at which collected text is handed over.
    static let pieceBytes = 1 << 17

    init(_ columns: [String], as format: Format) {
        self.format = format
        objects = JSONObjects(columns)
        if case .csv = format { CSVLine.append(columns.map(CSVLine.Field.own), to: &piece) }
    }

    /// - Parameter format: any but a table.
    init(_ columns: [String], _ format: DumpFormat, isRaw: Bool) {
        switch format {
        case .json: self.init(columns, as: .array)
        case .csv: self.init(columns, as: .csv(isRaw: isRaw))
        case .ndjson, .table: self.init(columns, as: .lines)
        }
    }

    /// Appends a row, which has a value for each column.
    mutating func append(_ row: [ReportValue]) {
        switch format {
        case .array:
            JSONBytes.append(rowCount == 0 ? "[" : ",\n ", to: &piece)
            objects.appendShown(row, to: &piece)
        case .lines:
            objects.appendShown(row, to: &piece)
            piece.append(UInt8(ascii: "\n"))
        case .csv(let isRaw): CSVLine.append(row.map(\.field), isRaw: isRaw, to: &piece)
        }
        rowCount += 1
    }

    /// The collected text once it is large enough; otherwise nil.
    mutating func fullPiece() -> [UInt8]? {
        guard piece.count >= Self.pieceBytes else { return nil }
        defer { piece.removeAll(keepingCapacity: true) }
        return piece
    }

    /// The remaining text.
    consuming func finish() -> [UInt8] {
        if case .array = format { JSONBytes.append(rowCount == 0 ? "[]\n" : "]\n", to: &piece) }
        return piece
    }
}

extension DumpFormat {
    /// The member of an object, or the beginning of a CSV line, that reports missing rows.
    package static let errorName = "weir_error"

    /// The complete text of a file that fails before its first row: an object with the member `error`, or a line of
    /// text.
    package func error(_ explanation: String) -> [UInt8] {
        switch self {
        case .json, .ndjson:
            var object: [UInt8] = []
            JSONObjects(["error"]).appendShown([.text(explanation)], to: &object)
            return object + [UInt8(ascii: "\n")]
        case .csv, .table: return Array("\(explanation)\n".utf8)
        }
    }

    /// The end of an incomplete file. Complete files never contain it.
    ///
    /// A JSON array stays open, so that parsers reject it. CSV has a line of one field, `weir_error: ...`; a table has
    /// the same line.
    package func incompleteEnd(_ explanation: String) -> [UInt8] {
        var end: [UInt8] = []
        switch self {
        case .json, .ndjson:
            if self == .json { JSONBytes.append(",\n ", to: &end) }
            JSONObjects([Self.errorName]).appendShown([.text(explanation)], to: &end)
            end.append(UInt8(ascii: "\n"))
        case .csv: CSVLine.append([.text("\(Self.errorName): \(explanation)")], to: &end)
        case .table: end = Array("\(Self.errorName): \(explanation)\n".utf8)
        }
        return end
    }
}

/// JSON objects with the same member names. The text before each value is built once.
struct JSONObjects {
    private let leads: [[UInt8]]

    init(_ names: [String]) {
        leads = names.enumerated().map { index, name in
            var lead = [UInt8(ascii: index == 0 ? "{" : ",")]
            JSONBytes.appendString(name.utf8, to: &lead)
            return lead + [UInt8(ascii: ":")]
        }
    }

    /// Appends the object of these values in its hashed form.
    func append(_ values: [ReportValue], to json: inout [UInt8]) {
        if leads.isEmpty { json.append(UInt8(ascii: "{")) }
        append(values, from: 0, to: &json)
        json.append(UInt8(ascii: "}"))
    }

    /// Appends a part of an object: the members from this index on.
    func append(_ values: some Sequence<ReportValue>, from first: Int, to json: inout [UInt8]) {
        for (index, value) in values.enumerated() {
            json.append(contentsOf: leads[first + index])
            value.append(to: &json)
        }
    }

    /// Appends integer members from this index on.
    func append(integers: some Sequence<Int128>, from first: Int, to json: inout [UInt8]) {
        for (index, integer) in integers.enumerated() {
            json.append(contentsOf: leads[first + index])
            // Formatting 64 bits avoids 128-bit division.
            let text = Int64(exactly: integer).map { String($0) } ?? String(integer)
            json.append(contentsOf: text.utf8)
        }
    }

    func text(of values: some Sequence<ReportValue>, from first: Int) -> [UInt8] {
        var text: [UInt8] = []
        append(values, from: first, to: &text)
        return text
    }

    /// Appends the object of these values in its printed form.
    fileprivate func appendShown(_ values: [ReportValue], to json: inout [UInt8]) {
        var object: [UInt8] = []
        append(values, to: &object)
        json.append(contentsOf: JSONBytes.shown(object))
    }
}

/// A line of CSV according to RFC 4180: quotes only where required, CRLF at the end.
enum CSVLine {
    enum Field {
        /// Digits, column names, and other text from Weir itself.
        case own(String)
        /// Text from an untrusted source.
        case text(String)
    }

    /// - Parameter isRaw: whether texts are written unchanged. Otherwise they are escaped as in tables, and an
    ///   apostrophe precedes those that a spreadsheet would evaluate as a formula.
    static func append(_ fields: [Field], isRaw: Bool = false, to line: inout [UInt8]) {
        for (index, field) in fields.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            switch field {
            case .own(let text): append(text, to: &line)
            case .text(let text) where isRaw: append(text, to: &line)
            case .text(let text):
                append(isFormula(text) ? "'\(text.escaped)" : text.escaped, to: &line)
            }
        }
        line += [0x0D, 0x0A]
    }

    /// Whether a spreadsheet treats a cell as a formula. Spreadsheets skip leading blanks and invisible characters.
    private static func isFormula(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first else { return false }
        if first == "\t" || first == "\r" { return true }
        let start = text.unicodeScalars.first { !$0.properties.isWhitespace && !$0.isDeceptive }
        return start.map { "=+-@".unicodeScalars.contains($0) } ?? false
    }

    private static func append(_ field: String, to line: inout [UInt8]) {
        let quote = UInt8(ascii: "\"")
        let needsQuotes = field.utf8.contains { byte in
            switch byte {
            case quote, UInt8(ascii: ","), 0x0D, 0x0A: true
            default: false
            }
        }
        guard needsQuotes else { return line.append(contentsOf: field.utf8) }
        line.append(quote)
        for byte in field.utf8 {
            if byte == quote { line.append(quote) }
            line.append(byte)
        }
        line.append(quote)
    }
}

/// Writes JSON text as bytes, because a `String` for each piece would be too slow.
package enum JSONBytes {
    /// Appends valid JSON text.
    package static func append(_ text: String, to json: inout [UInt8]) {
        json.append(contentsOf: text.utf8)
    }

    /// Appends a string with its quotes; `text` is UTF-8.
    package static func appendString(_ text: some Collection<UInt8>, to json: inout [UInt8]) {
        JSONText.append(string: text, to: &json, escapingDelete: true)
    }

    /// JSON text that is safe at a terminal: the same values, without control characters.
    package static func shown(_ json: [UInt8]) -> [UInt8] {
        guard json.contains(where: { $0 >= 0x7F }) else { return json }
        return Array(String(decoding: json, as: UTF8.self).withoutControlsInJSON.utf8)
    }
}
