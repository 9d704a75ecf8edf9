import EventLog
import HTTPTypes
import Streams
import Synchronization

extension CloudEvent {
    private static let idHeader = HTTPField.Name("ce-id")
    private static let sourceHeader = HTTPField.Name("ce-source")
    private static let timeHeader = HTTPField.Name("ce-time")

    /// Uses `ce-id`, `ce-source` and `ce-time` from the request's headers. Without them, the id is new, the source is
    /// the path, and the time is that of the request.
    init(type: String, request: CollectorRequest) {
        self.init(
            type: type, id: Self.text(request.header(Self.idHeader)) ?? Self.nextID(),
            source: Self.text(request.header(Self.sourceHeader)) ?? request.path,
            time: Self.text(request.header(Self.timeHeader))
                ?? UTC.text(milliseconds: request.receivedAtMilliseconds))
    }

    /// A header's text, if it is 1 to 256 visible ASCII characters.
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

/// A pool of key readers. Each is used by one thread at a time.
final class KeyReaders: Sendable {
    private let idle = Mutex<[RecordKeyReader]>([])

    /// Throws errors of `body`, and `overflow` if memory for another reader is exhausted.
    func read<Answer>(
        _ body: (RecordKeyReader) throws(Rejection) -> Answer
    ) throws(Rejection) -> Answer {
        guard let reader = idle.withLock({ $0.popLast() }) ?? RecordKeyReader() else {
            throw .overflow
        }
        defer { idle.withLock { $0.append(reader) } }
        return try body(reader)
    }

    /// The records of an event, each with its key and envelope. Throws the reason if a worker would reject the event.
    func records(
        of event: [UInt8], _ stream: any StreamFold.Type, type: String, _ request: CollectorRequest
    ) throws(Rejection) -> [OutgoingRecord] {
        let keyed = try read { reader throws(Rejection) in
            try reader.events(
                event, stream: stream, type: type, at: request.receivedAtMilliseconds)
        }
        return keyed.map { one in
            OutgoingRecord(
                topic: stream.streamName, key: one.key,
                headers: CloudEvent(type: type, request: request).headers(),
                value: one.value ?? event)
        }
    }
}

extension DurableAppender {
    /// `response` once the records are durable.
    func answer(
        _ records: [OutgoingRecord], _ response: CollectorResponse = CollectorResponse(status: 200)
    ) async throws(AppendRefusal) -> CollectorResponse {
        _ = try await append(records)
        return response
    }
}
