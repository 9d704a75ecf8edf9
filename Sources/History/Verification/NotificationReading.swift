import ConfigurationValues
import Crypto
import Engine
import JSON
import Reports
import Signatures
import Streams

/// Reads notifications of the App Store, judges their signatures, and lists their fields.
struct NotificationReading {
    let trust: NotificationTrust
    /// For payloads, one at a time.
    let parser: JSONParser
    /// For payloads within a payload that is still in use.
    let innerParser: JSONParser

    /// The body of version 2: a finding for the notification and one for each JWS in it.
    func version2(_ body: JSONValue) -> SignedDocument {
        let title = SignedDocumentKind.notificationV2.title
        let payload = body.member("signedPayload")
        guard let text = payload?.string else {
            return SignedDocument(
                title: title,
                rejected: payload == nil
                    ? Rejection(.missingField, "signedPayload is missing")
                    : Rejection(.wrongType, "signedPayload is not a string"))
        }
        var seen: Set<String> = ["signedPayload"]
        return document(
            text, of: .notification, unsigned: SignedField.members(of: body, notIn: &seen))
    }

    /// A JWS without a body around it: a notification, a transaction, or another document that the App Store signs.
    func document(
        _ jws: UnsafeRawBufferPointer, of kind: AppStorePayload.Kind? = nil,
        unsigned: [SignedField] = []
    ) -> SignedDocument {
        var (judgement, payload) = read(jws, of: kind, part: "notification", by: parser)
        judgement.unsigned = unsigned
        guard let payload, case .notification = kind ?? Self.kind(of: payload.value) else {
            judgement.part = kind.map { _ in "notification" }
            let title = kind.map { _ in SignedDocumentKind.notificationV2.title }
            return SignedDocument(title: title ?? "App Store JWS", findings: [.judged(judgement)])
        }
        judgement.note = note(on: payload, judgement.verdict)
        let inner = InnerJWS.allCases.compactMap { kind in
            payload.jws(kind).map { judged($0, kind, within: payload) }
        }
        return SignedDocument(
            title: SignedDocumentKind.notificationV2.title,
            findings: ([judgement] + inner).map { .judged($0) })
    }

    /// The body of version 1, which has no signatures.
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

    /// The kind of a JWS without a body around it.
    private static func kind(of payload: JSONValue) -> AppStorePayload.Kind {
        if payload.member("notificationType") != nil { return .notification }
        return .inner(payload.member("receiptType") != nil ? .appTransaction : .transaction)
    }

    /// Judges a JWS. Its payload, if any, stays valid until the parser is used again.
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
                    ? "its payload is not a JSON object" : "its payload has no signedDate"
            }
        } catch {
            judgement.reason = error.explanation.description
        }
        return (judgement, payload)
    }

    /// The fields of a payload. A JWS in a notification is judged by itself.
    private static func fields(of payload: AppStorePayload) -> [SignedField] {
        let names = InnerJWS.allCases.filter { payload.jws($0)?.string != nil }
            .map { "\($0.holder).\($0.member)" }
        return SignedField.leaves(of: payload.value).map { field in
            names.contains(field.name)
                ? SignedField(name: field.name, value: "(a separate JWS, see below)") : field
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
        if let fault = payload.faultOfBundle(in: notification)
            ?? payload.faultOfEnvironment(in: notification)
        {
            judgement.note = NotificationTrust.untrusted("\(kind.member) \(fault)")
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
        "weir-store-notifications counts it anyway: store-notifications.yaml allows its "
        + "environment, whose signatures cannot be verified"
}

/// The notifications that count, as configured in `store-notifications.yaml`.
package struct NotificationTrust {
    struct App {
        var bundleID: String
        /// The required App Store id in Production; nil to skip the check.
        var appAppleID: Int64?
        var sharedSecrets: [String]
    }

    let verifier: AppStoreVerifier
    /// Nil without a configuration.
    private let apps: [App]?
    private let environments: Set<AppStoreEnvironment>

    /// Trusts only Apple's root, without apps.
    init() {
        self.init(roots: [.appleRootCAG3], apps: nil, environments: [])
    }

    /// Without apps (nil), apps and environments are not judged.
    init(roots: [AppStoreRoot], apps: [App]?, environments: Set<AppStoreEnvironment>) {
        verifier = AppStoreVerifier(roots: roots)
        self.apps = apps
        self.environments = environments
    }

    /// Whether a worker counts notifications of an environment without a valid signature.
    func allowsUnverified(_ environment: AppStoreEnvironment?) -> Bool {
        environment.map { $0.isLocal && environments.contains($0) } ?? false
    }

    /// The reason why a worker does not count a notification with a valid or unnecessary signature; nil if it counts.
    func note(on payload: AppStorePayload) -> String? {
        guard let apps else {
            return
                "bundle and environment are not checked, because there is no store-notifications.yaml"
        }
        let bundleID = payload.bundleID.map(Array.init) ?? []
        guard let app = apps.first(where: { $0.bundleID.utf8.elementsEqual(bundleID) }) else {
            return Self.untrusted("its bundle is not in store-notifications.yaml")
        }
        guard let environment = payload.environment, environments.contains(environment) else {
            return Self.untrusted("store-notifications.yaml does not allow its environment")
        }
        guard environment == .production, let appAppleID = app.appAppleID else { return nil }
        return appAppleID == payload.appAppleID
            ? nil : Self.untrusted("appAppleId is not the app_apple_id of its bundle")
    }

    /// Judges the password of a notification of version 1.
    func judge(password: [UInt8]?, bundleID: String?) -> (verdict: Verdict, reason: String) {
        guard let password else { return (.invalid, "it has no shared secret (password)") }
        let carried = "it has a shared secret (password), which "
        guard let apps else {
            return (
                .unverifiable,
                carried + "is not checked, because there is no store-notifications.yaml"
            )
        }
        let found = apps.first { $0.bundleID.utf8.elementsEqual((bundleID ?? "").utf8) }
        guard let app = found else {
            return (
                .invalid,
                carried + "does not belong to a bundle in store-notifications.yaml"
            )
        }
        guard !app.sharedSecrets.isEmpty else {
            return (
                .unverifiable, carried + "is not checked, because its bundle has no shared_secrets"
            )
        }
        // Digests compare in constant time.
        let digest = SHA256.hash(data: password)
        let matches = app.sharedSecrets.filter { SHA256.hash(data: Array($0.utf8)) == digest }
        return matches.isEmpty
            ? (.invalid, carried + "does not match its bundle in store-notifications.yaml")
            : (.valid, carried + "matches its bundle in store-notifications.yaml")
    }

    /// The explanation for a notification that a worker counts as untrusted.
    static func untrusted(_ explanation: String) -> String {
        "weir-store-notifications counts it as untrusted: \(explanation)"
    }
}

extension NotificationTrust {
    /// The configured trust; without a `store-notifications.yaml`, only Apple's root.
    init(configured directory: PipelineDirectory) throws(ConfigurationError) {
        guard StoreNotificationsFold.isConfigured(in: directory) else {
            self.init()
            return
        }
        let rules = try StoreNotificationsFold.rules(in: directory)
        self.init(
            roots: rules.roots,
            apps: rules.apps.map {
                App(
                    bundleID: $0.bundleID, appAppleID: $0.appAppleID,
                    sharedSecrets: $0.secrets.values.sorted())
            },
            environments: rules.environments)
    }
}
