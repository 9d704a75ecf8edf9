import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import Engine
import EventLog
import Foundation
import History
import Program
import Reports
import Streams
import Wording

struct PublishCommand: PublishingCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publishes records from NDJSON to a topic.",
        discussion: """
            A line is {"key", "timestamp_ms"?, "headers"?, "value": any JSON | "text": string | "base64": \
            string, "partition"?}. A JSON value is published with the same bytes as in the file. Without a \
            value, the record is a tombstone. For bytes that are not text, use "key_base64", and {"base64": \
            string} in a header.

            The command ends with 0 after all records are on disk. If a line is invalid, it ends with 1; the \
            earlier lines are published. It publishes records that are dated more than 5 minutes ahead of the \
            clock, and prints a warning with their count.

            First, the command checks that the records belong to the topic. It publishes nothing in these cases: \
            a record has a ce_type of another topic, a record without ce_type has the fields of another topic's \
            records, or no record has a type of the topic. It warns of single records with a ce_type of no \
            topic. From a pipe, it checks each batch of up to 10,000 records before it publishes the batch. \
            --force skips this check.
            """)

    @Option(help: "The topic.")
    var topic: String
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var topics: TopicsOptions
    @OptionGroup var access: FileAccessOptions
    @OptionGroup var clock: ClockOptions
    @Flag(help: "Publish records that do not belong to the topic too (WEIR_FORCE).")
    var force = false
    @Argument(help: "A file of NDJSON (default, or -: standard input).")
    var file: String?

    func run() throws {
        let lines = try LineReader(path: file)
        let pipelines = PipelineDirectory(
            Environment().place(of: .pipelines, nil, data: data.directories).path)
        var check =
            try Environment().isSet("WEIR_FORCE", option: force)
            ? nil : TopicCheck(topic: topic, pipelines: pipelines)
        if check != nil, lines.canRewind {
            try Console.removingProgress {
                try check?.read(lines) { Console.show(progress: "checked \($0) records") }
            }
            let fault = check?.fault(in: lines.name, outcome: "Nothing was published")
            if let fault { throw fault }
            if let warning = check?.warning(in: lines.name) { Console.write(warning) }
            check = nil
            try lines.rewind()
        }
        try publish(to: topic) { [check] publisher throws(CommandError) in
            publisher.check = check
            try publisher.publish(lines)
            if let warning = publisher.check?.warning(in: lines.name) { Console.write(warning) }
        }
    }
}

/// A command that publishes to a topic of a log.
protocol PublishingCommand: ParsableCommand {
    var log: LogOptions { get }
    var data: DataOptions { get }
    var topics: TopicsOptions { get }
    var clock: ClockOptions { get }
}

extension PublishingCommand {
    /// Lets `body` publish to a topic and reports the result. A missing topic is created if it is described.
    ///
    /// - Parameter pipelines: the directory with kafka.yaml; nil for commands without that option.
    func publish(
        to topic: String, _ pipelines: PipelinesOptions? = nil,
        _ body: (inout Publisher) throws(CommandError) -> Void
    ) throws {
        let log = try openLog(with: topic, pipelines)
        var publisher = Publisher(
            topic: try existing(topic, in: log), writer: try log.writer(), address: log.address)
        publisher.present = try clock.present
        publisher.onProgress = { Console.show(progress: "published \(counted($0, "record"))") }
        try Console.removingProgress { try body(&publisher) }
        StandardError.write(
            line:
                "published \(counted(publisher.published, "record")) to \(topic) in \(log.address)")
        if let warning = publisher.warning { Console.write(warning) }
    }

    /// Opens the log. A missing log is created only for a described topic.
    private func openLog(
        with topic: String, _ pipelines: PipelinesOptions?
    ) throws -> any LogBackend {
        do {
            return try log.open(.existing, data, pipelines)
        } catch LogError.noLog(let address), LogError.emptyLog(let address) {
            _ = try topics.directory.topic(topic, missingFrom: address)
            return try log.open(.create, data, pipelines)
        }
    }

    private func existing(_ topic: String, in log: any LogBackend) throws -> TopicDescription {
        if let found = try log.topics().first(where: { $0.name == topic }) { return found }
        let described = try topics.directory.topic(topic, missingFrom: log.address)
        try log.create(described)
        guard let created = try log.topics().first(where: { $0.name == topic }) else {
            throw LogError.unknownTopic(topic, address: log.address)
        }
        return created
    }
}

