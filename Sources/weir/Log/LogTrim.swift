import ConfigurationValues
import EmbeddedLog
import EventLog
import Foundation
import Program
import Reports
import Wording

/// Deletes the records of an embedded log that are past the retention of their topics and no longer needed.
struct LogTrim {
    struct Row: Equatable {
        var topic: String
        var partition: Int32
        var earliestOffset: Int64
        var endOffset: Int64
        /// The first offset to keep.
        var target: Int64
        /// Why the remaining records are kept.
        var reason: String
        /// The reader that needs records past the retention; nil without one.
        var holder: String?

        var count: Int64 { target - earliestOffset }
    }

    private let log: EmbeddedLog
    private let described: [DescribedTopic]
    private let nowMilliseconds: Int64
    /// Nil to ignore the needs of readers.
    private let needs: LogNeeds?

    init(
        _ log: EmbeddedLog, _ described: [DescribedTopic], needs: LogNeeds?, nowMilliseconds: Int64
    ) {
        self.log = log
        self.described = described
        self.needs = needs
        self.nowMilliseconds = nowMilliseconds
    }

    func plan(topics names: Set<String> = []) throws -> [Row] {
        var rows: [Row] = []
        for topic in try log.topics() where names.isEmpty || names.contains(topic.name) {
            let reader = try log.reader(topic: topic.name, group: nil)
            defer { reader.close() }
            for bounds in try reader.bounds() {
                rows.append(try row(of: topic, bounds, reader))
            }
        }
        return rows
    }

    func run(_ rows: [Row]) throws(LogError) {
        for row in rows where row.count > 0 {
            try log.trim(topic: row.topic, partition: row.partition, before: row.target)
        }
    }

    private func row(
        of topic: TopicDescription, _ bounds: PartitionBounds, _ reader: any LogReader
    ) throws -> Row {
        func kept(_ reason: String) -> Row {
            Row(
                topic: topic.name, partition: bounds.partition,
                earliestOffset: bounds.earliestOffset, endOffset: bounds.endOffset,
                target: bounds.earliestOffset, reason: reason)
        }
        guard bounds.endOffset > bounds.earliestOffset else { return kept("empty") }
        guard !topic.isArchive else { return kept("an archive of another log") }
        guard let description = described.first(where: { $0.name == topic.name }) else {
            return kept("without a description in the topics directory")
        }
        let retention = try TopicRetention(description)
        guard !retention.isCompacted else {
            return kept("cleanup.policy is compact: records do not expire")
        }
        guard let explanation = retention.explanation else { return kept("kept without a limit") }
        let end = try retentionEnd(retention, topic.name, bounds, reader)
        var row = kept(end == bounds.endOffset ? "nothing remains" : "within \(explanation)")
        row.target = end
        guard let need = try needs?.need(of: topic, partition: bounds.partition), need.offset < end
        else { return row }
        row.target = max(need.offset, bounds.earliestOffset)
        row.holder = need.who
        row.reason =
            "\(end - row.target) more are past \(explanation), but \(need.who) continues at \(need.offset)"
        return row
    }

    private func retentionEnd(
        _ retention: TopicRetention, _ topic: String, _ bounds: PartitionBounds,
        _ reader: any LogReader
    ) throws(LogError) -> Int64 {
        var end = bounds.earliestOffset
        if let milliseconds = retention.milliseconds {
            let kept = try reader.offset(
                partition: bounds.partition, atOrAfter: nowMilliseconds - milliseconds)
            end = max(end, kept ?? bounds.endOffset)
        }
        if let bytes = retention.bytes {
            end = max(
                end, try log.offset(topic: topic, partition: bounds.partition, keepingBytes: bytes))
        }
        // Do not delete records that have arrived in between.
        return min(end, bounds.endOffset)
    }
}

/// The retention of a topic, from the settings of its description, which have Kafka's names.
struct TopicRetention: Equatable {
    /// Records older than this are deleted; nil for no limit.
    var milliseconds: Int64?
    /// The oldest records of a partition are deleted while it has more bytes; nil for no limit.
    var bytes: Int64?
    /// Whether the last record of each key is kept permanently; such a topic is not trimmed.
    var isCompacted = false

