/// A line of CSV as RFC 4180 has it: quotes where they are needed, CRLF at the end.
enum CSVLine {
    static func bytes(_ fields: [String]) -> [UInt8] {
        var line: [UInt8] = []
        for (index, field) in fields.enumerated() {
            if index > 0 { line.append(UInt8(ascii: ",")) }
            append(field, to: &line)
        }
        return line + [0x0D, 0x0A]
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
