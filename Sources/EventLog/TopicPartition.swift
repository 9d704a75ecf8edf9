/// One partition of one topic.
package struct TopicPartition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Name of the topic.
    package var topic: String
    /// Number of the partition, from 0.
    package var partition: Int32

    /// Names a partition of a topic.
    package init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    /// `topic/partition`, for messages to people.
    package var description: String { "\(topic)/\(partition)" }

    /// Orders by topic, then by number.
    package static func < (left: TopicPartition, right: TopicPartition) -> Bool {
        (left.topic, left.partition) < (right.topic, right.partition)
    }
}
