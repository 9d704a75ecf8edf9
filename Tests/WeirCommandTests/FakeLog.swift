import EventLog

/// A cluster of topics that a test describes: nothing can be read of it.
final class FakeLog: LogBackend {
    let address = "kafka://broker:9092"
    var described: [TopicDescription] = []
    /// By topic; nil where they cannot be asked for.
    var settings: [String: [String: String]] = [:]
    /// What topics were created with.
    private(set) var created: [String: [String: String]] = [:]

    /// The topics whose settings were asked for.
    private(set) var questions: [String] = []

    func topics() throws(LogError) -> [TopicDescription] { described }

    func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool {
        guard !described.contains(where: { $0.name == name }) else { return false }
        described.append(
            TopicDescription(
                name: name, partitionCount: partitionCount, identity: "fake", replicaCount: 3))
        created[name] = settings
        return true
    }

    func settings(ofTopic name: String) throws(LogError) -> [String: String]? {
        questions.append(name)
        guard let found = settings[name] else {
            throw .backend(operation: "ask for settings in", address: address, detail: "no answer")
        }
        return found
    }

    func reader(topic: String, group: String?) throws(LogError) -> any LogReader {
        throw .unknownTopic(topic, address: address)
    }

    func writer() throws(LogError) -> any LogWriter {
        throw .noLog(address: address)
    }
}
