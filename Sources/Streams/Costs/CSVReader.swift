import JSON

/// The reason why a file is not valid CSV; lines count from 1.
package struct CSVFault: Error, Equatable, Sendable {
    package let line: Int
    package let explanation: String
}

/// Reads comma-separated values (RFC 4180) line by line: quoted fields may contain separators, quotes and line ends.
/// Lines end with LF, CR and LF, or CR alone.
struct CSVReader {
    /// The separators of fields, with their names in mappings.
    static let separators: [(byte: UInt8, name: String)] = [
        (UInt8(ascii: ","), "comma"), (UInt8(ascii: ";"), "semicolon"), (UInt8(ascii: "\t"), "tab"),
    ]

    /// Whether the file is UTF-16, which spreadsheets call Unicode Text.
    let isUTF16: Bool

    private let bytes: [UInt8]
    private let separator: UInt8
    private var position = 0
    private var lineNumber = 1

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let quote = UInt8(ascii: "\"")
    private static let newline = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    /// Reads UTF-8, or the UTF-16 with a byte order mark that spreadsheets write.
    init(_ bytes: [UInt8], separator: UInt8) throws(CSVFault) {
        self.separator = separator
        isUTF16 = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
        if isUTF16 {
            let isLittle = bytes[0] == 0xFF
            let units = stride(from: 2, to: bytes.count - 1, by: 2).map { place in
                let (first, second) = (UInt16(bytes[place]), UInt16(bytes[place + 1]))
                return isLittle ? second << 8 | first : first << 8 | second
            }
            guard bytes.count.isMultiple(of: 2),
                let text = String(validating: units, as: UTF16.self)
            else {
                throw CSVFault(
                    line: 1,
                    explanation:
                        "the file starts as UTF-16 and is damaged: save it again as CSV in UTF-8")
            }
            self.bytes = Array(text.utf8)
        } else {
            guard String(validating: bytes, as: UTF8.self) != nil else {
                throw CSVFault(
                    line: Self.firstLine(of: bytes) {
                        String(validating: $0, as: UTF8.self) == nil
                    },
                    explanation: "the file is not UTF-8: save it again as CSV in UTF-8")
            }
            self.bytes = Array(bytes.withoutByteOrderMark)
        }
        guard !self.bytes.contains(0) else {
            throw CSVFault(
                line: Self.firstLine(of: self.bytes) { $0.contains(0) },
                explanation:
                    "the file contains zero bytes. It may be UTF-16 without a byte order mark, as some programs "
                    + "save Unicode Text: save it again as CSV in UTF-8")
        }
    }

    /// The number of the first line that satisfies a condition.
    private static func firstLine(
        of bytes: [UInt8], where isFound: (ArraySlice<UInt8>) -> Bool
    ) -> Int {
        let lines = bytes.split(separator: newline, omittingEmptySubsequences: false)
        return (lines.firstIndex(where: isFound) ?? 0) + 1
    }

    /// The fields of the next non-empty line, and its number; nil at the end.
    mutating func next() throws(CSVFault) -> (line: Int, fields: [String])? {
        while position < bytes.count {
            let line = lineNumber
            let fields = try fields()
            if fields.contains(where: { !$0.isEmpty }) { return (line, fields) }
        }
        return nil
    }

    private mutating func fields() throws(CSVFault) -> [String] {
        var fields: [String] = []
        // Concatenated files contain byte order marks inside. A remaining mark would hide a quote.
        while bytes[position...].starts(with: Self.byteOrderMark) {
            position += Self.byteOrderMark.count
        }
        while true {
            fields.append(try field())
            guard position < bytes.count, bytes[position] == separator else { break }
            position += 1
        }
        // The end of the last field is the end of the line.
        if position + 1 < bytes.count, bytes[position] == Self.carriageReturn,
            bytes[position + 1] == Self.newline
        {
            position += 1
        }
        position += 1
        lineNumber += 1
        return fields
    }

    private mutating func field() throws(CSVFault) -> String {
        if position < bytes.count, bytes[position] == Self.quote { return try quoted() }
        let start = position
        while position < bytes.count, bytes[position] != separator, !isLineEnd(bytes[position]) {
            position += 1
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private func isLineEnd(_ byte: UInt8) -> Bool {
        byte == Self.newline || byte == Self.carriageReturn
    }

    private mutating func quoted() throws(CSVFault) -> String {
        let begin = lineNumber
        var text: [UInt8] = []
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            let endsLine =
                byte == Self.newline
                || byte == Self.carriageReturn
                    && (position == bytes.count || bytes[position] != Self.newline)
            if endsLine { lineNumber += 1 }
            guard byte == Self.quote else {
                text.append(byte)
                continue
            }
            guard position < bytes.count, bytes[position] == Self.quote else {
                try endQuoted()
                return String(decoding: text, as: UTF8.self)
            }
            text.append(byte)
            position += 1
        }
        throw CSVFault(line: begin, explanation: "a quote is not closed")
    }

    /// Only a separator or the end of the line may follow the closing quote.
    private mutating func endQuoted() throws(CSVFault) {
        guard
            position >= bytes.count || bytes[position] == separator
                || isLineEnd(bytes[position])
        else { throw CSVFault(line: lineNumber, explanation: "text comes after a closing quote") }
    }
}
