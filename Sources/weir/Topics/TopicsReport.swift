import EventLog
import Inspection
import Streams

/// The topics of a log beside those that the topics directory describes.
struct TopicsReport {
    /// A topic of the log.
    struct Entry {
        var name: String
        var partitionCount: Int32
        /// Records that the topic still holds; nil when not all of its partitions answer.
        var records: Int64?
        /// Why a partition does not answer.
        var fault: LogError?
        /// Nil when the topics directory does not describe it.
        var described: DescribedTopic?
        /// Nil when it is not described.
        var comparison: TopicComparison?
    }

    /// The topics of the log, by name.
    let entries: [Entry]

    init(_ log: any LogBackend, _ described: [DescribedTopic]) throws(LogError) {
        var entries: [Entry] = []
        var settings = TopicSettings(of: log)
        for topic in try log.topics() {
            let (bounds, faults) = try log.reader(topic: topic.name).knownBounds(
                of: Array(0..<topic.partitionCount))
            let records = bounds.reduce(0) { $0 + $1.endOffset - $1.earliestOffset }
            let described = described.first { $0.name == topic.name }
            entries.append(
                Entry(
                    name: topic.name, partitionCount: topic.partitionCount,
                    records: faults.isEmpty ? records : nil,
                    fault: faults.min { $0.key < $1.key }?.value,
                    described: described,
                    comparison: described.map { TopicComparison($0, topic, &settings) }))
        }
        self.entries = entries
    }

    /// The report as text.
    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json
        }
    }

    /// What is to be said beside the report.
    var notices: [String] {
        var notices = entries.compactMap { entry in
            entry.fault.map { "the records of \(entry.name) are not known: \($0)" }
        }
        let unknown = entries.filter { $0.comparison?.unknown != nil }
        if let words = unknown.first?.comparison?.unknown {
            let names = unknown.map(\.name).joined(separator: ", ")
            notices.append("settings of \(names) were not compared: \(words)")
        }
        return notices
    }

    private var table: String {
        guard !entries.isEmpty else { return "no topics\n" }
        let table = TextTable(
            header: ["topic", "partitions", "records", "described", "drift"],
            isNumber: [false, true, true, false, false],
            rows: entries.map { entry in
                let drifts = entry.comparison?.drifts.map(\.words).joined(separator: "; ") ?? ""
                let isKnown = entry.comparison?.unknown == nil
                return [
                    entry.name, "\(entry.partitionCount)",
                    entry.records.map { "\($0)" } ?? "unknown",
                    entry.described?.file ?? "no",
                    drifts.isEmpty ? (isKnown ? "" : "unknown") : drifts,
                ]
            })
        return table.lines.joined(separator: "\n") + "\n"
    }

    private var json: String {
        var json = JSONText()
        json.array { json in for entry in entries { Self.write(entry, to: &json) } }
        return json.text.withoutControlsInJSON + "\n"
    }

    private static func write(_ entry: Entry, to json: inout JSONText) {
        json.object { json in
            json.name("topic")
            json.string(entry.name)
            json.name("partitions")
            json.raw(entry.partitionCount)
            json.name("records")
            json.raw(entry.records.map { "\($0)" } ?? "null")
            json.name("described_partitions")
            json.raw(entry.described.map { "\($0.partitionCount)" } ?? "null")
            json.name("settings")
            json.object { json in
                for (name, value) in (entry.described?.settings ?? [:]).sorted(by: { $0 < $1 }) {
                    json.name(name)
                    json.string(value)
                }
            }
            json.name("drift")
            json.array { json in
                for drift in entry.comparison?.drifts ?? [] { write(drift, to: &json) }
            }
        }
    }

    private static func write(_ drift: TopicDrift, to json: inout JSONText) {
        json.object { json in
            json.name("setting")
            json.string(drift.subject)
            json.name("found")
            json.string(drift.found)
            json.name("described")
            json.string(drift.described)
        }
    }
}
