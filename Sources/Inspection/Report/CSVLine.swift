import Pipelines

/// A line of CSV as RFC 4180 has it: quotes where they are needed, CRLF at the end. Control characters in texts
/// are escaped, as in tables.
struct CSVLine {
    /// A field of a line.
    enum Field {
        /// Digits, a name of ours, and anything else that nobody else wrote.
        case own(String)
        /// A text that may be of anybody.
        case text(String)
    }

    /// Whether texts that a spreadsheet would run as a formula stand as they are, without an apostrophe.
    let isRaw: Bool

    func bytes(_ fields: [Field]) -> [UInt8] {
        var line: [UInt8] = []
        for (index, field) in fields.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            switch field {
            case .own(let text): Self.append(text, to: &line)
            case .text(let text):
                let escaped = text.withoutControls
                let isFormula = text.utf8.first.map(Self.formulaStarts.contains) ?? false
                Self.append(isFormula && !isRaw ? "'\(escaped)" : escaped, to: &line)
            }
        }
        return line + [0x0D, 0x0A]
    }

    /// What makes a spreadsheet take a cell for a formula.
    private static let formulaStarts: [UInt8] = Array("=+-@\t\r".utf8)

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
