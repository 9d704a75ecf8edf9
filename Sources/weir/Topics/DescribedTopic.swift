/// A topic as a file of the topics directory describes it.
struct DescribedTopic: Equatable {
    /// Name of the topic.
    var name: String
    /// Number of its partitions.
    var partitionCount: Int32
    /// Settings of the topic by Kafka's names, as they are written.
    var settings: [String: String]
    /// The file that describes it.
    var file: String
}
