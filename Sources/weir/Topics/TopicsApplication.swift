import EventLog

/// What became of the topics that were to be created.
struct TopicsApplication {
    /// A line for each topic.
    private(set) var lines: [String] = []
    /// The topics that are there with another number of partitions.
    private(set) var differing: [String] = []

    /// Creates the topics that are not there, and compares the others.
    init(_ described: [DescribedTopic], to log: any LogBackend) throws(LogError) {
        for topic in described {
            let created = try log.createTopic(topic.name, partitionCount: topic.partitionCount)
            let found = try log.topics().first { $0.name == topic.name }
            let count = found?.partitionCount ?? topic.partitionCount
            if created {
                lines.append("created  \(topic.name) (\(count) partitions)")
            } else if count == topic.partitionCount {
                lines.append("exists   \(topic.name) (\(count) partitions)")
            } else {
                differing.append(topic.name)
                lines.append(
                    "differs  \(topic.name) (\(count) partitions, "
                        + "\(topic.file) describes \(topic.partitionCount))")
            }
        }
    }
}
