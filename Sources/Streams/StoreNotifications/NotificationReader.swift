import EventLog
import JSON
import Signatures

/// The notifications of version 2 that a reader looks for: those of an app, an environment and a period.
package struct NotificationScope: Sendable {
    package var bundleID: String
    package var environment: AppStoreEnvironment
    /// Of `signedDate`, in milliseconds since 1970.
    package var period: Range<Int64>

    package init(
        bundleID: String, environment: AppStoreEnvironment, period: Range<Int64>
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.period = period
    }
}

/// A notification of version 2 by its own claims.
package struct IdentifiedNotification: Sendable {
    /// The fault by which a worker would not trust a notification.
    package struct Distrust: Sendable, CustomStringConvertible {
        let member: StaticString
        let explanation: StaticString

        package var description: String { "\(member): \(explanation)" }
    }

    /// The id by which the fold recognises its repetitions.
    package let id: RecordID
    /// `notificationUUID`
    package let uuid: String
    /// `signedDate`, in milliseconds since 1970.
    package let signedAtMilliseconds: Int64
    package let bundleID: String
    package let environment: AppStoreEnvironment?
    /// Nil if its signatures verify under the rules, and its app and its environment count.
    package let distrust: Distrust?
}

/// Identifies and verifies notifications of version 2, on several threads.
package final class NotificationReader: Sendable {
    /// As for folding: verifying takes a fraction of a millisecond for each.
    private static let recordsPerChunk = 16

    private let decoders: LentTools<StoreNotificationsDecoder>

    package init(_ rules: StoreNotificationsRules, threadCount: Int) throws {
        decoders = LentTools(
            try StoreNotificationsDecoder.decoders(rules, threadCount: threadCount),
            label: "weir.notifications")
    }

    /// The notifications of the first `count` records of a batch that are in the scope; nil for all other records.
    package func notifications(
        in batch: RecordBatch, count: Int, _ scope: NotificationScope
    ) -> [IdentifiedNotification?] {
        let lent = LentBatch(batch: batch)
        let size = Self.recordsPerChunk
        return decoders.begin(chunks: (count + size - 1) / size) { decoder, chunk in
            (chunk * size..<min((chunk + 1) * size, count)).map {
                decoder.notification(lent.batch[$0], scope)
            }
        }.finish().flatMap(\.self)
    }

    /// The id of a notification of version 2, without verifying it; nil for other records.
    package func id(of record: RecordView) -> RecordID? {
        nonisolated(unsafe) let record = record
        return decoders.begin(chunks: 1) { decoder, _ in decoder.id(of: record) }.finish()[0]
    }

    /// The notifications of JWSs, in order; nil for texts that do not identify one.
    package func notifications(of texts: [[UInt8]]) -> [IdentifiedNotification?] {
        decoders.begin(chunks: texts.count) { decoder, index in
            texts[index].withUnsafeBytes { decoder.notification($0) }
        }.finish()
    }
}

extension StoreNotificationsDecoder {
    fileprivate func notification(
        _ record: RecordView, _ scope: NotificationScope
    ) -> IdentifiedNotification? {
        signedPayload(of: record).flatMap { notification($0, scope) }
    }

    fileprivate func id(of record: RecordView) -> RecordID? {
        guard let text = signedPayload(of: record),
            let payload = unverified(text, of: .notification, by: payloadParser),
            let uuid = payload.value.member("notificationUUID")?.string, !uuid.isEmpty
        else { return nil }
        return idOfVersion2(uuid)
    }

    private func signedPayload(of record: RecordView) -> UnsafeRawBufferPointer? {
        let envelope = Envelope<StoreNotificationsEventType>(record)
        guard envelope.type == .notificationV2,
            let value = try? envelope.value(
                of: record, parser: valueParser, maxRecordBytes: maxRecordBytes),
            let text = value.member("signedPayload")?.string
        else { return nil }
        return text
    }

    /// Nil for a text that is not a JWS with id and time of signing, and outside of the scope.
    fileprivate func notification(
        _ text: UnsafeRawBufferPointer, _ scope: NotificationScope? = nil
    ) -> IdentifiedNotification? {
        guard let payload = unverified(text, of: .notification, by: payloadParser),
            let signedAt = payload.signedAtMilliseconds,
            let uuid = payload.value.member("notificationUUID")?.string, !uuid.isEmpty
        else { return nil }
        if let scope {
            guard scope.period.contains(signedAt), payload.environment == scope.environment,
                payload.bundleID.map({ $0.elementsEqual(scope.bundleID.utf8) }) == true
            else { return nil }
        }
        // Verifying uses the parser again.
        let (id, uuidText) = (idOfVersion2(uuid), String(decoding: uuid, as: UTF8.self))
        let (environment, bundleID) = (
            payload.environment, payload.bundleID.map { String(decoding: $0, as: UTF8.self) }
        )
        return IdentifiedNotification(
            id: id, uuid: uuidText, signedAtMilliseconds: signedAt, bundleID: bundleID ?? "",
            environment: environment, distrust: distrust(text))
    }

    private func distrust(_ text: UnsafeRawBufferPointer) -> IdentifiedNotification.Distrust? {
        do throws(NotificationRefusal) {
            _ = try trusted(text)
            return nil
        } catch {
            switch error {
            case .untrusted(let member, let explanation):
                return .init(member: member, explanation: explanation)
            case .rejected: return nil
            }
        }
    }
}
