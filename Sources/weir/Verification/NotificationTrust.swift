import Attestation
import Crypto
import Streams

/// Whose store notifications count, as `store-notifications.yaml` says it.
struct NotificationTrust {
    /// An app and its secrets.
    struct App {
        var bundleID: String
        /// The App Store id that notifications of Production have to name; nil when it is not asked for.
        var appAppleID: Int64?
        var sharedSecrets: [String]
    }

    let verifier: AppStoreVerifier
    /// nil: there is no configuration to go by.
    private let apps: [App]?
    private let environments: Set<AppStoreEnvironment>

    /// Trusts Apple's root alone and knows no app.
    init() {
        self.init(roots: [.appleRootCAG3], apps: nil, environments: [])
    }

    /// Trusts roots, apps and environments; with nil for the apps neither those nor the environments
    /// are judged.
    init(roots: [AppStoreRoot], apps: [App]?, environments: Set<AppStoreEnvironment>) {
        verifier = AppStoreVerifier(roots: roots)
        self.apps = apps
        self.environments = environments
    }

    /// Whether a worker counts what comes from an environment whoever signed it.
    func allowsUnverified(_ environment: AppStoreEnvironment?) -> Bool {
        environment.map { $0.isLocal && environments.contains($0) } ?? false
    }

    /// What is to be said of a notification whose signature holds, or is not asked for; nil when a worker
    /// counts it.
    func note(on payload: AppStorePayload) -> String? {
        guard let apps else {
            return "bundle and environment are not judged: there is no store-notifications.yaml"
        }
        let bundleID = payload.bundleID.map(Array.init) ?? []
        guard let app = apps.first(where: { $0.bundleID.utf8.elementsEqual(bundleID) }) else {
            return Self.untrusted("its bundle is none of the apps of store-notifications.yaml")
        }
        guard let environment = payload.environment, environments.contains(environment) else {
            return Self.untrusted("its environment is none that store-notifications.yaml allows")
        }
        guard environment == .production, let appAppleID = app.appAppleID else { return nil }
        return appAppleID == payload.appAppleID
            ? nil : Self.untrusted("appAppleId is not the app_apple_id of its bundle")
    }

    /// What a password of version 1 is worth.
    func judge(password: [UInt8]?, bundleID: String?) -> (verdict: Verdict, reason: String) {
        guard let password else { return (.invalid, "it carries no shared secret (password)") }
        let carried = "it carries a shared secret (password), which "
        guard let apps else {
            return (
                .unverifiable, carried + "is not compared: there is no store-notifications.yaml"
            )
        }
        let found = apps.first { $0.bundleID.utf8.elementsEqual((bundleID ?? "").utf8) }
        guard let app = found else {
            return (
                .invalid,
                carried + "belongs to none of the bundles of store-notifications.yaml"
            )
        }
        guard !app.sharedSecrets.isEmpty else {
            return (.unverifiable, carried + "is not compared: its bundle has no shared_secrets")
        }
        // Digests compare in constant time.
        let digest = SHA256.hash(data: password)
        let matches = app.sharedSecrets.filter { SHA256.hash(data: Array($0.utf8)) == digest }
        return matches.isEmpty
            ? (.invalid, carried + "is none of its bundle in store-notifications.yaml")
            : (.valid, carried + "is one of its bundle in store-notifications.yaml")
    }

    /// Words on what a worker does not trust, and why.
    static func untrusted(_ words: String) -> String {
        "weir-store-notifications counts it as untrusted: \(words)"
    }
}
