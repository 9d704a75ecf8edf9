import EventLog
import Streams

extension ConversionUpdate {
    /// The event as a record of a topic, keyed by the install.
    package func record(topic: String) throws -> OutgoingRecord {
        OutgoingRecord(
            topic: topic, key: Array(installID.utf8),
            headers: [
                .init("ce_specversion", "1.0"), .init("ce_type", Self.type), .init("ce_id", id),
                .init("ce_source", "/apps/\(appID)"),
                .init("ce_time", UTC.text(milliseconds: receivedAtMilliseconds)),
                .init("content-type", "application/json"),
            ], value: try json())
    }
}
