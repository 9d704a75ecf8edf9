import EventLog

/// What became of the topics that were to be created.
struct TopicsApplication {
    /// A line for each topic, and for each thing in which one differs.
    private(set) var lines: [String] = []
    /// The topics that are there otherwise than described.
    private(set) var differing: [String] = []
    /// The topics whose settings could not be compared.
    private(set) var unknown: [String] = []

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
    }

    private mutating func note(
        _ comparison: TopicComparison, _ topic: DescribedTopic, _ size: String
    ) {
        for drift in comparison.drifts {
            lines.append("differs  \(topic.name): \(drift.words): \(drift.remedy)")
        }
        if !comparison.drifts.isEmpty { differing.append(topic.name) }
        if let words = comparison.unknown {
            lines.append("unknown  \(topic.name): its settings were not compared: \(words)")
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
