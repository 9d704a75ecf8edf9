import EventLog

/// What became of the topics that were to be created.
struct TopicsApplication {
    /// A line for each topic, and for each thing in which one differs; one for all that are unknown.
    private(set) var lines: [String] = []
    /// The topics that are there otherwise than described.
    private(set) var differing: [String] = []
    /// The topics whose settings could not be compared.
    private(set) var unknown: [String] = []
    /// Why they could not: a log that cannot tell of one topic is not asked about the next.
    private var unknownReason: String?

    /// Creates the topics that are not there, and compares the others.
    init(_ described: [DescribedTopic], to log: any LogBackend) throws(LogError) {
        var created: Set<String> = []
        for topic in described where try log.create(topic) { created.insert(topic.name) }
        let topics = try log.topics()
        var settings = TopicSettings(of: log)
        for topic in described {
            guard let found = topics.first(where: { $0.name == topic.name }) else {
                throw .unknownTopic(topic.name, address: log.address)
            }
            let size = "\(topic.name) (\(found.partitionCount) partitions)"
            if created.contains(topic.name) {
                lines.append("created  \(size)")
            } else {
                note(TopicComparison(topic, found, &settings), topic, size)
            }
        }
        guard let words = unknownReason else { return }
        let whose = unknown.count == 1 ? "its" : "their"
        lines.append(
            "unknown  \(unknown.joined(separator: ", ")): \(whose) settings were not compared: "
                + words)
    }

    private mutating func note(
        _ comparison: TopicComparison, _ topic: DescribedTopic, _ size: String
    ) {
        for drift in comparison.drifts {
            lines.append("differs  \(topic.name): \(drift.words): \(drift.remedy)")
        }
        if !comparison.drifts.isEmpty { differing.append(topic.name) }
        if let words = comparison.unknown {
            unknownReason = unknownReason ?? words
            unknown.append(topic.name)
        }
        if comparison.drifts.isEmpty, comparison.unknown == nil {
            lines.append("exists   \(size)")
        }
    }
}

extension LogBackend {
    /// Creates a topic as it is described unless it exists; says whether it was created.
    @discardableResult
    func create(_ topic: DescribedTopic) throws(LogError) -> Bool {
        try createTopic(
            topic.name, partitionCount: topic.partitionCount, settings: topic.creationSettings)
    }
}
