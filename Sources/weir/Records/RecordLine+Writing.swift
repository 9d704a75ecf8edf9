import EventLog
import Foundation

extension RecordLine {
    /// Appends the line, with its end, that stands for a record. Publishing it gives the record again.
    static func append(_ record: RecordView, to line: inout [UInt8]) {
        append("{\"partition\":\(record.partition),\"offset\":\(record.offset)", to: &line)
        append(",\"timestamp_ms\":\(record.timestampMilliseconds)", to: &line)
        if let key = record.key {
            if isUTF8(key) {
                append(",\"key\":", to: &line)
                appendString(key, to: &line)
            } else {
                append(",\"key_base64\":", to: &line)
                appendBase64(key, to: &line)
            }
        }
        appendHeaders(record.headers, to: &line)
        appendValue(record.value, to: &line)
        append("}\n", to: &line)
    }

    /// Whether a value is published again byte for byte when it stands in a line as it is.
    static func standsAsValue(_ value: UnsafeRawBufferPointer) -> Bool {
        guard !value.contains(where: { $0 == 0x0A || $0 == 0x0D }), isUTF8(value) else {
            return false
        }
        var scanner = JSONScanner(value)
        guard (try? scanner.skipValue()) != nil, scanner.isAtEnd else { return false }
        return !value.elementsEqual("null".utf8)
    }

    /// Whether bytes are a text.
    static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
        String(validating: bytes, as: UTF8.self) != nil
    }

    private static func appendHeaders(_ headers: RecordHeaders, to line: inout [UInt8]) {
        guard !headers.encoded.isEmpty else { return }
        append(",\"headers\":{", to: &line)
        var isFirst = true
        headers.forEach { name, value in
            if !isFirst { append(",", to: &line) }
            isFirst = false
            appendString(name, to: &line)
            append(":", to: &line)
            if let value, isUTF8(value) {
                appendString(value, to: &line)
            } else if let value {
                append("{\"base64\":", to: &line)
                appendBase64(value, to: &line)
                append("}", to: &line)
            } else {
                append("null", to: &line)
            }
            return true
        }
        append("}", to: &line)
    }

    private static func appendValue(_ value: UnsafeRawBufferPointer?, to line: inout [UInt8]) {
        guard let value else { return append(",\"value\":null", to: &line) }
        if standsAsValue(value) {
            append(",\"value\":", to: &line)
            line.append(contentsOf: value)
        } else if isUTF8(value) {
            append(",\"text\":", to: &line)
            appendString(value, to: &line)
        } else {
            append(",\"base64\":", to: &line)
            appendBase64(value, to: &line)
        }
    }

    private static func append(_ text: String, to line: inout [UInt8]) {
        line.append(contentsOf: text.utf8)
    }

    private static func appendBase64(_ bytes: UnsafeRawBufferPointer, to line: inout [UInt8]) {
        append("\"\(Data(bytes).base64EncodedString())\"", to: &line)
    }

    private static func appendString(_ text: UnsafeRawBufferPointer, to line: inout [UInt8]) {
        line.append(UInt8(ascii: "\""))
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                line.append(UInt8(ascii: "\\"))
                line.append(byte)
            case 0x0A: append("\\n", to: &line)
            case 0x0D: append("\\r", to: &line)
            case 0x09: append("\\t", to: &line)
            case 0..<0x20, 0x7F:
                append("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))", to: &line)
            default: line.append(byte)
            }
        }
        line.append(UInt8(ascii: "\""))
    }
}
