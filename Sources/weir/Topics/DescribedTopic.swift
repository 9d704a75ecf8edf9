/// A topic as a file of the topics directory describes it.
struct DescribedTopic: Equatable {
    /// Name of the topic.
    var name: String
    /// Number of its partitions.
    var partitionCount: Int32
    /// How many copies of each partition a cluster keeps; nil: as it is set to.
    var replicaCount: Int32?
    /// Settings of the topic by Kafka's names, as they are written.
    var settings: [String: String]
    /// The file that describes it.
    var file: String

    /// The settings, and how many replicas, as a log takes them.
    var creationSettings: [String: String] {
        var settings = settings
        settings["replicas"] = replicaCount.map { "\($0)" }
        return settings
    }
}
