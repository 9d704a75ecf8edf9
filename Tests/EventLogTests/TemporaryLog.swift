import EventLog
import Foundation

/// A directory for one test, removed with this object.
final class TemporaryLog {
    let directory: String
    var path: String { directory + "/log.sqlite" }

    init() throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("event-log-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        directory = url.path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Opens the log, creating it when it is missing.
    func open() throws -> EmbeddedLog {
        try EmbeddedLog(path: path, mode: .create)
    }

    /// Opens the log with one topic.
    func open(topic: String, partitionCount: Int32) throws -> EmbeddedLog {
        let log = try open()
        try log.createTopic(topic, partitionCount: partitionCount)
        return log
    }
}

/// A record that was read, its bytes copied.
struct ReadRecord: Equatable {
    struct Header: Equatable {
        var name: String
        var value: [UInt8]?
    }

    var partition: Int32
    var offset: Int64
    var timestampMilliseconds: Int64
    var key: [UInt8]?
    var headers: [Header]
    var value: [UInt8]?

    init(_ view: RecordView) {
        partition = view.partition
        offset = view.offset
        timestampMilliseconds = view.timestampMilliseconds
        key = view.key.map { Array($0) }
        value = view.value.map { Array($0) }
        var headers: [Header] = []
        view.headers.forEach { name, value in
            headers.append(
                Header(name: String(decoding: name, as: UTF8.self), value: value.map { Array($0) })
            )
            return true
        }
        self.headers = headers
    }

    /// The value as text.
    var text: String? { value.map { String(decoding: $0, as: UTF8.self) } }
}

extension LogReader {
    /// Reads what there is, after `subscribe`, until nothing more is left.
    func readToEnd(maxRecords: Int = 1000, maxBytes: Int = 1 << 20) throws -> [ReadRecord] {
        let batch = RecordBatch()
        var found: [ReadRecord] = []
        while true {
            let reading = try read(
                into: batch,
                maxRecords: maxRecords,
                maxBytes: maxBytes,
                waitMilliseconds: 0
            )
            switch reading {
            case .assigned: continue
            case .idle, .revoked: return found
            case .records: found += (0..<batch.count).map { ReadRecord(batch[$0]) }
            }
        }
    }
}

extension EmbeddedLog {
    /// All records of a topic, as a new reader finds them.
    func allRecords(of topic: String) throws -> [ReadRecord] {
        let reader = try reader(topic: topic)
        try reader.subscribe(.all)
        return try reader.readToEnd()
    }
}

/// A record of text for partition 0, unless told otherwise.
func record(
    _ text: String,
    topic: String = "bids",
    partition: Int32? = 0,
    timestamp: Int64? = nil
) -> OutgoingRecord {
    OutgoingRecord(
        topic: topic,
        partition: partition,
        timestampMilliseconds: timestamp,
        key: Array("key-\(text)".utf8),
        value: Array(text.utf8)
    )
}
