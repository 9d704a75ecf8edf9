import AggregateStore
import EventLog
import Inspection

/// A dead letter as it is listed: what is known of a refused record, without its bytes.
struct DeadLetter {
    /// The header of a requeued record that says where the first record lies that it is a copy of.
    static let originHeader = "weir_origin"
    /// Headers that Weir adds begin with this; a copy has none of those that its record had.
    static let ownPrefix = "weir_"

    let place: RecordAddress
    let logIdentity: String
    let timestampMilliseconds: Int64
    let type: String
    let reason: String
    let detail: String
    /// Length of the value; nil for a tombstone, and for one that was too large to keep.
    let valueBytes: Int?
    /// SHA-256 in hex of a value that was too large to keep.
    let valueSHA256: String?
    /// Where the first record lies that this one says that it is a copy of; nil when it says nothing.
    let origin: RecordAddress?
    /// What a copy of it has too: the SHA-256 of its key and value.
    let contentSHA256: String

    init(_ kept: KeptRecord) {
        place = kept.place
        logIdentity = kept.logIdentity
        timestampMilliseconds = kept.refusal.timestampMilliseconds
        type = kept.refusal.type
        reason = kept.refusal.reason
        detail = kept.refusal.detail
        valueBytes = kept.refusal.value?.count
        valueSHA256 = kept.refusal.valueSHA256
        origin = kept.refusal.headers.withUnsafeBytes { bytes in
            RecordHeaders(encoded: bytes).first(named: "weir_origin").flatMap(RecordAddress.init)
        }
        var digest = ""
        kept.withRecord { digest = Self.contentSHA256(of: $0) }
        contentSHA256 = digest
    }

    /// The SHA-256 of the key and the value of a record, told from each other and from none.
    static func contentSHA256(of record: RecordView) -> String {
        var bytes: [UInt8] = []
        for part in [record.key, record.value] {
            withUnsafeBytes(of: Int64(part?.count ?? -1).littleEndian) { bytes += $0 }
            if let part { bytes += part }
        }
        return bytes.withUnsafeBytes { HexDigest.sha256($0) }
    }

    /// Where the record lies that a copy of this one names as its origin.
    var firstPlace: RecordAddress { origin ?? place }

    /// Why no copy of it can be published; nil when one can.
    var obstacle: String? {
        if valueSHA256 != nil {
            return "it was too large to keep: only the SHA-256 of its value is there"
        }
        if valueBytes == nil { return "a tombstone has no value that could ever count" }
        if reason == "conflict" {
            return "a conflict stays one: the copy that was counted first still counts"
        }
        return nil
    }
}

extension RecordAddress {
    /// Reads a place from the bytes of a header; nil for anything else.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.init(text)
    }

    /// Reads a place that a person wrote.
    init(argument text: String) throws(CommandError) {
        guard let place = RecordAddress(text) else {
            throw .usage(
                "'\(text)' is no dead letter: write TOPIC/PARTITION/OFFSET, as bids/2/81720")
        }
        self = place
    }
}

extension KeptRecord {
    /// The copy that is published again: the same bytes under the same key in the same partition, at a
    /// new time.
    var copy: OutgoingRecord {
        var headers: [OutgoingRecord.Header] = []
        refusal.headers.withUnsafeBytes { bytes in
            RecordHeaders(encoded: bytes).forEach { name, value in
                let name = String(decoding: name, as: UTF8.self)
                if !name.hasPrefix(DeadLetter.ownPrefix) {
                    headers.append(.init(name: name, value: value.map { Array($0) }))
                }
                return true
            }
        }
        headers.append(.init(DeadLetter.originHeader, DeadLetter(self).firstPlace.description))
        return OutgoingRecord(
            topic: place.topic, partition: place.partition, key: refusal.key, headers: headers,
            value: refusal.value)
    }
}
