import ArgumentParser
import EventLog
import Foundation
import Worker

/// `weir publish`
struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Puts records from NDJSON into a topic.",
        discussion: """
            A line is {"key", "timestamp_ms"?, "headers"?, "value": any JSON | "text": string | \
            "base64": string, "partition"?}. A JSON value is published as the very bytes that stand \
            in the file; without a value the record is a tombstone. Bytes that are no text go as \
            "key_base64", and as {"base64": string} in a header. Ends with 0 once everything is on \
            disk; a line that cannot be read ends it with 1, what stands before it is published.
            """)

    @Option(help: "The topic.")
    var topic: String
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var topics: TopicsOptions
    @Argument(help: "A file of NDJSON; - or none: standard input.")
    var file: String?

    func run() throws {
        let lines = try LineReader(path: file)
        let log = try openLog()
        var publisher = Publisher(
            topic: try existingTopic(in: log), writer: try log.writer(), address: log.address)
        if StandardError.isTerminal {
            publisher.onProgress = { StandardError.show("published \($0) records") }
        }
        do {
            // What is written over goes before anything that stays is written.
            defer { StandardError.show("") }
            try publisher.publish(lines)
        }
        StandardError.write(
            line: "published \(publisher.published) records to \(topic) in \(log.address)")
    }

    /// The log; a new one only for a topic that can be created there.
    private func openLog() throws -> any LogBackend {
        do {
            return try log.open(.existing, dataDirectories: data.directories)
        } catch LogError.noLog(let address), LogError.emptyLog(let address) {
            _ = try topics.directory.topic(topic, missingFrom: address)
            return try log.open(.create, dataDirectories: data.directories)
        }
    }

    private func existingTopic(in log: any LogBackend) throws -> TopicDescription {
        if let found = try log.topics().first(where: { $0.name == topic }) { return found }
        let described = try topics.directory.topic(topic, missingFrom: log.address)
        try log.create(described)
        guard let created = try log.topics().first(where: { $0.name == topic }) else {
            throw LogError.unknownTopic(topic, address: log.address)
        }
        return created
    }
}
