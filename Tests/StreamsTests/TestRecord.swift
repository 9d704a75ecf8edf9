import EventLog
import Streams
import TestKit

struct TestRecord {
    var partition: Int32 = 0
    /// Nil for the next offset of the partition.
    var offset: Int64?
    var timestamp: Int64 = TestRecord.halfPastFive
    var key: [UInt8]?
    var headers: [OutgoingRecord.Header] = []
    var value: [UInt8]?

    /// 2026-11-21T05:30:00Z.
    static let halfPastFive: Int64 = 1_795_239_000_000

    init(_ value: [UInt8]?, type: String? = nil, timestamp: Int64 = Self.halfPastFive) {
        self.value = value
        self.timestamp = timestamp
        if let type { headers.append(.init("ce_type", type)) }
    }

    init(_ text: String, type: String? = nil, timestamp: Int64 = Self.halfPastFive) {
        self.init(Array(text.utf8), type: type, timestamp: timestamp)
    }

    init(_ document: Document, type: String? = nil, timestamp: Int64 = Self.halfPastFive) {
        self.init(document.text, type: type, timestamp: timestamp)
    }

    func via(_ route: String) -> TestRecord {
        var record = self
        record.headers.append(.init("ce_via", route))
        return record
    }

    func keyed(_ key: String?) -> TestRecord {
        var record = self
        record.key = key.map { Array($0.utf8) }
        return record
    }

    func at(_ timestamp: Int64) -> TestRecord {
        var record = self
        record.timestamp = timestamp
        return record
    }

    func inPartition(_ partition: Int32) -> TestRecord {
        var record = self
        record.partition = partition
        return record
    }
}

extension RecordBatch {
    /// A batch of records; those without an offset get the next one of their partition.
    convenience init(_ records: some Sequence<TestRecord>, from nextOffsets: inout [Int32: Int64]) {
        self.init()
        for record in records {
            let offset = record.offset ?? nextOffsets[record.partition, default: 0]
            nextOffsets[record.partition] = offset + 1
            append(
                ReadRecord(
                    partition: record.partition, offset: offset, timestamp: record.timestamp,
                    key: record.key, headers: record.headers, value: record.value))
        }
    }

    convenience init(_ records: some Sequence<TestRecord>) {
        var nextOffsets: [Int32: Int64] = [:]
        self.init(records, from: &nextOffsets)
    }
}
