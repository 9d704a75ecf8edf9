import EventLog

extension CheckReport {
    /// Compares the topics of the log with those that are described.
    ///
    /// One that is missing is not wrong: whoever uses one stream needs no other's topic, and a publish
    /// creates it. A store whose topic is missing is wrong, which is said of the store.
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
        var missing: [String] = []
        var unknown: [(name: String, words: String)] = []
        var settings = TopicSettings(of: log)
        for topic in described {
            guard let found = topics.first(where: { $0.name == topic.name }) else {
                missing.append(topic.name)
                continue
            }
            let comparison = TopicComparison(topic, found, &settings)
            for drift in comparison.drifts {
                note(
                    wrong: "topic \(topic.name) in \(log.address) has \(drift.words): "
                        + drift.remedy)
            }
            if let words = comparison.unknown { unknown.append((topic.name, words)) }
        }
        if let words = unknown.first?.words {
            let names = unknown.map(\.name).joined(separator: ", ")
            let topics = unknown.count == 1 ? "topic" : "topics"
            note(doubtful: "settings of \(topics) \(names) were not compared: \(words)")
        }
        guard wrongCount == wrongBefore else { return }
        guard !missing.isEmpty else {
            return note(right: "topics \(directory.path): all \(described.count) are in the log")
        }
        note(
            right: "topics \(directory.path): \(described.count - missing.count) of "
                + "\(described.count) are in the log; a publish creates the others, and so does weir "
                + "topics apply: \(missing.joined(separator: ", "))")
    }
}
