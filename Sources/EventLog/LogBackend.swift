/// A topic as the log knows it.
package struct TopicDescription: Equatable, Sendable {
    /// Name of the topic.
    package var name: String
    /// Number of its partitions.
    package var partitionCount: Int32
    /// What tells it from a topic of the same name that was deleted and created again.
    package var identity: String
    /// How many copies each partition has; nil where a log has none but itself.
    package var replicaCount: Int32?
    /// Whether it is an archive: a copy of the topic of another log, of which nothing is published.
    package var isArchive: Bool

    /// Describes a topic.
    package init(
        name: String, partitionCount: Int32, identity: String, replicaCount: Int32? = nil,
        isArchive: Bool = false
    ) {
        self.name = name
        self.partitionCount = partitionCount
        self.identity = identity
        self.replicaCount = replicaCount
        self.isArchive = isArchive
    }
}

/// An event log: topics with partitions, append-only. One backend each for SQLite and for Kafka.
package protocol LogBackend: AnyObject {
    /// The address that it was opened with, for messages to people.
    var address: String { get }

    /// The topics of the log, by name in bytewise order.
    func topics() throws(LogError) -> [TopicDescription]

    /// Creates a topic unless it exists; says whether it was created. An existing topic is left as it
    /// is.
    ///
    /// - Parameter settings: by Kafka's names, and `replicas`; the embedded log has no use for them.
    @discardableResult
    func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool

    /// The settings of a topic by Kafka's names; nil where the log has none.
    func settings(ofTopic name: String) throws(LogError) -> [String: String]?

    /// A reader of one topic. Throws `unknownTopic` when it does not exist.
    ///
    /// - Parameter group: the consumer group whose offsets it reads and commits; nil for a reader that
    ///   only looks.
    func reader(topic: String, group: String?) throws(LogError) -> any LogReader

    /// A reader that looks at single records, and fetches little beside them. Throws `unknownTopic`.
    func lookingReader(topic: String) throws(LogError) -> any LogReader

    /// A writer to all topics.
    func writer() throws(LogError) -> any LogWriter
}

extension LogBackend {
    /// Creates a topic with the settings that the log gives it by itself.
    @discardableResult
    package func createTopic(_ name: String, partitionCount: Int32) throws(LogError) -> Bool {
        try createTopic(name, partitionCount: partitionCount, settings: [:])
    }

    /// Where nothing is fetched ahead, any reader will do.
    package func lookingReader(topic: String) throws(LogError) -> any LogReader {
        try reader(topic: topic, group: nil)
    }

    /// A reader that only looks.
    package func reader(topic: String) throws(LogError) -> any LogReader {
        try reader(topic: topic, group: nil)
    }
}
