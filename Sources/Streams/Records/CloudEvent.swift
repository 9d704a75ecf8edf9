import EventLog

/// The envelope of a record that Weir appends: CloudEvents 1.0, Kafka binding, binary mode.
/// https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md
package struct CloudEvent: Sendable {
    /// `ce_type`
    package var type: String
    /// `ce_id`, unique within the source.
    package var id: String
    /// `ce_source`
    package var source: String
    /// `ce_time`: when it happened or was received.
    package var time: String

    private static let version = OutgoingRecord.Header("ce_specversion", "1.0")
    private static let contentType = OutgoingRecord.Header("content-type", "application/json")

    package init(type: String, id: String, source: String, time: String) {
        self.type = type
        self.id = id
        self.source = source
        self.time = time
    }

    /// The headers of a record with a JSON value.
    ///
    /// - Parameter via: the route of a postback (`ce_via`); nil for other records.
    package func headers(via: PostbackRoute? = nil) -> [OutgoingRecord.Header] {
        var headers: [OutgoingRecord.Header] = [
            Self.version, .init("ce_type", type), .init("ce_id", id), .init("ce_source", source),
            .init("ce_time", time), Self.contentType,
        ]
        if let via { headers.append(.init("ce_via", "\(via.name)")) }
        return headers
    }
}
