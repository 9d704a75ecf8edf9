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
            let found = topics.first { $0.name == topic.name }
            if found == nil {
                note(
                    wrong: "no topic \(topic.name) in \(log.address), \(topic.file) describes it: "
                        + "run weir topics apply")
            } else if let found, found.partitionCount != topic.partitionCount {
                note(
                    wrong: "topic \(topic.name) in \(log.address) has \(found.partitionCount) "
                        + "partitions, \(topic.file) describes \(topic.partitionCount): change the "
                        + "description, or begin a new log")
            }
        }
        if wrongCount == wrongBefore {
            note(right: "topics \(directory.path): all \(described.count) are in the log")
        }
    }
}
