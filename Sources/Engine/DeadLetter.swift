import EventLog
import Store

/// A rejected record on its way to the dead letters: unchanged, with its origin and the reason in its headers.
///
/// Any producer may send a key, headers or a value that the topic of dead letters would reject (brokers compare
/// compressed sizes). Such a part stays in the store, and its SHA-256 is sent instead: no record stops a worker.
struct DeadLetter {
    private static let maxKeyBytes = 512 << 10
    private static let maxHeaderBytes = 512 << 10
    private static let maxValueBytes = 2 << 20

    let record: OutgoingRecord

    /// Creates the letter of a refused record of `topic`.
    init(_ refusal: StoredRefusal, of topic: String, to deadLetters: String) {
        var headers: [OutgoingRecord.Header] = []
        if refusal.headers.count <= Self.maxHeaderBytes {
            headers = Self.headers(encoded: refusal.headers)
        } else {
            headers.append(.init("weir_headers_sha256", Self.sha256(refusal.headers)))
        }
        headers += [
            .init("weir_reason", refusal.reason), .init("weir_detail", refusal.detail),
            .init("weir_topic", topic), .init("weir_partition", "\(refusal.partition)"),
            .init("weir_offset", "\(refusal.offset)"),
        ]
        var key = refusal.key
        if let large = key, large.count > Self.maxKeyBytes {
            headers.append(.init("weir_key_sha256", Self.sha256(large)))
            key = nil
        }
        var value = refusal.value
        if let hash = refusal.valueSHA256 {
            headers.append(.init("weir_sha256", hash))
        } else if let large = value, large.count > Self.maxValueBytes {
            headers.append(.init("weir_sha256", Self.sha256(large)))
            value = nil
        }
        record = OutgoingRecord(topic: deadLetters, key: key, headers: headers, value: value)
    }

    private static func headers(encoded: [UInt8]) -> [OutgoingRecord.Header] {
        var headers: [OutgoingRecord.Header] = []
        encoded.withUnsafeBytes { bytes in
            RecordHeaders(encoded: bytes).forEach { name, value in
                let name = String(decoding: name, as: UTF8.self)
                headers.append(.init(name: name, value: value.map { Array($0) }))
                return true
            }
        }
        return headers
    }

    private static func sha256(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { HexDigest.sha256($0) }
    }
}
