import JSON
import Signatures

package struct KeyedNotification: Equatable, Sendable {
    package let type: String
    /// The id of its line, otherwise its own; nil if both are missing: then the value determines the partition.
    package let key: [UInt8]?
}

extension RecordKeyReader {
    /// The version and the key of a notification. Nothing is verified here: the worker rejects an invalid JWS, or one
    /// without these ids, as untrusted.
    package func notification(_ bytes: [UInt8]) throws(Rejection) -> KeyedNotification {
        try read(bytes) { value throws(Rejection) in
            if let payload = value.member("signedPayload") {
                guard let text = payload.string else {
                    throw Rejection(.wrongType, "signedPayload is not a string")
                }
                return KeyedNotification(
                    type: "\(StoreNotificationsEventType.notificationV2.name)",
                    key: notifications.keyOfVersion2(text))
            }
            guard value.member("notification_type") != nil else {
                throw Rejection(
                    .missingField, "there is neither signedPayload nor notification_type")
            }
            return KeyedNotification(
                type: "\(StoreNotificationsEventType.notificationV1.name)",
                key: notifications.keyOfVersion1(value))
        }
    }
}

extension StoreNotificationsDecoder {
    /// The line of the transaction within a notification of version 2, otherwise the notification's own id; nil if both
    /// are missing.
    fileprivate func keyOfVersion2(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let payload = unverified(text, of: .notification, by: payloadParser) else {
            return nil
        }
        if let inner = payload.jws(.transaction)?.string,
            let transaction = unverified(inner, of: .inner(.transaction), by: transactionParser),
            let line = transactionID(transaction.value, "originalTransactionId")
        {
            return line.keyBytes
        }
        let id = payload.value.member("notificationUUID")?.string
        return id.flatMap { $0.isEmpty ? nil : Array($0) }
    }

    /// The line of a body of version 1; nil if missing.
    fileprivate func keyOfVersion1(_ value: JSONValue) -> [UInt8]? {
        faults = FieldFaults()
        let type = value.member("notification_type")?.string
        let subject = subjectV1(
            value, type: type ?? UnsafeRawBufferPointer(start: nil, count: 0))
        return (subject.line ?? subject.decisive?.transactionID)?.keyBytes
    }
}

extension TransactionID {
    /// The id as a key; equal for a number and the text of its digits.
    fileprivate var keyBytes: [UInt8] {
        switch self {
        case .number(let number): Array("\(number)".utf8)
        case .text(let text): text
        }
    }
}
