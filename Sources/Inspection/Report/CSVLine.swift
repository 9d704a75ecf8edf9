import Pipelines

/// A line of CSV as RFC 4180 has it: quotes where they are needed, CRLF at the end.
struct CSVLine {
    /// A field of a line.
    enum Field {
        /// Digits, a name of ours, and anything else that nobody else wrote.
        case own(String)
        /// A text that may be of anybody.
        case text(String)
    }

    /// Whether texts stand as they are. Else they are escaped as in tables, and those that a spreadsheet would
    /// run as a formula have an apostrophe before them.
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

    /// Whether a spreadsheet takes a cell for a formula. Spreadsheets pass over blanks and characters that nobody
    /// sees at the beginning.
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
