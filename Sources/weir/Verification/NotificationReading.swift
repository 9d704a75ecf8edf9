import Attestation
import JSONReader
import Streams

/// Reads notifications of the App Store, judges what is signed in them, and lists their fields.
struct NotificationReading {
    private let trust: NotificationTrust
    /// For payloads, one at a time.
    private let parser: JSONParser
    /// For those within a payload that is still in use.
    private let innerParser: JSONParser

    init(trust: NotificationTrust, parser: JSONParser, innerParser: JSONParser) {
        self.trust = trust
        self.parser = parser
        self.innerParser = innerParser
    }

    /// The body of version 2: a finding for the notification and one for each JWS in it.
    func version2(_ body: JSONValue) -> SignedDocument {
        let title = SignedDocumentKind.notificationV2.title
        guard let payload = body.member("signedPayload") else {
            let rejection = Rejection(.missingField, "signedPayload is missing")
            return SignedDocument(title: title, findings: [.rejected(rejection)])
        }
        guard let text = payload.string else {
            let rejection = Rejection(.wrongType, "signedPayload is not a string")
            return SignedDocument(title: title, findings: [.rejected(rejection)])
        }
        var seen: Set<String> = ["signedPayload"]
        return document(
            text, of: .notification, unsigned: SignedField.members(of: body, notIn: &seen))
    }

    /// A JWS that stands alone: a notification, a transaction, or what else the App Store signs.
    func document(
        _ jws: UnsafeRawBufferPointer, of kind: AppStorePayload.Kind? = nil,
        unsigned: [SignedField] = []
    ) -> SignedDocument {
        var (judgement, payload) = read(jws, of: kind, part: "notification", by: parser)
        judgement.unsigned = unsigned
        guard let payload, case .notification = kind ?? Self.kind(of: payload.value) else {
            judgement.part = kind.map { _ in "notification" }
            let title = kind.map { _ in SignedDocumentKind.notificationV2.title }
            return SignedDocument(
                title: title ?? "App Store JWS", findings: [.judged(judgement)])
        }
        judgement.note = note(on: payload, judgement.verdict)
        let inner = InnerJWS.allCases.compactMap { kind in
            payload.jws(kind).map { judged($0, kind, within: payload) }
        }
        return SignedDocument(
            title: SignedDocumentKind.notificationV2.title,
            findings: ([judgement] + inner).map { .judged($0) })
    }

    /// The body of version 1, in which nothing is signed.
    ///
    /// - Parameters:
    ///   - body: the body, parsed by another parser.
    ///   - text: its text.
    func version1(_ body: JSONValue, text: UnsafeRawBufferPointer) -> SignedDocument {
        let holders = [
            body, body.member("latest_receipt_info"), body.member("latest_expired_receipt_info"),
        ]
        let bundleID = holders.lazy.compactMap { $0?.member("bid")?.string }.first { !$0.isEmpty }
        let judged = trust.judge(
            password: body.member("password")?.string.map(Array.init),
            bundleID: bundleID.map { String(decoding: $0, as: UTF8.self) })
        let masked = SecretMask.masked(text) ?? Array(text)
        let fields = masked.withUnsafeBytes { try? parser.parse($0) }
            .map { SignedField.leaves(of: $0) }
        return SignedDocument(
            title: SignedDocumentKind.notificationV1.title,
            findings: [
                .judged(
                    SignedDocument.Judgement(
                        verdict: judged.verdict, reason: judged.reason, signed: [],
                        unsigned: fields ?? []))
            ])
    }

    /// What a JWS is that stands alone.
    private static func kind(of payload: JSONValue) -> AppStorePayload.Kind {
        if payload.member("notificationType") != nil { return .notification }
        return .inner(payload.member("receiptType") != nil ? .appTransaction : .transaction)
    }

    /// Judges a JWS; its payload, when it has one, stays valid until the parser reads the next.
    private func read(
        _ text: UnsafeRawBufferPointer, of kind: AppStorePayload.Kind?, part: String,
        by parser: JSONParser
    ) -> (judgement: SignedDocument.Judgement, payload: AppStorePayload?) {
        var judgement = SignedDocument.Judgement(
            verdict: .invalid, part: part, signed: [], unsigned: [])
        let value = AppStoreJWS.unverifiedPayload(of: text).flatMap { bytes in
            bytes.withUnsafeBytes { try? parser.parse($0) }
        }
        let payload = value.flatMap { value in
            value.isObject ? AppStorePayload(value, of: kind ?? Self.kind(of: value)) : nil
        }
        if let payload { judgement.signed = Self.fields(of: payload) }
        do throws(AppStoreFault) {
            let jws = try AppStoreJWS(text)
            judgement.certificates = trust.verifier.certificates(of: jws)
            if let signedAt = payload?.signedAtMilliseconds {
                try trust.verifier.verify(jws, signedAtMilliseconds: signedAt)
                judgement.verdict = .valid
            } else {
                judgement.reason =
                    payload == nil
                    ? "its payload is no JSON object" : "its payload has no signedDate"
            }
        } catch {
            judgement.reason = error.words.description
        }
        return (judgement, payload)
    }

    /// The fields of a payload; a JWS within a notification is judged by itself.
    private static func fields(of payload: AppStorePayload) -> [SignedField] {
        let names = InnerJWS.allCases.filter { payload.jws($0)?.string != nil }
            .map { "\($0.holder).\($0.member)" }
        return SignedField.leaves(of: payload.value).map { field in
            names.contains(field.name)
                ? SignedField(name: field.name, value: "(a JWS of its own, see there)") : field
        }
    }

    /// Judges a JWS within a notification.
    private func judged(
        _ jws: JSONValue, _ kind: InnerJWS, within notification: AppStorePayload
    ) -> SignedDocument.Judgement {
        let text = jws.string ?? UnsafeRawBufferPointer(start: nil, count: 0)
        var (judgement, payload) = read(
            text, of: .inner(kind), part: kind.member.description, by: innerParser)
        let isCounted = trust.allowsUnverified(notification.environment)
        guard let payload, judgement.verdict == .valid || isCounted else { return judgement }
        if !payload.isOfBundle(of: notification) {
            judgement.note = NotificationTrust.untrusted("not of this bundle")
        } else if payload.environment != notification.environment {
            judgement.note = NotificationTrust.untrusted("not of this environment")
        } else if judgement.verdict != .valid {
            judgement.note = Self.countedAllTheSame
        }
        return judgement
    }

    private func note(on payload: AppStorePayload, _ verdict: Verdict) -> String? {
        if verdict == .valid { return trust.note(on: payload) }
        guard trust.allowsUnverified(payload.environment) else { return nil }
        return trust.note(on: payload) ?? Self.countedAllTheSame
    }

    private static let countedAllTheSame =
        "weir-store-notifications counts it all the same: store-notifications.yaml allows its "
        + "environment, whose signatures nobody can verify"
}
