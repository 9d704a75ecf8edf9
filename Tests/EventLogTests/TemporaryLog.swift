import EmbeddedLog
import EventLog
import TestKit

/// A directory for one test, removed with this object.
final class TemporaryLog {
    private let files: TemporaryDirectory
    var directory: String { files.path }
    var path: String { directory + "/log.sqlite" }

    init() throws { files = try TemporaryDirectory() }

    /// Opens the log, creating it when it is missing.
    func open() throws -> EmbeddedLog { try EmbeddedLog(path: path, mode: .create) }

    func open(topic: String, partitionCount: Int32) throws -> EmbeddedLog {
        let log = try open()
        try log.createTopic(topic, partitionCount: partitionCount)
        return log
    }
}

extension LogReader {
    /// Reads what there is, after `subscribe`, until nothing more is left.
    func readRest(maxRecords: Int = 1000, maxBytes: Int = 1 << 20) throws -> [ReadRecord] {
        let batch = RecordBatch()
        var found: [ReadRecord] = []
        while true {
            let reading = try read(
                into: batch, maxRecords: maxRecords, maxBytes: maxBytes, waitMilliseconds: 0)
            switch reading {
            case .assigned: continue
            case .idle, .revoked: return found
            case .records: found += batch.copies
            }
        }
    }
}

extension EmbeddedLog {
    /// All records of a topic, as a new reader finds them.
    func allRecords(of topic: String) throws -> [ReadRecord] {
        let reader = try reader(topic: topic)
        try reader.subscribe(.all)
        return try reader.readRest()
    }
}

/// A record of text for partition 0, unless told otherwise.
func record(
    _ text: String, topic: String = "bids", partition: Int32? = 0, timestamp: Int64? = nil
) -> OutgoingRecord {
    OutgoingRecord(
        topic: topic, partition: partition, timestampMilliseconds: timestamp,
        key: Array("key-\(text)".utf8), value: Array(text.utf8))
}
