import EventLog
import Foundation
import History
import Program
import Reports
import Streams

extension TopicPosition {
    /// Parses a position from the command line.
    init(argument text: String) throws(CommandError) {
        guard let position = TopicPosition(text) else {
            throw .usage(
                "'\(text)' is not a dead letter: write TOPIC/PARTITION/OFFSET, for example bids/2/81720"
            )
        }
        self = position
    }
}

/// A rejected record for people: one line per property, then its value.
struct DeadLetterText {
    let kept: KeptRecord
    let record: RecordView
    let maskedValue: [UInt8]?

    var text: String {
        let letter = DeadLetter(kept)
        var lines = [
            ("dead letter", letter.position.description),
            ("time", UTC.text(milliseconds: letter.timestampMilliseconds)),
            ("type", letter.type), ("reason", letter.reason), ("detail", letter.detail),
        ]
        if let origin = letter.origin { lines.append(("origin", origin.description)) }
        lines.append(("key", record.key.map(Self.readable) ?? "none"))
        record.headers.forEach { name, value in
            lines.append(
                ("header", "\(Self.readable(name)): \(value.map(Self.readable) ?? "null")"))
            return true
        }
        lines.append(("value", value))
        return lines.map { name, readable in
            name + String(repeating: " ", count: 13 - name.count) + readable.escaped + "\n"
        }.joined()
    }

    private var value: String {
        if let hash = kept.refusal.valueSHA256 { return "too large to store; SHA-256 \(hash)" }
        if let erased = ErasedRecord(record) { return "erased: \(erased.explanation)" }
        guard let value = record.value else { return "null: a tombstone" }
        guard let maskedValue else { return Self.readable(value) }
        return maskedValue.withUnsafeBytes { "(masked) " + Self.readable($0) }
    }

    /// Bytes as text, or as base64 if they are not UTF-8.
    private static func readable(_ bytes: UnsafeRawBufferPointer) -> String {
        String(validating: bytes, as: UTF8.self) ?? "base64 \(Data(bytes).base64EncodedString())"
    }
}
