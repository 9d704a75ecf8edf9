import EventLog
import Foundation
import Inspection

/// Deletes the records of an embedded log that are past the retention of their topics and that
/// nobody needs any more.
struct LogTrim {
    struct Row: Equatable {
        var topic: String
        var partition: Int32
        /// The first offset that the log has.
        var earliestOffset: Int64
        /// Offset of the next record.
        var endOffset: Int64
        /// All records below this offset are deleted.
        var target: Int64
        /// Why the rest is kept.
        var reason: String
        /// Who needs records that are past the retention; nil when nobody does.
        var holder: String?

        var count: Int64 { target - earliestOffset }
    }

    private let log: EmbeddedLog
    private let described: [DescribedTopic]
    private let nowMilliseconds: Int64
    /// nil: the needs of readers are ignored.
    private let needs: LogNeeds?

    init(
        _ log: EmbeddedLog, _ described: [DescribedTopic], needs: LogNeeds?, nowMilliseconds: Int64
    ) {
        self.log = log
        self.described = described
        self.needs = needs
        self.nowMilliseconds = nowMilliseconds
    }

    /// What would be deleted, by topic and partition.
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
        var row = Row(
            topic: topic.name, partition: bounds.partition, earliestOffset: bounds.earliestOffset,
            endOffset: bounds.endOffset, target: bounds.earliestOffset, reason: "")
        guard bounds.endOffset > bounds.earliestOffset else {
            row.reason = "empty"
            return row
        }
        guard !topic.isArchive else {
            row.reason = "an archive of another log"
            return row
        }
        guard let description = described.first(where: { $0.name == topic.name }) else {
            row.reason = "not described in the topics directory"
            return row
        }
        let retention = try TopicRetention(description)
        guard !retention.isCompacted else {
            row.reason = "cleanup.policy is compact: no record goes for its age"
            return row
        }
        guard let words = retention.words else {
            row.reason = "kept for ever"
            return row
        }
        let end = try retentionEnd(retention, topic.name, bounds, reader)
        row.target = end
        row.reason = end == bounds.endOffset ? "nothing is left" : "within \(words)"
        guard let need = try needs?.need(of: topic, partition: bounds.partition), need.offset < end
        else { return row }
        row.target = max(need.offset, bounds.earliestOffset)
        row.holder = need.who
        row.reason =
            "\(end - row.target) more are past \(words), and \(need.who) goes on at \(need.offset)"
        return row
    }

    /// The first offset that is within the retention.
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
                end,
                try log.offset(topic: topic, partition: bounds.partition, keepingBytes: bytes))
        }
        // Records that came meanwhile are not meant.
        return min(end, bounds.endOffset)
    }
}

/// How long the records of a topic are kept, by the settings of its description, which have Kafka's
/// names.
struct TopicRetention: Equatable {
    /// Records older than this are deleted; nil: no limit.
    var milliseconds: Int64?
    /// The oldest records of a partition are deleted while it has more bytes; nil: no limit.
    var bytes: Int64?
    /// Whether the last record of each key is kept for ever: such a topic is not trimmed.
    var isCompacted = false

    /// Reads `cleanup.policy`, `retention.ms` and `retention.bytes`; what is not described is kept for ever.
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

    /// Both limits in words; nil when there is none.
    var words: String? {
        let rules =
            (milliseconds.map { ["\(Self.span($0))"] } ?? [])
            + (bytes.map { ["\($0) bytes"] } ?? [])
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
            columns: [
                .init("topic"), .init("partition", isNumber: true),
                .init("earliest", isNumber: true), .init("end", isNumber: true),
                .init(isDry ? "would_trim" : "trimmed", isNumber: true),
                .init("left", isNumber: true), .init("why_no_more"),
            ],
            rows: rows.map { row in
                [
                    .text(row.topic), .integer(Int128(row.partition)),
                    .integer(Int128(row.earliestOffset)), .integer(Int128(row.endOffset)),
                    .integer(Int128(row.count)), .integer(Int128(row.endOffset - row.target)),
                    .text(row.reason),
                ]
            })
    }

    var summary: String {
        let count = rows.reduce(0) { $0 + $1.count }
        let topics = Dictionary(grouping: rows.filter { $0.count > 0 }, by: \.topic)
            .map { name, rows in "\(name) \(rows.reduce(0) { $0 + $1.count })" }.sorted()
        let words = isDry ? "would trim" : "trimmed"
        let what = topics.isEmpty ? "" : ": \(topics.joined(separator: ", "))"
        return "\(words) \(count) records that are past the retention of their topics\(what)"
    }
}
