import JSON
import Program
import Reports
import Signatures
import Streams

/// Verifies single documents: postbacks as the worker does, ads, and notifications of the App
/// Store.
package final class DocumentVerifier {
    private let trustedKeys: TrustedKeys
    private let adKeys: [VerificationKey]
    private let catalogKeys: [String: [VerificationKey]]
    private let isRelayed: Bool
    private let parser: JSONParser
    private let notifications: NotificationReading

    /// - Parameters:
    ///   - trustedKeys: for postbacks.
    ///   - adKeys: accepted keys for any ad; if empty, those of the catalog count.
    ///   - catalogKeys: keys of networks, by network id in lower case.
    ///   - notifications: the trust in App Store notifications.
    ///   - isRelayed: whether postbacks came through a relay.
    package init(
        trustedKeys: TrustedKeys, adKeys: [VerificationKey] = [],
        catalogKeys: [String: [VerificationKey]] = [:],
        notifications: NotificationTrust = NotificationTrust(), isRelayed: Bool = false
    ) throws(CommandError) {
        guard let parser = JSONParser(), let payloadParser = JSONParser(),
            let innerParser = JSONParser()
        else {
            throw .failure("no memory for a JSON parser")
        }
        self.trustedKeys = trustedKeys
        self.adKeys = adKeys
        self.catalogKeys = catalogKeys
        self.isRelayed = isRelayed
        self.parser = parser
        self.notifications = NotificationReading(
            trust: notifications, parser: payloadParser, innerParser: innerParser)
    }

    /// Determines the kind of a document, and judges its signature. In a record's line, as for `weir publish`, the
    /// value is the document, and `ce_via` indicates a relay.
    package func verify(_ text: UnsafeRawBufferPointer) -> SignedDocument {
        let line = try? RecordLine.record(text, topic: "", partitionCount: .max)
        guard let line, let value = line.value else {
            return verify(text, isRelayed: isRelayed)
        }
        let via = line.headers.first { $0.name == "ce_via" }?.value
        return value.withUnsafeBytes { value in
            verify(value, isRelayed: isRelayed || via == Array("relay".utf8))
        }
    }

    private func verify(_ text: UnsafeRawBufferPointer, isRelayed: Bool) -> SignedDocument {
        if DocumentSequence.isJWS(text) { return notifications.document(text) }
        let value: JSONValue
        do throws(JSONFault) {
            value = try parser.parse(text)
        } catch {
            // The worker's own explanation for invalid JSON.
            return postback(text, .skAdNetwork, title: "document", isRelayed: isRelayed)
        }
        guard let wrapped = value.member("postback"), wrapped.isObject else {
            return verify(value, text, kind: nil, key: nil, isRelayed: isRelayed)
        }
        let kind = value.member("kind")?.string.map { String(decoding: $0, as: UTF8.self) }
        let key = value.member("public_key")?.string.map { String(decoding: $0, as: UTF8.self) }
        return verify(
            wrapped, Self.postback(in: text), kind: kind.flatMap(SignedDocumentKind.init),
            key: key.flatMap(VerificationKey.init(base64:)), isRelayed: isRelayed)
    }

    private func verify(
        _ value: JSONValue, _ text: UnsafeRawBufferPointer, kind: SignedDocumentKind?,
        key: VerificationKey?, isRelayed: Bool
    ) -> SignedDocument {
        let ad = value.member("ext")?.member("skadn") ?? value
        let kind = kind ?? SignedDocumentKind(of: ad)
        switch kind {
        case .skAdNetworkPostback:
            return postback(text, .skAdNetwork, title: kind.title, isRelayed: isRelayed)
        case .adAttributionKitPostback:
            return postback(text, .adAttributionKit, title: kind.title, isRelayed: isRelayed)
        case .notificationV1: return notifications.version1(value, text: text)
        case .notificationV2: return notifications.version2(value)
        case .adSignature:
            guard let form = AdSignatureForm(of: ad) else {
                return SignedDocument(
                    title: kind.title,
                    rejected: Rejection(.missingField, "the network's id is missing"))
            }
            let network = AdSignatureReading.network(of: ad) ?? ""
            let keys = adKeys.isEmpty ? key.map { [$0] } ?? catalogKeys[network] ?? [] : adKeys
            let findings = AdSignatureReading(document: ad, form: form, keys: keys)
                .findings()
            return SignedDocument(title: kind.title, findings: findings)
        }
    }

    private func postback(
        _ text: UnsafeRawBufferPointer, _ framework: PostbacksEventType, title: String,
        isRelayed: Bool
    ) -> SignedDocument {
        do throws(Rejection) {
            let inspection = try PostbackInspection.inspect(
                text, framework: framework, isRelayed: isRelayed, keys: trustedKeys)
            return SignedDocument(
                title: title, findings: inspection.map { [.judged(judgement($0, isRelayed))] } ?? []
            )
        } catch {
            return SignedDocument(title: title, rejected: error)
        }
    }

    private func judgement(
        _ inspection: PostbackInspection, _ isRelayed: Bool
    ) -> SignedDocument.Judgement {
        SignedDocument.Judgement(
            verdict: inspection.verdict, form: isRelayed ? inspection.form : nil,
            signed: inspection.signedFields, unsigned: inspection.unsignedFields)
    }

    /// The bytes of the first member `postback` of a document, which must be an object.
    private static func postback(in text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var scanner = JSONScanner(text)
        scanner.skipSpace()
        let names = scanner
        var found: Range<Int>?
        _ = try? scanner.skipObject { (name, value) throws(Never) in
            if found == nil, names.isString(name, "postback") { found = value }
        }
        return UnsafeRawBufferPointer(rebasing: text[found ?? 0..<text.count])
    }
}

