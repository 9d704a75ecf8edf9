import EventLog
import Foundation
import Inspection

extension RecordLine {
    /// Appends the line, with its end, that stands for a record. Publishing it gives the record again,
    /// unless a masked value takes the place of its own: then a header says so.
    static func append(
        _ record: RecordView, maskedValue: [UInt8]? = nil, to line: inout [UInt8]
    ) {
        JSONBytes.append(
            "{\"partition\":\(record.partition),\"offset\":\(record.offset)", to: &line)
        JSONBytes.append(",\"timestamp_ms\":\(record.timestampMilliseconds)", to: &line)
        if let key = record.key {
            if isUTF8(key) {
                JSONBytes.append(",\"key\":", to: &line)
                appendText(key, to: &line)
            } else {
                JSONBytes.append(",\"key_base64\":", to: &line)
                appendBase64(key, to: &line)
            }
        }
        appendHeaders(record.headers, isMasked: maskedValue != nil, to: &line)
        if let maskedValue {
            maskedValue.withUnsafeBytes { appendValue($0, to: &line) }
        } else {
            appendValue(record.value, to: &line)
        }
        JSONBytes.append("}\n", to: &line)
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

    private static func appendHeaders(
        _ headers: RecordHeaders, isMasked: Bool, to line: inout [UInt8]
    ) {
        guard !headers.isEmpty || isMasked else { return }
        JSONBytes.append(",\"headers\":{", to: &line)
        var isFirst = true
        headers.forEach { name, value in
            if !isFirst { JSONBytes.append(",", to: &line) }
            isFirst = false
            appendText(name, to: &line)
            JSONBytes.append(":", to: &line)
            if let value, isUTF8(value) {
                appendText(value, to: &line)
            } else if let value {
                JSONBytes.append("{\"base64\":", to: &line)
                appendBase64(value, to: &line)
                JSONBytes.append("}", to: &line)
            } else {
                JSONBytes.append("null", to: &line)
            }
            return true
        }
        if isMasked {
            if !isFirst { JSONBytes.append(",", to: &line) }
            JSONBytes.append("\"\(SecretMask.header)\":\"true\"", to: &line)
        }
        JSONBytes.append("}", to: &line)
    }

    private static func appendValue(_ value: UnsafeRawBufferPointer?, to line: inout [UInt8]) {
        guard let value else { return JSONBytes.append(",\"value\":null", to: &line) }
        if standsAsValue(value) {
            JSONBytes.append(",\"value\":", to: &line)
            line.append(contentsOf: value)
        } else if isUTF8(value) {
            JSONBytes.append(",\"text\":", to: &line)
            appendText(value, to: &line)
        } else {
            JSONBytes.append(",\"base64\":", to: &line)
            appendBase64(value, to: &line)
        }
    }

    private static func appendText(_ text: some Sequence<UInt8>, to line: inout [UInt8]) {
        var string: [UInt8] = []
        JSONBytes.appendString(text, to: &string)
        line.append(contentsOf: JSONBytes.shown(string))
    }

    private static func appendBase64(_ bytes: UnsafeRawBufferPointer, to line: inout [UInt8]) {
        JSONBytes.append("\"\(Data(bytes).base64EncodedString())\"", to: &line)
    }
}
