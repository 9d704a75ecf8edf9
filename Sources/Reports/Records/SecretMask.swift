import EventLog
import JSON

/// Hides the secrets of store notifications in printed records: shared secrets and receipts, which would allow queries
/// to Apple about a customer.
///
/// `signedPayload` is not hidden: a JWS proves its origin and does not give access.
package struct SecretMask {
    /// Replaces a hidden value.
    package static let replacement = "\"***\""
    /// The header that marks a printed record with hidden values.
    package static let header = "weir_masked"

    /// Members with hidden values, of any type and at any depth.
    private static let secretNames = [
        "password", "latest_receipt", "receipt-data", "latest_expired_receipt",
    ]
    /// Lowercase words that hide a non-JSON text as a whole.
    private static let secretWords = ["password", "receipt", "\\u"].map { Array($0.utf8) }
    /// Members that identify a notification of version 1; hardly any other object has both.
    private static let notificationNames = ["password", "notification_type"]
    /// Topics in which every record is masked.
    private static let topics = ["store-notifications", "store-notifications.dlq"]
    private static let typePrefix = "appstore."

    private let isOfTopic: Bool

    /// Masks records of a topic. In the default topics of notifications all are masked. Configuration can rename these
    /// topics, so in others records are masked by their type or content.
    package init(topic: String) {
        isOfTopic = Self.topics.contains(topic)
    }

    /// The value of a record with its secrets hidden; nil when there is nothing to hide.
    package func masked(_ record: RecordView) -> [UInt8]? {
        guard let value = record.value else { return nil }
        let type = record.headers.first(named: "ce_type")
        guard
            isOfTopic || type?.starts(with: Self.typePrefix.utf8) == true
                || Self.looksLikeNotification(value)
        else { return nil }
        return Self.masked(value)
    }

    /// Whether a value contains all members that identify a notification of version 1: as JSON, within it, or as JSON
    /// in a string.
    private static func looksLikeNotification(_ value: UnsafeRawBufferPointer) -> Bool {
        if notificationNames.allSatisfy({ contains(value, $0) }) { return true }
        // An escape may represent a letter of a name.
        guard contains(value, "\\u"), isWholeJSON(value) else { return false }
        var scanner = JSONScanner(value)
        var missing = notificationNames
        while !missing.isEmpty, scanner.skipToString() {
            guard let string = try? scanner.skipValue() else { break }
            guard scanner.skipToMemberValue() else { continue }
            let strings = scanner
            missing.removeAll { strings.isString(string, $0) }
        }
        return missing.isEmpty
    }

    private static func contains(_ bytes: UnsafeRawBufferPointer, _ word: String) -> Bool {
        bytes.firstRange(of: word.utf8) != nil
    }

    private static func isWholeJSON(_ value: UnsafeRawBufferPointer) -> Bool {
        var scanner = JSONScanner(value)
        scanner.skipSpace()
        guard (try? scanner.skipValue()) != nil else { return false }
        scanner.skipSpace()
        return scanner.isAtEnd && RecordLine.isUTF8(value)
    }

    /// A value with its secrets hidden; nil when there is nothing to hide.
    ///
    /// All other bytes stay unchanged. A text that is not JSON is hidden as a whole when it may contain a secret.
    package static func masked(_ value: UnsafeRawBufferPointer) -> [UInt8]? {
        guard isWholeJSON(value) else {
            return mayHoldSecret(value) ? Array("***".utf8) : nil
        }
        return maskedJSON(value)
    }

    /// Scans valid JSON string by string. A string before a colon is a member name.
    private static func maskedJSON(_ json: UnsafeRawBufferPointer) -> [UInt8]? {
        var scanner = JSONScanner(json)
        var masked: [UInt8] = []
        var copied = 0
        while scanner.skipToString() {
            guard let string = try? scanner.skipValue() else { break }
            var hidden: Range<Int>?
            if scanner.skipToMemberValue() {
                let strings = scanner
                guard secretNames.contains(where: { strings.isString(string, $0) }) else {
                    continue
                }
                hidden = try? scanner.skipValue()
            } else if holdsNotification(scanner, string) {
                hidden = string
            }
            guard let hidden else { continue }
            masked.append(contentsOf: json[copied..<hidden.lowerBound])
            masked.append(contentsOf: replacement.utf8)
            copied = hidden.upperBound
        }
        guard copied > 0 else { return nil }
        masked.append(contentsOf: json[copied...])
        return masked
    }

    /// Whether a string contains the text of an object or array that may have a secret: some queues wrap their
    /// messages.
    private static func holdsNotification(_ scanner: JSONScanner, _ string: Range<Int>) -> Bool {
        guard let text = scanner.string(string) else { return false }
        let first = text.first { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return false }
        return text.withUnsafeBytes(mayHoldSecret)
    }

    /// Whether a text contains one of the words, in any case, with or without zeros between the letters (UTF-16). An
    /// escape may represent a letter.
    private static func mayHoldSecret(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let text = bytes.filter { $0 != 0 }.map { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        return text.indices.contains { index in
            secretWords.contains { text[index...].starts(with: $0) }
        }
    }
}
