import EventLog
import Foundation

/// A raw record, with what became of it.
struct EvidenceRecord: Codable {
    struct Header: Codable {
        var name: EvidenceBytes
        var value: EvidenceBytes?
    }

    var stream: String
    var topic: String
    var partition: Int32
    var offset: Int64
    var timestampMs: Int64
    var key: EvidenceBytes?
    var headers: [Header]
    /// Nil for a tombstone.
    var value: EvidenceBytes?
    /// Whether secrets in the value are masked.
    var masked: Bool?
    /// What became of it, as `outcomes` has it.
    var outcome: String
    /// Why it is not in the number; nil for one that is.
    var leftOut: String?

    init(_ explained: ExplainedRecord, maskedValue: [UInt8]?) {
        let record = explained.folded.record
        stream = explained.stream
        topic = explained.topic
        partition = record.partition
        offset = record.offset
        timestampMs = record.timestampMilliseconds
        key = record.key.map { EvidenceBytes($0) }
        headers = []
        value = maskedValue.map { EvidenceBytes($0) } ?? record.value.map { EvidenceBytes($0) }
        masked = maskedValue == nil ? nil : true
        outcome = "\(explained.folded.outcome.name)"
        switch explained.role {
        case .counted: leftOut = nil
        case .leftOut(let reason), .untold(let reason): leftOut = reason
        }
        record.headers.forEach { name, value in
            headers.append(
                Header(name: EvidenceBytes(name), value: value.map { EvidenceBytes($0) }))
            return true
        }
    }

    /// Appends the record to a batch; false when its bytes cannot be read.
    func append(to batch: RecordBatch) -> Bool {
        var encoded: [OutgoingRecord.Header] = []
        for header in headers {
            guard let name = header.name.bytes else { return false }
            var value: [UInt8]?
            if let bytes = header.value {
                guard let read = bytes.bytes else { return false }
                value = read
            }
            encoded.append(.init(name: String(decoding: name, as: UTF8.self), value: value))
        }
        guard key == nil || key?.bytes != nil, value == nil || value?.bytes != nil else {
            return false
        }
        let headerBytes = RecordHeaders.encode(encoded)
        (key?.bytes).withBytes { key in
            (value?.bytes).withBytes { value in
                headerBytes.withUnsafeBytes { headers in
                    batch.append(
                        partition: partition, offset: offset, timestampMilliseconds: timestampMs,
                        key: key, headers: headers, value: value)
                }
            }
        }
        return true
    }
}
