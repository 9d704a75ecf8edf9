import EmbeddedLog
import Engine
import EventLog
import History
import Reports
import TestKit

@testable import weir

extension TemporaryDirectory {
    func log(_ topic: String = "t", partitions: Int32 = 2) throws -> EmbeddedLog {
        let log = try EmbeddedLog(path: "\(path)/log.sqlite", mode: .create)
        try log.createTopic(topic, partitionCount: partitions)
        return log
    }

    /// Publishes lines to a topic of a log, as `weir publish` does.
    func publish(_ text: [UInt8], to topic: String = "t", in log: EmbeddedLog) throws -> Int {
        let file = try write(text, to: "lines.ndjson")
        let found = try log.topics().first { $0.name == topic }
        guard let found else { throw LogError.unknownTopic(topic, address: log.address) }
        var publisher = Publisher(topic: found, writer: try log.writer(), address: log.address)
        try publisher.publish(LineReader(path: file))
        return publisher.published
    }

    /// What `weir read` prints of a topic.
    func read(
        _ topic: String = "t", in log: EmbeddedLog, partition: Int32? = nil,
        from: ReadLimit? = nil, to: ReadLimit? = nil
    ) throws -> [UInt8] {
        var lines: [UInt8] = []
        var reading = try TopicReading(
            log.reader(topic: topic), partition: partition, from: from, to: to)
        try reading.readRange { RecordLine.append($0, to: &lines) }
        return lines
    }
}
