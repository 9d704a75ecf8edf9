import EventLog
import Foundation

/// Deletes the records of an embedded log that are past the retention of their topics, and that nobody needs
/// any more.
struct LogTrim {
    /// What is to be done about a partition, and why no more.
    struct Row: Equatable {
        var topic: String
        var partition: Int32
        /// The first offset that the log has.
        var earliestOffset: Int64
        /// Offset of the next record.
        var endOffset: Int64
        /// Everything below goes.
        var target: Int64
        /// Why what is left is kept.
        var reason: String
        /// Who needs records that are past the retention; nil when nobody does.
        var holder: String?

        /// Number of offsets that go.
        var count: Int64 { target - earliestOffset }
    }

    private let log: EmbeddedLog
    private let described: [DescribedTopic]
    private let nowMilliseconds: Int64
    /// Who needs what; nil when nobody is asked.
    private let needs: LogNeeds?

    init(
        _ log: EmbeddedLog, _ described: [DescribedTopic], needs: LogNeeds?, nowMilliseconds: Int64
    ) {
        self.log = log
        self.described = described
        self.needs = needs
        self.nowMilliseconds = nowMilliseconds
    }

    /// What would go, by topic and partition.
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

    /// Deletes what a plan says.
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

    /// The first offset that the retention keeps.
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
