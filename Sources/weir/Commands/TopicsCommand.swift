import ArgumentParser
import EventLog
import JSON
import Program
import Reports
import Streams
import Wording

struct TopicsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topics",
        abstract: "Creates and checks the topics of the topics directory.",
        subcommands: [TopicsApplyCommand.self, TopicsListCommand.self])
}

struct TopicsApplyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Creates missing topics; never changes an existing one.",
        discussion: """
            On Kafka, each topic gets the partitions, replicas and settings of its file. An embedded log has only \
            partitions. For an existing topic, the command prints each difference in partitions, replicas and \
            described settings, and what to do. It ends with 0, because you decide what to change; weir check ends \
            with 1. The topic for partners has the name in partner-postbacks.yaml of --pipelines.

              weir topics apply
              weir topics apply --log kafka://localhost:9092
            """)

    @OptionGroup var topics: TopicsOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var access: FileAccessOptions

    func run() throws {
        let described = try topics.directory(pipelines.directory(of: data)).topics()
        let log = try log.open(.create, data, pipelines)
        let application = try TopicsApplication(described, to: log)
        try BufferedOutput.print(application.lines.map { $0 + "\n" }.joined())
        if !application.differing.isEmpty {
            Console.write(
                "warning: \(application.differing.joined(separator: ", ")) in \(log.address) "
                    + "differ from \(topics.directory.path): see the lines above")
        }
        if !application.unknown.isEmpty {
            Console.write(
                "warning: settings of \(application.unknown.joined(separator: ", ")) in "
                    + "\(log.address) cannot be compared: see the lines above")
        }
    }
}

struct TopicsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the topics of the log with their records and descriptions.",
        discussion: """
            The last column shows how a topic differs from its description. weir topics apply prints what to do \
            about each difference.
            """)

    @OptionGroup var topics: TopicsOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let directory = topics.directory(pipelines.directory(of: data))
        let described = directory.exists ? try directory.topics() : []
        let report = try TopicsReport(log.open(.existing, data, pipelines), described)
        try BufferedOutput.print(report, as: format)
        report.notices.forEach(Console.write)
    }
}

struct TopicsApplication {
    /// One line per topic, one per difference, and one for all topics with unknown settings.
    private(set) var lines: [String] = []
    /// The topics that differ from their description.
    private(set) var differing: [String] = []
    /// The topics with settings that could not be compared.
    private(set) var unknown: [String] = []
    /// The reason. After one failure no other topic is queried.
    private var unknownReason: String?

    init(_ described: [DescribedTopic], to log: any LogBackend) throws(LogError) {
        var created: Set<String> = []
        for topic in described where try log.create(topic) { created.insert(topic.name) }
        let topics = try log.topics()
        var settings = TopicSettings(of: log)
        for topic in described {
            guard let found = topics.first(where: { $0.name == topic.name }) else {
                throw .unknownTopic(topic.name, address: log.address)
            }
            let size = "\(topic.name) (\(counted(found.partitionCount, "partition")))"
            if created.contains(topic.name) {
                lines.append("created  \(size)")
            } else {
                add(TopicComparison(topic, found, &settings), topic, size)
            }
        }
        guard let explanation = unknownReason else { return }
        let whose = unknown.count == 1 ? "its" : "their"
        lines.append(
            "unknown  \(unknown.joined(separator: ", ")): cannot compare \(whose) settings: "
                + explanation)
    }

    private mutating func add(
        _ comparison: TopicComparison, _ topic: DescribedTopic, _ size: String
    ) {
        for drift in comparison.drifts {
            lines.append("differs  \(topic.name): \(drift.explanation): \(drift.remedy)")
        }
        if !comparison.drifts.isEmpty { differing.append(topic.name) }
        if let explanation = comparison.unknown {
            unknownReason = unknownReason ?? explanation
            unknown.append(topic.name)
        }
        if comparison.drifts.isEmpty, comparison.unknown == nil {
            lines.append("exists   \(size)")
        }
    }
}

extension LogBackend {
    /// Creates a topic as described unless it exists; returns true if it was created.
    @discardableResult
    func create(_ topic: DescribedTopic) throws(LogError) -> Bool {
        try createTopic(
            topic.name, partitionCount: topic.partitionCount, settings: topic.creationSettings)
    }
}

struct TopicsReport: Report {
    struct Entry {
        var name: String
        var partitionCount: Int32
        /// The number of records in the topic; nil when not all of its partitions answer.
        var records: Int64?
        /// Why a partition does not answer.
        var fault: LogError?
        /// Nil when the topics directory does not describe it.
        var described: DescribedTopic?
        /// Nil without a description.
        var comparison: TopicComparison?
    }

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

    var notices: [String] {
        var notices = entries.compactMap { entry in
            entry.fault.map { "cannot read the records of \(entry.name): \($0)" }
        }
        let unknown = entries.filter { $0.comparison?.unknown != nil }
        if let explanation = unknown.first?.comparison?.unknown {
            let names = unknown.map(\.name).joined(separator: ", ")
            notices.append("cannot compare the settings of \(names): \(explanation)")
        }
        return notices
    }

    var table: String {
        guard !entries.isEmpty else { return "no topics\n" }
        let table = TextTable(
            header: ["topic", "partitions", "records", "described", "drift"],
            isNumber: [false, true, true, false, false],
            rows: entries.map { entry in
                let drifts =
                    entry.comparison?.drifts.map(\.explanation).joined(separator: "; ") ?? ""
                return [
                    entry.name, "\(entry.partitionCount)",
                    entry.records.map { "\($0)" } ?? "unknown",
                    entry.described?.file ?? "no",
                    drifts.isEmpty && entry.comparison?.unknown != nil ? "unknown" : drifts,
                ]
            })
        return table.text
    }

    func write(to json: inout JSONText) {
        json.objects(entries) { entry, json in
            json.member("topic", entry.name)
            json.member("partitions", entry.partitionCount)
            json.member("records", entry.records)
            json.member("described_partitions", entry.described?.partitionCount)
            json.object("settings") { json in
                for (name, value) in (entry.described?.settings ?? [:]).sorted(by: { $0 < $1 }) {
                    json.member(name, value)
                }
            }
            json.objects("drift", entry.comparison?.drifts ?? []) { drift, json in
                json.member("setting", drift.subject)
                json.member("found", drift.found)
                json.member("described", drift.described)
            }
        }
    }
}
