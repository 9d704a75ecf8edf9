import Streams

/// A topic that workers write to, and create unless it is there: as its file in `topics/` describes it,
/// but for the number of partitions, which is that of the topic that is folded.
package struct EmittedTopic: Equatable, Sendable {
    /// Name of the topic.
    package let name: String
    /// Its settings, by Kafka's names.
    package let settings: [String: String]

    /// What partners get. A document has what the postback had, and what its JWS says, beside it.
    package static func partnerPostbacks(named name: String) -> EmittedTopic {
        EmittedTopic(name, retentionDays: 90, maxMessageBytes: 4 << 20)
    }

    /// What a stream's worker rejected of a topic.
    ///
    /// Records come with headers more than they had, and may be as large as their topic allows.
    package static func deadLetters(
        ofTopic topic: String, stream: any StreamFold.Type
    ) -> EmittedTopic {
        EmittedTopic(
            "\(topic).dlq", retentionDays: stream.rejectedRetentionDays, maxMessageBytes: 4 << 20)
    }

    private init(_ name: String, retentionDays: Int64, maxMessageBytes: Int) {
        self.name = name
        settings = [
            "cleanup.policy": "delete",
            "retention.ms": "\(retentionDays * 86_400_000)",
            "max.message.bytes": "\(maxMessageBytes)",
            "message.timestamp.type": "LogAppendTime",
        ]
    }
}
