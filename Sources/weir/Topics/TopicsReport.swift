import EventLog
import Inspection
import Streams

/// The topics of a log beside those that the topics directory describes.
struct TopicsReport {
    /// A topic of the log.
    struct Entry {
        var name: String
        var partitionCount: Int32
        /// Records that the topic still holds.
        var records: Int64
        /// Nil when the topics directory does not describe it.
        var described: DescribedTopic?
    }

    /// The topics of the log, by name.
    let entries: [Entry]

    init(_ log: any LogBackend, _ described: [DescribedTopic]) throws(LogError) {
        var entries: [Entry] = []
        for topic in try log.topics() {
            let bounds = try log.reader(topic: topic.name).bounds()
            entries.append(
                Entry(
                    name: topic.name, partitionCount: topic.partitionCount,
                    records: bounds.reduce(0) { $0 + $1.endOffset - $1.earliestOffset },
                    described: described.first { $0.name == topic.name }))
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

    private var table: String {
        guard !entries.isEmpty else { return "no topics\n" }
        let table = TextTable(
            header: ["topic", "partitions", "records", "described"],
            isNumber: [false, true, true, false],
            rows: entries.map { entry in
                let file = entry.described.map { described in
                    described.partitionCount == entry.partitionCount
                        ? described.file
                        : "\(described.file) with \(described.partitionCount) partitions"
                }
                return [entry.name, "\(entry.partitionCount)", "\(entry.records)", file ?? "no"]
            })
        return table.lines.joined(separator: "\n") + "\n"
    }

    private var json: String {
        var json = JSONText()
        json.array { json in for entry in entries { Self.write(entry, to: &json) } }
        return json.text + "\n"
    }

    private static func write(_ entry: Entry, to json: inout JSONText) {
        json.object { json in
            json.name("topic")
            json.string(entry.name)
            json.name("partitions")
            json.raw(entry.partitionCount)
            json.name("records")
            json.raw(entry.records)
            json.name("described_partitions")
            json.raw(entry.described.map { "\($0.partitionCount)" } ?? "null")
            json.name("settings")
            json.object { json in
                for (name, value) in (entry.described?.settings ?? [:]).sorted(by: { $0 < $1 }) {
                    json.name(name)
                    json.string(value)
                }
            }
        }
    }
}
