import Streams

/// A topic that workers write to, and create if it is missing: as described by its file in `topics/`, except for the
/// number of partitions, which is that of the folded topic.
package struct EmittedTopic: Equatable, Sendable {
    package let name: String
    /// Its settings, by Kafka's names.
    package let settings: [String: String]

    /// Documents for partners. A document has the fields of the postback and those of its JWS.
    package static func partnerPostbacks(named name: String) -> EmittedTopic {
        EmittedTopic(name, retentionDays: 90, maxMessageBytes: 4 << 20)
    }

    /// Records of a topic that a stream's worker rejected.
    ///
    /// Records have additional headers, and may be as large as their topic allows.
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
