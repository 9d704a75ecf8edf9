import Attestation
import JSONReader
import Streams

/// Reads notifications of the App Store, judges what is signed in them, and lists their fields.
struct NotificationReading {
    private let trust: NotificationTrust
    /// For payloads, one at a time.
    private let parser: JSONParser

    init(trust: NotificationTrust, parser: JSONParser) {
        self.trust = trust
        self.parser = parser
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
        return document(text, unsigned: SignedField.members(of: body, notIn: &seen))
    }

    /// A JWS that stands alone: a notification, a transaction, or what else the App Store signs.
    func document(
        _ jws: UnsafeRawBufferPointer, unsigned: [SignedField] = []
    ) -> SignedDocument {
        var outer = read(jws, part: "notification")
        outer.judgement.unsigned = unsigned
        guard outer.isNotification else {
            outer.judgement.part = nil
            return SignedDocument(title: "App Store JWS", findings: [.judged(outer.judgement)])
        }
        if outer.judgement.verdict == .valid {
            outer.judgement.note = trust.note(on: outer.identity)
        }
        let inner = outer.inner.map { part in
            var found = part.text.withUnsafeBytes { read($0, part: part.name) }
            if found.judgement.verdict == .valid {
                found.judgement.note = Self.note(
                    on: found.identity, of: part.name, within: outer.identity)
            }
            return SignedDocument.Finding.judged(found.judgement)
        }
        return SignedDocument(
            title: SignedDocumentKind.notificationV2.title,
            findings: [.judged(outer.judgement)] + inner)
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

    /// What is known of one JWS.
    fileprivate struct Read {
        var judgement: SignedDocument.Judgement
        var isNotification = false
        var identity = NotificationIdentity()
        var inner: [(name: String, text: [UInt8])] = []
    }

    private func read(_ text: UnsafeRawBufferPointer, part: String) -> Read {
        var read = Read(
            judgement: SignedDocument.Judgement(
                verdict: .invalid, part: part, signed: [], unsigned: []))
        do throws(AppStoreFault) {
            let jws = try AppStoreJWS(text)
            read.judgement.certificates = trust.verifier.certificates(of: jws)
            guard let payload = jws.payload.withUnsafeBytes({ try? parser.parse($0) }),
                payload.isObject
            else {
                read.judgement.reason = "its payload is no JSON object"
                return read
            }
            read.note(payload)
            // An app transaction has no signedDate: it is judged at its creation.
            let instant = payload.member("signedDate") ?? payload.member("receiptCreationDate")
            guard case .exact(let signedAt)? = instant?.number?.asInteger else {
                read.judgement.reason = "its payload has no signedDate"
                return read
            }
            try trust.verifier.verify(jws, signedAtMilliseconds: signedAt)
            read.judgement.verdict = .valid
        } catch {
            read.judgement.reason = error.words.description
        }
        return read
    }

    private static func note(
        on inner: NotificationIdentity, of member: String, within outer: NotificationIdentity
    ) -> String? {
        // Renewals name no bundle.
        let needsBundle = inner.bundleID != nil || member != "signedRenewalInfo"
        if needsBundle, inner.bundleID != outer.bundleID {
            return "weir-store-notifications counts it as untrusted: not of this bundle"
        }
        if inner.environment != outer.environment {
            return "weir-store-notifications counts it as untrusted: not of this environment"
        }
        return nil
    }
}

extension NotificationReading.Read {
    /// The members that hold a JWS of their own.
    private static let signedMembers: [StaticString] = [
        "signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo",
    ]

    fileprivate mutating func note(_ payload: JSONValue) {
        isNotification = payload.member("notificationType") != nil
        let token = payload.member("externalPurchaseToken")
        let named = payload.member("data") ?? payload.member("summary") ?? token
        let holder = named ?? payload.member("appData") ?? payload
        identity.bundleID = Self.text(holder.member("bundleId"))
        // App transactions say receiptType.
        identity.environment = Self.text(
            holder.member("environment") ?? holder.member("receiptType"))
        if case .exact(let id)? = holder.member("appAppleId")?.number?.asInteger {
            identity.appAppleID = id
        }
        if identity.environment == nil, let id = Self.text(token?.member("externalPurchaseId")) {
            identity.environment = id.hasPrefix("SANDBOX") ? "Sandbox" : "Production"
        }
        for name in Self.signedMembers {
            guard let jws = holder.member(name)?.string else { continue }
            inner.append((name.description, Array(jws)))
        }
        let names = Self.signedMembers.map(\.description)
        judgement.signed = SignedField.leaves(of: payload).map { field in
            names.contains { field.name.hasSuffix($0) }
                ? SignedField(name: field.name, value: "(a JWS of its own, see there)") : field
        }
    }

    private static func text(_ value: JSONValue?) -> String? {
        value?.string.map { String(decoding: $0, as: UTF8.self) }
    }
}
