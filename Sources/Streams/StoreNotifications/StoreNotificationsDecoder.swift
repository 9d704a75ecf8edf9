import EventLog
import JSON
import Signatures
import Synchronization

/// Verifies and decodes notifications of both versions, and receipts, in chunks of records.
///
/// The checks of trust precede all others: an untrusted record is not judged further.
///
/// `@unchecked Sendable`: only one thread at a time uses a decoder, the borrower from `LentTools`.
package final class StoreNotificationsDecoder: @unchecked Sendable {
    let trust: StoreNotificationsTrust
    let maxRecordBytes: Int
    let valueParser: JSONParser
    /// Nested payloads are read while the outer ones are still in use.
    let payloadParser: JSONParser
    let transactionParser: JSONParser
    let renewalParser: JSONParser

    /// The texts of the chunk's events.
    private(set) var bytes: [UInt8] = []
    var faults = FieldFaults()
    var idBuilder = RecordIDBuilder()

    /// - Parameter maxRecordBytes: longer values are rejected.
    /// - Returns: nil without memory for the parsers.
    package init?(trust: StoreNotificationsTrust, maxRecordBytes: Int) {
        guard let value = JSONParser(), let payload = JSONParser(), let transaction = JSONParser(),
            let renewal = JSONParser()
        else { return nil }
        self.trust = trust
        self.maxRecordBytes = maxRecordBytes
        valueParser = value
        payloadParser = payload
        transactionParser = transaction
        renewalParser = renewal
    }

    func decode(_ batch: RecordBatch, _ range: Range<Int>) -> NotificationChunk {
        bytes = []
        var items: [NotificationChunk.Item] = []
        items.reserveCapacity(range.count)
        for index in range {
            let record = batch[index]
            let envelope = Envelope<StoreNotificationsEventType>(record)
            var item = NotificationChunk.Item(
                countedType: envelope.countedType, event: .failure(.rejected(.overflow)))
            do throws(NotificationRefusal) {
                item.event = .success(try event(record, envelope))
            } catch {
                item.event = .failure(error)
            }
            items.append(item)
        }
        return NotificationChunk(bytes: bytes, items: items)
    }

    private func event(
        _ record: RecordView, _ envelope: Envelope<StoreNotificationsEventType>
    ) throws(NotificationRefusal) -> StoreNotificationsEvent {
        faults = FieldFaults()
        let value: JSONValue
        do {
            value = try envelope.value(
                of: record, parser: valueParser, maxRecordBytes: maxRecordBytes)
        } catch {
            throw .rejected(error)
        }
        let event =
            switch envelope.type ?? .byDefault {
            case .notificationV2: try notificationV2(value)
            case .notificationV1: try notificationV1(value)
            case .receipt: try receipt(value, of: record)
            }
        if let rejection = faults.rejection { throw .rejected(rejection) }
        return event
    }

    /// One decoder for each thread, at least one.
    static func decoders(
        _ rules: StoreNotificationsRules, threadCount: Int
    ) throws(NoMemory) -> [StoreNotificationsDecoder] {
        let trust = rules.trust
        var decoders: [StoreNotificationsDecoder] = []
        for _ in 0..<max(1, threadCount) {
            guard
                let decoder = StoreNotificationsDecoder(
                    trust: trust, maxRecordBytes: rules.maxRecordBytes)
            else { throw NoMemory(for: "a JSON parser") }
            decoders.append(decoder)
        }
        return decoders
    }

    func keep(_ text: UnsafeRawBufferPointer?) -> Range<Int> {
        let start = bytes.count
        if let text { bytes.append(contentsOf: text) }
        return start..<bytes.count
    }

    /// Keeps an offer's name: its kind, a colon and its id.
    func keepOffer(_ kind: StaticString, _ id: UnsafeRawBufferPointer?) -> Range<Int> {
        let start = bytes.count
        bytes.append(
            contentsOf: UnsafeRawBufferPointer(
                start: kind.utf8Start, count: kind.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: ":"))
        if let id { bytes.append(contentsOf: id) }
        return start..<bytes.count
    }

    func keep(_ text: StaticString) -> Range<Int> {
        keep(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// An id of a transaction or a line; nil if missing, empty or faulty. A text may have any length.
    func transactionID(_ object: JSONValue, _ name: StaticString) -> TransactionID? {
        guard let value = object.member(name) else { return nil }
        if let text = value.string { return text.isEmpty ? nil : TransactionID(text) }
        guard value.number != nil else {
            faults.reportNoNumberOrText(value, name)
            return nil
        }
        return faults.identifier(value, name).map { .number($0) }
    }

    /// The first non-empty text among the members; nil if another value precedes it.
    static func firstText(_ members: [JSONValue?]) -> UnsafeRawBufferPointer? {
        members.lazy.compactMap { $0 }.first { $0.string?.isEmpty != true }?.string
    }

    /// Adds an optional id to the record's id, after its kind, because eight letters have the bytes of a number too.
    func addToID(_ transactionID: TransactionID?) {
        switch transactionID {
        case .number(let number)?:
            idBuilder.add("number")
            idBuilder.add(number)
        case .text(let text)?:
            idBuilder.add("text")
            text.withUnsafeBytes { idBuilder.add($0) }
        case nil: idBuilder.add("")
        }
    }

    func addToID(_ number: Int64?) {
        if let number { idBuilder.add(number) } else { idBuilder.add("") }
    }
}

extension FieldFaults {
    /// A member that is a numeric identifier; nil for other values. Reports no faults, because the record is not
    /// trusted yet.
    static func identifier(_ value: JSONValue?) -> Int64? {
        guard let value else { return nil }
        if case .exact(let number)? = value.number?.asInteger { return number }
        if let text = value.string, case .number(let number) = Digits(text) { return number }
        return nil
    }
}

/// A batch of notifications that is being verified and decoded.
package final class PreparedNotifications: PreparedBatch {
    /// A record takes a fraction of a millisecond, mostly for signatures: long relative to the cost of a chunk, short
    /// relative to a batch.
    private static let recordsPerChunk = 16

    package let batch: RecordBatch
    private let run: ConcurrentChunks<NotificationChunk>
    /// Waits for the verification.
    private lazy var chunks = run.finish()

    init(
        _ batch: RecordBatch, decoders: LentTools<StoreNotificationsDecoder>
    ) {
        self.batch = batch
        let lent = LentBatch(batch: batch)
        let count = batch.count
        run = decoders.begin(
            chunks: (count + Self.recordsPerChunk - 1) / Self.recordsPerChunk
        ) { decoder, chunk in
            let start = chunk * Self.recordsPerChunk
            return decoder.decode(lent.batch, start..<min(start + Self.recordsPerChunk, count))
        }
    }

    deinit {
        // Threads must finish reading the batch before it is filled again.
        _ = run.finish()
    }

    /// The number of verified records, with any result.
    var verifications: Int {
        chunks.reduce(0) { sum, chunk in
            sum
                + chunk.items.count { item in
                    if case .failure(.rejected) = item.event { false } else { true }
                }
        }
    }

    /// A decoded record, and the texts of its event.
    func item(_ index: Int) -> (item: NotificationChunk.Item, bytes: [UInt8]) {
        let chunk = chunks[index / Self.recordsPerChunk]
        return (chunk.items[index % Self.recordsPerChunk], chunk.bytes)
    }
}

/// A batch that several threads read.
///
/// `@unchecked Sendable`: a prepared batch does not change until it is folded. Folding or dropping it waits for the
/// threads.
struct LentBatch: @unchecked Sendable {
    let batch: RecordBatch
}
