import EventLog
import Foundation

@testable import weir

/// A temporary directory with a log in it.
final class TemporaryPlace {
    let path = NSTemporaryDirectory() + "weir-command-\(UUID().uuidString)"

    init() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try write(Array(text.utf8), to: name)
    }

    @discardableResult
    func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = URL(fileURLWithPath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
        return file.path
    }

    /// A log with one topic.
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
        var publisher = Publisher(
            topic: found, writer: try log.writer(), address: log.address)
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

/// Folders of the repository that tests read.
enum Repository {
    static func path(_ relative: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../\(relative)").standardized.path
    }
}