/// The JSON documents of a file: one over many lines, or many in sequence.
///
/// A JWS on its own line is a document. Text that is not JSON is one too: up to the end of its line if the line looks
/// like a whole document, otherwise up to the end of the file.
package struct DocumentSequence: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package mutating func next() -> UnsafeRawBufferPointer? {
        var scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: bytes[position...]))
        scanner.skipSpace()
        let start = position + scanner.position
        guard start < bytes.count else { return nil }
        let isWhole = (try? scanner.skipValue()) != nil
        let end = isWhole ? position + scanner.position : faultyEnd(from: start)
        position = end
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }

    private func faultyEnd(from start: Int) -> Int {
        let line = bytes[start...].prefix { $0 != 0x0A && $0 != 0x0D }
        let isOneLine = line.first == UInt8(ascii: "{") && line.last == UInt8(ascii: "}")
        let isWhole = isOneLine || Self.isJWS(UnsafeRawBufferPointer(rebasing: line))
        return isWhole ? line.endIndex : bytes.count
    }

    /// Whether a text looks like a compact JWS: three parts in the digits of base64url.
    static func isJWS(_ text: UnsafeRawBufferPointer) -> Bool {
        var dots = 0
        for byte in text {
            switch byte {
            case UInt8(ascii: "."): dots += 1
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                continue
            default: return false
            }
        }
        return dots == 2
    }
}

extension ReportConfiguration {
    /// Verifies single documents with Apple's keys and those of the configuration.
    ///
    /// - Parameters:
    ///   - adKeys: accepted keys for any ad; if empty, those of the catalog count.
    ///   - isRelayed: whether postbacks came through a relay.
    package func verifier(
        adKeys: [VerificationKey] = [], isRelayed: Bool = false
    ) throws -> DocumentVerifier {
        guard directory.exists else {
            return try DocumentVerifier(
                trustedKeys: Self.applesKeys(), adKeys: adKeys, isRelayed: isRelayed)
        }
        return try DocumentVerifier(
            trustedKeys: PostbacksFold.trustedKeys(in: directory),
            adKeys: adKeys, catalogKeys: BidsFold.adSigningKeys(of: directory.catalog()),
            notifications: NotificationTrust(configured: directory), isRelayed: isRelayed)
    }

    private static func applesKeys() throws -> TrustedKeys {
        do throws(TrustedKeysError) {
            return try TrustedKeys()
        } catch {
            throw CommandError.failure(error.description)
        }
    }
}