/// Appends records and NDJSON lines to a topic, many per transaction.
struct Publisher {
    private let topic: TopicDescription
    private let writer: any LogWriter
    private let address: String
    private var batch: [OutgoingRecord] = []
    private var batchBytes = 0

    private(set) var published = 0
    /// Checks each batch of lines before it is appended; nil for lines that are already checked.
    var check: TopicCheck?
    /// The time of the clock; nil to skip the comparison of records with it.
    var present: Present?
    /// The number of records dated ahead of the clock, and the latest of their times.
    private var ahead: (count: Int, latestMilliseconds: Int64) = (0, .min)
    /// Called after each transaction with the number of durable records.
    var onProgress: (Int) -> Void = { _ in }

    private static let batchRecords = 10_000
    private static let batchBytes = 16 << 20

    init(topic: TopicDescription, writer: any LogWriter, address: String) {
        self.topic = topic
        self.writer = writer
        self.address = address
    }

    /// Publishes all lines of a file. After an error, the records of the preceding lines are durable.
    mutating func publish(_ lines: LineReader) throws(CommandError) {
        while let line = try next(lines) {
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            do throws(RecordLine.Fault) {
                let record = try RecordLine.record(
                    line, topic: topic.name, partitionCount: topic.partitionCount)
                batch.append(record)
                batchBytes += line.count
                check?.check(record, line: lines.lineNumber)
            } catch {
                try append(lines)
                throw .failure(
                    "\(lines.name):\(lines.lineNumber): \(error.explanation) "
                        + "(\(counted(published, "earlier record")) \(published == 1 ? "is" : "are") in \(address))"
                )
            }
            if batch.count >= Self.batchRecords || batchBytes >= Self.batchBytes {
                try append(lines)
            }
        }
        try append(lines)
    }

    /// Publishes records to the topic.
    mutating func publish(_ records: [OutgoingRecord]) throws(CommandError) {
        for record in records {
            batch.append(record)
            batchBytes += record.value?.count ?? 0
            if batch.count >= Self.batchRecords || batchBytes >= Self.batchBytes { try append() }
        }
        try append()
    }

    /// A warning about records dated ahead of the clock; nil without any.
    var warning: String? {
        guard ahead.count > 0 else { return nil }
        return
            "warning: \(counted(ahead.count, "record")) of \(topic.name) \(ahead.count == 1 ? "is" : "are") dated ahead of the clock, the latest \(UTC.text(milliseconds: ahead.latestMilliseconds)): reports end at the newest record with a correct time (docs/guides/save-a-report.md). Correct timestamp_ms at its source"
    }

    /// The next line. If the file cannot be read, commits the preceding records first.
    private mutating func next(_ lines: LineReader) throws(CommandError) -> UnsafeRawBufferPointer?
    {
        do throws(CommandError) {
            return try lines.next()
        } catch {
            try append(lines)
            throw .failure(
                "\(error.explanation ?? lines.name) (\(counted(published, "earlier record")) \(published == 1 ? "is" : "are") in \(address))"
            )
        }
    }

    /// Appends the batch after checking the topic of its lines.
    private mutating func append(_ lines: LineReader) throws(CommandError) {
        let outcome =
            published == 0
            ? "Nothing was published" : "\(published) records before them are in \(address)"
        if let fault = check?.fault(in: lines.name, outcome: outcome) { throw fault }
        try append()
    }

    private mutating func append() throws(CommandError) {
        guard !batch.isEmpty else { return }
        do throws(LogError) {
            try writer.append(batch)
        } catch {
            throw .failure(
                "\(error) (\(counted(published, "earlier record")) \(published == 1 ? "is" : "are") in \(address))"
            )
        }
        published += batch.count
        for record in batch {
            guard let time = record.timestampMilliseconds, present?.isAhead(time) ?? false else {
                continue
            }
            ahead = (ahead.count + 1, max(ahead.latestMilliseconds, time))
        }
        batch.removeAll(keepingCapacity: true)
        batchBytes = 0
        onProgress(published)
    }
}
