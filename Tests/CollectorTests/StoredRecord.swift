import EventLog
import Foundation

/// A record as it lies in a log.
struct StoredRecord: Equatable {
    var partition: Int32
    var offset: Int64
    var timestampMilliseconds: Int64
    var key: String?
    var headers: [String: String]
    var value: [UInt8]

    var text: String { String(decoding: value, as: UTF8.self) }

    /// A member of the value, which is a JSON object.
    subscript(name: String) -> Any? {
        let json = try? JSONSerialization.jsonObject(with: Data(value)) as? [String: Any]
        return json?[name]
    }

    /// All records of a topic, partition by partition.
    static func all(of topic: String, in log: EmbeddedLog) throws -> [StoredRecord] {
        let reader = try log.reader(topic: topic)
        defer { reader.close() }
        try reader.subscribe(.all)
        let batch = RecordBatch()
        var records: [StoredRecord] = []
        while true {
            let reading = try reader.read(
                into: batch, maxRecords: 10_000, maxBytes: 64 << 20, waitMilliseconds: 0)
            if reading == .idle { break }
            guard reading == .records else { continue }
            records += (0..<batch.count).map { StoredRecord(batch[$0]) }
        }
        return records.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
    }

    private init(_ record: RecordView) {
        partition = record.partition
        offset = record.offset
        timestampMilliseconds = record.timestampMilliseconds
        key = record.key.map { String(decoding: $0, as: UTF8.self) }
        var headers: [String: String] = [:]
        record.headers.forEach { name, value in
            headers[String(decoding: name, as: UTF8.self)] =
                value.map { String(decoding: $0, as: UTF8.self) } ?? ""
            return true
        }
        self.headers = headers
        value = record.value.map { Array($0) } ?? []
    }
}
