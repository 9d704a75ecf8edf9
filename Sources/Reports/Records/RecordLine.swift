import EventLog
import Foundation
import JSON

/// A record as a line of NDJSON: the input of `weir publish` and the output of `weir read`.
///
/// Members: `key` (string) or `key_base64`; `timestamp_ms`; `headers`, an object of strings, with null for a null value
/// and `{"base64": string}` for bytes that are not UTF-8; one of `value` (any JSON, used byte for byte), `text` and
/// `base64`; `partition`; and `offset`, which publishing ignores. Null means absent. A record without a value is a
/// tombstone.
package enum RecordLine {
    /// Why a line is invalid.
    package struct Fault: Error, Equatable {
        package let explanation: String

        init(_ explanation: String) { self.explanation = explanation }
    }

    /// - Parameters:
    ///   - line: the line without its end.
    ///   - topic: the topic to publish to.
    ///   - partitionCount: the number of partitions of the topic.
    package static func record(
        _ line: UnsafeRawBufferPointer, topic: String, partitionCount: Int32
    ) throws(Fault) -> OutgoingRecord {
        guard String(validating: line, as: UTF8.self) != nil else {
            throw Fault("is not UTF-8: encode other bytes as base64")
        }
        let members = try Members(line)
        let value = try members.value()
        return OutgoingRecord(
            topic: topic, partition: try members.partition(count: partitionCount),
            timestampMilliseconds: try members.timestamp(), key: try members.key(),
            headers: try members.headers(), value: value)
    }
}

/// The ranges of a line's members.
private struct Members {
    typealias Fault = RecordLine.Fault

    enum Name: String, CaseIterable {
        case key
        case keyBase64 = "key_base64"
        case timestamp = "timestamp_ms"
        case headers, value, text, base64, partition, offset
    }

    private let scanner: JSONScanner
    private var places: [Name: Range<Int>] = [:]

    init(_ line: UnsafeRawBufferPointer) throws(Fault) {
        var scanner = JSONScanner(line)
        var places: [Name: Range<Int>] = [:]
        let failure: Fault?
        do throws(JSONScanner.Fault) {
            scanner.skipSpace()
            let strings = scanner
            failure = try scanner.skipObject { (name, value) throws(Fault) in
                guard
                    let known = Name.allCases.first(where: { strings.isString(name, $0.rawValue) })
                else {
                    let shown = String(decoding: strings.bytes[name], as: UTF8.self)
                    throw Fault(
                        "has an unknown member \(shown): use "
                            + Name.allCases.map(\.rawValue).joined(separator: ", "))
                }
                if places[known] == nil { places[known] = value }
            }
            try scanner.skipToEnd()
        } catch {
            throw Fault("is not a JSON object: \(error.explanation) at byte \(error.position)")
        }
        if let failure { throw failure }
        self.scanner = scanner
        self.places = places.filter { !scanner.isNull($0.value) }
    }

    func value() throws(Fault) -> [UInt8]? {
        let given = [Name.value, .text, .base64].filter { places[$0] != nil }
        guard given.count < 2 else {
            throw Fault("has both \(given[0]) and \(given[1]): give only one")
        }
        if let place = places[.value] { return Array(scanner.bytes[place]) }
        if let text = try string(.text) { return text }
        return try decoded(.base64)
    }

    func key() throws(Fault) -> [UInt8]? {
        guard places[.key] == nil || places[.keyBase64] == nil else {
            throw Fault("has both key and key_base64: give only one")
        }
        if let key = try string(.key) { return key }
        return try decoded(.keyBase64)
    }

    func partition(count: Int32) throws(Fault) -> Int32? {
        _ = try integer(.offset)
        guard let number = try integer(.partition) else { return nil }
        guard (0..<Int64(count)).contains(number) else {
            throw Fault("has partition \(number): the topic has \(count), numbered from 0")
        }
        return Int32(number)
    }

    func integer(_ name: Name) throws(Fault) -> Int64? {
        guard let place = places[name] else { return nil }
        guard let integer = Int64(String(decoding: scanner.bytes[place], as: UTF8.self)) else {
            throw Fault("has a \(name.rawValue) that is not a whole number")
        }
        return integer
    }