    /// Reads `cleanup.policy`, `retention.ms` and `retention.bytes`. A missing setting means no limit.
    init(_ topic: DescribedTopic) throws(CommandError) {
        let policies = (topic.settings["cleanup.policy"] ?? "delete").split(separator: ",")
        isCompacted = !policies.contains("delete")
        guard !isCompacted else { return }
        milliseconds = try Self.limit("retention.ms", of: topic)
        bytes = try Self.limit("retention.bytes", of: topic)
    }

    private static func limit(
        _ name: String, of topic: DescribedTopic
    ) throws(CommandError) -> Int64? {
        guard let text = topic.settings[name] else { return nil }
        guard let number = Int64(text), number >= -1 else {
            throw .failure(
                "\(topic.file): \(name) is '\(text)': write a whole number, or -1 for no limit")
        }
        return number == -1 ? nil : number
    }

    var explanation: String? {
        let rules =
            (milliseconds.map { ["\(Self.span($0))"] } ?? [])
            + (bytes.map { [counted($0, "byte")] } ?? [])
        return rules.isEmpty ? nil : rules.joined(separator: " and ")
    }

    private static func span(_ milliseconds: Int64) -> String {
        for (unit, name) in [(86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes")]
        where milliseconds >= unit && milliseconds % Int64(unit) == 0 {
            return "\(milliseconds / Int64(unit)) \(name)"
        }
        return "\(milliseconds) ms"
    }
}

struct TrimReport {
    let rows: [LogTrim.Row]
    let isDry: Bool

    var table: ReportTable {
        ReportTable(
            rows,
            [
                .text("topic") { $0.topic }, .number("partition") { $0.partition },
                .number("earliest") { $0.earliestOffset }, .number("end") { $0.endOffset },
                .number(isDry ? "would_trim" : "trimmed") { $0.count },
                .number("left") { $0.endOffset - $0.target }, .text("why_no_more") { $0.reason },
            ])
    }

    var summary: String {
        let count = rows.reduce(0) { $0 + $1.count }
        let topics = Dictionary(grouping: rows.filter { $0.count > 0 }, by: \.topic)
            .map { name, rows in "\(name) \(rows.reduce(0) { $0 + $1.count })" }.sorted()
        let explanation = isDry ? "would trim" : "trimmed"
        let what = topics.isEmpty ? "" : ": \(topics.joined(separator: ", "))"
        return
            "\(explanation) \(counted(count, "record")) that \(count == 1 ? "is" : "are") past their topic's retention\(what)"
    }
}

/// Trims the log of `weir up` at intervals, like `weir log trim`, on its own thread. Obstacles are reported once, and
/// do not stop anything.
struct UpTrim {
    /// The default interval.
    static let defaultSeconds = 3600
    private static let pollSeconds = 0.1
    private static let mostSaid = 1000

    let path: String
    let directory: String
    let pipelines: PipelineDirectory
    let topics: TopicDirectory
    let archivePath: String?
    let seconds: Int

    /// Works until a stop is requested. The first trim follows after one interval, when workers have started.
    func work(until stop: StopSignal) {
        var said: Set<String> = []
        var last = ContinuousClock.now
        while !stop.isRequested {
            Thread.sleep(forTimeInterval: Self.pollSeconds)
            guard last.duration(to: .now) >= .seconds(seconds) else { continue }
            for explanation in once() where said.insert(explanation).inserted {
                Console.write(explanation)
            }
            if said.count > Self.mostSaid { said.removeAll() }
            last = .now
        }
    }

    /// Trims once, and returns the notices.
    private func once() -> [String] {
        do {
            let log = try EmbeddedLog(path: path, mode: .existing)
            let trim = LogTrim(
                log, try topics.topics(),
                needs: try LogNeeds(
                    of: log, directories: [directory], archivePath: archivePath,
                    pipelines: pipelines),
                nowMilliseconds: WallClock.milliseconds)
            let rows = try trim.plan()
            try trim.run(rows)
            if rows.contains(where: { $0.count > 0 }) {
                Console.write(TrimReport(rows: rows, isDry: false).summary)
            }
            return rows.compactMap { row in
                row.holder.map {
                    "the log keeps \(row.topic)/\(row.partition) longer than its retention, because \($0) "
                        + "still needs it"
                }
            }
        } catch {
            return ["cannot trim the log: \(CommandError(error)?.explanation ?? "\(error)")"]
        }
    }
}
