import EventLog

extension CheckReport {
    /// Compares the topics of the log with those that are described.
    mutating func check(_ log: any LogBackend, against directory: TopicDirectory) throws(LogError) {
        let topics = try log.topics()
        note(right: "log \(log.address): \(topics.count) topics")
        let described: [DescribedTopic]
        do throws(CommandError) {
            described = try directory.topics()
        } catch {
            note(wrong: error.words ?? directory.path)
            return
        }
        let wrongBefore = wrongCount
        for topic in described {
            guard let found = topics.first(where: { $0.name == topic.name }) else {
                note(
                    wrong: "no topic \(topic.name) in \(log.address), \(topic.file) describes it: "
                        + "run weir topics apply")
                continue
            }
            let comparison = TopicComparison(topic, found, in: log)
            for drift in comparison.drifts {
                note(
                    wrong: "topic \(topic.name) in \(log.address) has \(drift.words): "
                        + drift.remedy)
            }
            if let words = comparison.unknown {
                note(doubtful: "settings of topic \(topic.name) were not compared: \(words)")
            }
        }
        if wrongCount == wrongBefore {
            note(right: "topics \(directory.path): all \(described.count) are in the log")
        }
    }
}
