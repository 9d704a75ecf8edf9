import EventLog
import Reports
import Store
import Streams

/// A listed dead letter: a rejected record without its bytes.
package struct DeadLetter {
    /// The header of a requeued record with the position of the first record that it copies.
    static let originHeader = "weir_origin"
    /// Prefix of headers that Weir adds. They are not copied.
    static let ownPrefix = "weir_"

    package let position: TopicPosition
    package let logIdentity: String
    package let timestampMilliseconds: Int64
    package let type: String
    package let reason: String
    package let detail: String
    /// Length of the value; nil for a tombstone, and for a value that was too large to store.
    package let valueBytes: Int?
    /// SHA-256 in hex of a value that was too large to store.
    package let valueSHA256: String?
    /// What is left of an erased record; nil for others.
    package let erased: ErasedRecord?
    /// The position of the original record, according to a copy's header; nil without that header.
    package let origin: TopicPosition?
    /// The SHA-256 of key, value and headers, which is the same for a copy.
    package let contentSHA256: String

    package init(_ kept: KeptRecord) {
        position = kept.position
        logIdentity = kept.logIdentity
        timestampMilliseconds = kept.refusal.timestampMilliseconds
        type = kept.refusal.type
        reason = kept.refusal.reason
        detail = kept.refusal.detail
        valueBytes = kept.refusal.value?.count
        valueSHA256 = kept.refusal.valueSHA256
        origin = kept.refusal.headers.withUnsafeBytes { bytes in
            RecordHeaders(encoded: bytes).first(named: "weir_origin").flatMap(TopicPosition.init)
        }
        erased = kept.withRecord(ErasedRecord.init)
        contentSHA256 = kept.withRecord(Self.contentSHA256)
    }

    /// The SHA-256 of the key, the value and the headers of a record, with unambiguous boundaries, and distinguishing
    /// empty from missing. Headers that are not copied are left out.
    static func contentSHA256(of record: RecordView) -> String {
        var bytes: [UInt8] = []
        func append(_ part: UnsafeRawBufferPointer?) {
            withUnsafeBytes(of: Int64(part?.count ?? -1).littleEndian) { bytes += $0 }
            if let part { bytes += part }
        }
        append(record.key)
        append(record.value)
        record.headers.forEach { name, value in
            var name = copiedName(name)
            name?.withUTF8 { append(UnsafeRawBufferPointer($0)) }
            if name != nil { append(value) }
            return true
        }
        return bytes.withUnsafeBytes { HexDigest.sha256($0) }
    }

    /// The name of a header in a copy; nil for a header that is not copied.
    static func copiedName(_ name: UnsafeRawBufferPointer) -> String? {
        let name = String(decoding: name, as: UTF8.self)
        return name.hasPrefix(ownPrefix) ? nil : name
    }

    /// The position that a copy of this record names as its origin.
    package var firstPosition: TopicPosition { origin ?? position }

    /// Why a copy cannot be published; nil when it can.
    var obstacle: String? {
        if let erased { return "it was erased: \(erased.explanation)" }
        if valueSHA256 != nil {
            return "it was too large to store: only the SHA-256 of its value is stored"
        }
        if valueBytes == nil { return "a tombstone has no value to count" }
        if reason == "conflict" {
            return "it would be a conflict again, because the first copy still counts"
        }
        return nil
    }
}

extension TopicPosition {
    /// Parses a position from the bytes of a header; nil for anything else.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.init(text)
    }
}

extension KeptRecord {
    /// The copy to publish: the same bytes under the same key in the same partition, with a new timestamp.
    package var copy: OutgoingRecord {
        var headers: [OutgoingRecord.Header] = []
        refusal.headers.withUnsafeBytes { bytes in
            RecordHeaders(encoded: bytes).forEach { name, value in
                if let name = DeadLetter.copiedName(name) {
                    headers.append(.init(name: name, value: value.map { Array($0) }))
                }
                return true
            }
        }
        headers.append(.init(DeadLetter.originHeader, DeadLetter(self).firstPosition.description))
        return OutgoingRecord(
            topic: position.topic, partition: position.partition, key: refusal.key,
            headers: headers,
            value: refusal.value)
    }
}

extension KeptRecord {
    /// Lends the record in the form of a log's record.
    package func withRecord<Value>(_ body: (RecordView) throws -> Value) rethrows -> Value {
        try refusal.key.withBytes { key in
            try refusal.headers.withUnsafeBytes { headers in
                try refusal.value.withBytes { value in
                    try body(
                        RecordView(
                            partition: position.partition, offset: position.offset,
                            timestampMilliseconds: refusal.timestampMilliseconds, key: key,
                            headers: RecordHeaders(encoded: headers), value: value))
                }
            }
        }
    }
}
