import EventLog
import JSON

/// The types of a topic.
package protocol EventType: CaseIterable, Sendable {
    /// The type as `ce_type` says it; one literal for each case.
    var name: StaticString { get }
    /// The type of a record without `ce_type`.
    static var byDefault: Self { get }
}

/// A record with its envelope read: CloudEvents 1.0, Kafka binding, binary mode.
struct Envelope<Type: EventType> {
    /// The type; nil when the topic has no such type.
    let type: Type?
    /// True for a CloudEvent in structured mode, which Weir does not read.
    let isStructured: Bool
    private let said: UnsafeRawBufferPointer?

    init(_ record: RecordView) {
        guard !record.headers.isEmpty else {
            type = .byDefault
            isStructured = false
            said = nil
            return
        }
        said = record.headers.first(named: "ce_type")
        isStructured =
            record.headers.first(named: "content-type").map(Self.isStructured(contentType:))
            ?? false
        if let said {
            type = Type.allCases.first { said.equals($0.name) }
        } else {
            type = .byDefault
        }
    }

    /// The type for `outcomes`.
    var countedType: StaticString {
        guard !isStructured else { return "unknown" }
        return type?.name ?? "unknown"
    }

    /// The type for the list of refused records: what the header said; empty without one.
    var statedType: String {
        said.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func isStructured(contentType: UnsafeRawBufferPointer) -> Bool {
        let structured: StaticString = "application/cloudevents"
        let count = structured.utf8CodeUnitCount
        guard contentType.count >= count else { return false }
        return (0..<count).allSatisfy {
            contentType[$0].asciiLowercased == structured.utf8Start[$0]
        }
    }

    /// Reads the value, with every reason to refuse it that does not depend on the type.
    func value(
        of record: RecordView, parser: JSONParser, maxRecordBytes: Int
    ) throws(Rejection) -> JSONValue {
        guard let bytes = record.value else { throw Rejection(.tombstone, "the value is null") }
        guard bytes.count <= maxRecordBytes else {
            throw Rejection(
                .tooLarge, "the value has \(bytes.count) bytes, \(maxRecordBytes) are allowed")
        }
        let value: JSONValue
        do throws(JSONFault) {
            value = try parser.parse(bytes)
        } catch {
            throw Rejection(error)
        }
        guard !isStructured else {
            throw Rejection(.unknownType, "the record is a CloudEvent in structured mode")
        }
        guard type != nil else {
            throw Rejection(.unknownType, "the topic has no type '\(statedType)'")
        }
        guard value.isObject else { throw Rejection(.wrongType, "the value is not an object") }
        return value
    }
}

extension Rejection {
    /// The rejection that a fault of the JSON text makes.
    package init(_ fault: JSONFault) {
        switch fault {
        case .invalidUTF8: self.init(.invalidUTF8, "the value is not UTF-8")
        case .tooDeep: self.init(.tooDeep, "nested deeper than \(JSONParser.maxDepth)")
        case .malformed(let what): self.init(.malformedJSON, what)
        }
    }
}

extension UnsafeRawBufferPointer {
    /// True when the bytes are those of the text.
    @inline(__always)
    func equals(_ text: StaticString) -> Bool {
        equals(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// True when the bytes are those of the text, ASCII letters of either case.
    @inline(__always)
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count
        where self[index].asciiLowercased != text.utf8Start[index].asciiLowercased {
            return false
        }
        return true
    }

    /// True when both hold the same bytes, ASCII letters of either case.
    func equalsIgnoringCase(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        if equals(other) { return true }
        for index in 0..<count
        where self[index].asciiLowercased != other[index].asciiLowercased {
            return false
        }
        return true
    }
}
