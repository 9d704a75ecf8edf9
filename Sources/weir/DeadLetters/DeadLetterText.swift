import EventLog
import Foundation
import Inspection
import Streams

extension KeptRecord {
    /// Lends the record as a log would.
    func withRecord(_ body: (RecordView) throws -> Void) rethrows {
        try refusal.key.withBytes { key in
            try refusal.headers.withUnsafeBytes { headers in
                try refusal.value.withBytes { value in
                    try body(
                        RecordView(
                            partition: place.partition, offset: place.offset,
                            timestampMilliseconds: refusal.timestampMilliseconds, key: key,
                            headers: RecordHeaders(encoded: headers), value: value))
                }
            }
        }
    }
}

/// A refused record for people: a line for each thing that is known of it, then its value.
struct DeadLetterText {
    private let kept: KeptRecord
    private let record: RecordView
    private let maskedValue: [UInt8]?

    init(_ kept: KeptRecord, _ record: RecordView, maskedValue: [UInt8]?) {
        self.kept = kept
        self.record = record
        self.maskedValue = maskedValue
    }

    /// The text, with its line ends.
    var text: String {
        let letter = DeadLetter(kept)
        var lines = [
            ("dead letter", letter.place.description),
            ("time", UTC.text(milliseconds: letter.timestampMilliseconds)),
            ("type", letter.type), ("reason", letter.reason), ("detail", letter.detail),
        ]
        if let origin = letter.origin { lines.append(("origin", origin.description)) }
        lines.append(("key", record.key.map(Self.words) ?? "none"))
        record.headers.forEach { name, value in
            lines.append(("header", "\(Self.words(name)): \(value.map(Self.words) ?? "null")"))
            return true
        }
        lines.append(("value", value))
        return lines.map { name, words in
            name + String(repeating: " ", count: 13 - name.count) + words.escaped + "\n"
        }.joined()
    }

    private var value: String {
        if let hash = kept.refusal.valueSHA256 { return "too large to keep; SHA-256 \(hash)" }
        guard let value = record.value else { return "null: a tombstone" }
        guard let maskedValue else { return Self.words(value) }
        return maskedValue.withUnsafeBytes { "(masked) " + Self.words($0) }
    }

    /// Bytes as text; as base64 where they are none.
    private static func words(_ bytes: UnsafeRawBufferPointer) -> String {
        String(validating: bytes, as: UTF8.self) ?? "base64 \(Data(bytes).base64EncodedString())"
    }
}
