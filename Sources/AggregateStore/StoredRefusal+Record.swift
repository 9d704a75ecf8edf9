import EventLog
import Streams

extension StoredRefusal {
    /// The row that a store has of a refused record, without its bytes.
    package init(_ refusal: RefusedRecord, of record: RecordView) {
        self.init(
            partition: record.partition, offset: record.offset,
            timestampMilliseconds: max(record.timestampMilliseconds, 0), type: refusal.type,
            reason: refusal.reason, detail: refusal.detail, key: nil, headers: [], value: nil,
            valueSHA256: nil)
    }
}
