/// Where a record lies in a log, as people and headers write it: `topic/partition/offset`.
package struct RecordAddress: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Name of the topic.
    package var topic: String
    /// Number of the partition, from 0.
    package var partition: Int32
    /// Offset within the partition.
    package var offset: Int64

    /// Names a place.
    package init(topic: String, partition: Int32, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }

    /// Reads `topic/partition/offset`; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, let partition = Int32(parts[1]),
            let offset = Int64(parts[2]), partition >= 0, offset >= 0
        else { return nil }
        self.init(topic: String(parts[0]), partition: partition, offset: offset)
        // A sign or a leading zero would be another name of the same place.
        guard description == text else { return nil }
    }

    /// `topic/partition/offset`.
    package var description: String { "\(topic)/\(partition)/\(offset)" }

    /// Orders by topic, then by partition, then by offset.
    package static func < (left: RecordAddress, right: RecordAddress) -> Bool {
        (left.topic, left.partition, left.offset) < (right.topic, right.partition, right.offset)
    }
}
