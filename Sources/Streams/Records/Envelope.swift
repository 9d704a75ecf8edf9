import EventLog
import JSON

/// The types of a topic.
package protocol EventType: CaseIterable, Sendable {
    /// The type in `ce_type`; one literal for each case.
    var name: StaticString { get }
    /// The type of a record without `ce_type`.
    static var byDefault: Self { get }
}

/// A record with its envelope read: CloudEvents 1.0, Kafka binding, binary mode.
struct Envelope<Type: EventType> {
    /// The type; nil if the topic does not have it.
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

    var countedType: StaticString {
        guard !isStructured else { return "unknown" }
        return type?.name ?? "unknown"
    }

    /// The header's type, for the list of rejected records; empty if missing.
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

    /// Reads the value. Checks all reasons for rejection that do not depend on the type.
    func value(
        of record: RecordView, parser: JSONParser, maxRecordBytes: Int
    ) throws(Rejection) -> JSONValue {
        guard let bytes = record.value else { throw Rejection(ofRecordWithoutValue: record) }
        guard bytes.count <= maxRecordBytes else {
            throw Rejection(
                .tooLarge, "the value has \(bytes.count) bytes, \(maxRecordBytes) are allowed")
        }
        let value: JSONValue
        do throws(JSONFault) {
            value = try parser.parse(borrowing: bytes)
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
    fileprivate init(ofRecordWithoutValue record: RecordView) {
        if let erased = ErasedRecord(record) {
            self.init(.erased, erased.explanation)
        } else if ErasureNotice.digest(in: record) != nil {
            self.init(.erased, "the record announces an erasure")
        } else {
            self.init(.tombstone, "the value is null")
        }
    }

    package init(_ fault: JSONFault) {
        switch fault {
        case .invalidUTF8: self.init(.invalidUTF8, "the value is not UTF-8")
        case .tooDeep: self.init(.tooDeep, "nested deeper than \(JSONParser.maxDepth)")
        case .malformed(let what): self.init(.malformedJSON, what)
        }
    }
}