    /// Up to the year 9999: a larger number has another unit, and a single such record would make every id of its
    /// partition look old. -1 means a record without a time.
    func timestamp() throws(Fault) -> Int64? {
        guard let milliseconds = try integer(.timestamp) else { return nil }
        guard (-1...253_402_300_799_999).contains(milliseconds) else {
            throw Fault(
                "has a timestamp_ms outside the years 1970 to 9999: give milliseconds since 1970")
        }
        return milliseconds
    }

    func headers() throws(Fault) -> [OutgoingRecord.Header] {
        guard let place = places[.headers] else { return [] }
        let fault = Fault("has headers that are not an object of strings")
        var headers: [OutgoingRecord.Header] = []
        var inner = JSONScanner(UnsafeRawBufferPointer(rebasing: scanner.bytes[place]))
        let strings = inner
        let failure: Fault?
        do throws(JSONScanner.Fault) {
            failure = try inner.skipObject { (name, value) throws(Fault) in
                guard let name = strings.string(name) else { throw fault }
                let bytes = strings.string(value) ?? Self.bytes(strings, value)
                guard bytes != nil || strings.isNull(value) else { throw fault }
                headers.append(
                    OutgoingRecord.Header(name: String(decoding: name, as: UTF8.self), value: bytes)
                )
            }
        } catch {
            // The line is valid JSON but not an object.
            throw fault
        }
        if let failure { throw failure }
        return headers
    }

    /// The bytes of a header value of the form `{"base64": string}`.
    private static func bytes(_ scanner: JSONScanner, _ place: Range<Int>) -> [UInt8]? {
        var inner = JSONScanner(UnsafeRawBufferPointer(rebasing: scanner.bytes[place]))
        let strings = inner
        var bytes: [UInt8]?
        var count = 0
        _ = try? inner.skipObject { (name, value) throws(Never) in
            count += 1
            guard strings.isString(name, "base64"), let text = strings.string(value) else { return }
            bytes = RecordLine.decoded(text)
        }
        return count == 1 ? bytes : nil
    }

    private func string(_ name: Name) throws(Fault) -> [UInt8]? {
        guard let place = places[name] else { return nil }
        guard let text = scanner.string(place) else {
            throw Fault("has a \(name.rawValue) that is not a string, or contains a lone surrogate")
        }
        return text
    }

    private func decoded(_ name: Name) throws(Fault) -> [UInt8]? {
        guard let text = try string(name) else { return nil }
        guard let bytes = RecordLine.decoded(text) else {
            throw Fault("has a \(name.rawValue) that is not base64 with padding")
        }
        return bytes
    }
}

extension JSONScanner {
    /// Whether the value at `range` is null.
    fileprivate func isNull(_ range: Range<Int>) -> Bool {
        range.count == 4 && bytes[range.lowerBound] == UInt8(ascii: "n")
    }
}

extension RecordLine {
    fileprivate static func decoded(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        let range = text.withUnsafeBytes { Base64.standard.decode($0, into: &bytes) }
        return range == nil ? nil : bytes
    }
}

extension RecordLine {
    /// Appends a record as a line, with its end. Publishing the line gives the same record, unless a masked value
    /// replaces the original; a header marks it.
    package static func append(
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

    /// Whether a line can contain a value unchanged, so that publishing gives the same bytes.
    package static func standsAsValue(_ value: UnsafeRawBufferPointer) -> Bool {
        guard !value.contains(where: { $0 == 0x0A || $0 == 0x0D }), isUTF8(value) else {
            return false
        }
        var scanner = JSONScanner(value)
        guard (try? scanner.skipValue()) != nil, scanner.isAtEnd else { return false }
        return !value.elementsEqual("null".utf8)
    }

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

    private static func appendText(_ text: some Collection<UInt8>, to line: inout [UInt8]) {
        var string: [UInt8] = []
        JSONBytes.appendString(text, to: &string)
        line.append(contentsOf: JSONBytes.shown(string))
    }

    private static func appendBase64(_ bytes: UnsafeRawBufferPointer, to line: inout [UInt8]) {
        JSONBytes.append("\"\(Data(bytes).base64EncodedString())\"", to: &line)
    }
}
