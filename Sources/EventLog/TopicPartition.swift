/// One partition of one topic.
public struct TopicPartition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Name of the topic.
    public var topic: String
    /// Number of the partition, from 0.
    public var partition: Int32

    /// Names a partition of a topic.
    public init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    /// `topic/partition`, for messages to people.
    public var description: String { "\(topic)/\(partition)" }

    /// Orders by topic, then by number.
    public static func < (left: TopicPartition, right: TopicPartition) -> Bool {
        (left.topic, left.partition) < (right.topic, right.partition)
    }
}
