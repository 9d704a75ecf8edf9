import EventLog
import Streams
import Synchronization

/// The envelope of a record: CloudEvents 1.0, Kafka binding, binary mode.
package struct CloudEvent: Sendable {
    /// The type (`ce_type`).
    package var type: String
    /// What tells it from others of the same source (`ce_id`).
    package var id: String
    /// Where it comes from (`ce_source`).
    package var source: String
    /// When it happened, or came (`ce_time`).
    package var time: String

    /// The envelope of what a request brought: an id of its own, the path, and when it came; what
    /// the request says of itself (`ce-id`, `ce-source`, `ce-time`) goes first.
    package init(type: String, request: CollectorRequest) {
        self.type = type
        id = Self.text(request.header("ce-id")) ?? Self.nextID()
        source = Self.text(request.header("ce-source")) ?? request.path
        time =
            Self.text(request.header("ce-time"))
            ?? UTC.text(milliseconds: request.receivedAtMilliseconds)
    }

    /// The headers of a record, whose value is JSON.
    ///
    /// - Parameter via: how a postback came (`ce_via`); nil for everything else.
    package func headers(via: PostbackRoute? = nil) -> [OutgoingRecord.Header] {
        var headers: [OutgoingRecord.Header] = [
            .init("ce_specversion", "1.0"), .init("ce_type", type), .init("ce_id", id),
            .init("ce_source", source), .init("ce_time", time),
            .init("content-type", "application/json"),
        ]
        if let via { headers.append(.init("ce_via", "\(via.name)")) }
        return headers
    }

    /// What a request says of itself, where that is something one can print.
    private static func text(_ text: String?) -> String? {
        guard let text, (1...256).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return text
    }

    private static let prefix = String(UInt64.random(in: .min ... .max), radix: 36)
    private static let count = Atomic<UInt64>(0)

    private static func nextID() -> String {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        return "\(prefix)-\(String(number, radix: 36))"
    }
}
