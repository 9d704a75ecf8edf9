import Signatures

/// The bundles, environments and roots of notifications that count.
package struct StoreNotificationsTrust: Sendable {
    package struct App: Sendable {
        package var bundleID: String
        /// The required App Store id in production; nil to skip the check.
        package var appAppleID: Int64?
        /// The allowed secrets in bodies of version 1; they must not be empty.
        package var sharedSecrets: [[UInt8]]

        package init(bundleID: String, appAppleID: Int64?, sharedSecrets: [[UInt8]]) {
            self.bundleID = bundleID
            self.appAppleID = appAppleID
            self.sharedSecrets = sharedSecrets
        }

        /// Whether a password is one of the secrets. The time reveals only their lengths: every byte of each is
        /// compared.
        func accepts(password: UnsafeRawBufferPointer) -> Bool {
            var isAccepted = false
            for secret in sharedSecrets {
                var difference = password.count ^ secret.count
                for index in secret.indices {
                    let byte = index < password.count ? password[index] : 0
                    difference |= Int(byte ^ secret[index])
                }
                let isEqual = difference == 0
                isAccepted = isAccepted || isEqual
            }
            return isAccepted
        }
    }

    package let environments: Set<AppStoreEnvironment>
    /// Whether some environments send unverifiable signatures.
    let allowsUnverified: Bool
    let verifier: AppStoreVerifier
    private let apps: [[UInt8]: App]

    /// Trusts these apps in these environments, and the JWSs that the verifier accepts. Among apps with the same bundle
    /// id, the first counts.
    package init(
        apps: [App], environments: Set<AppStoreEnvironment>, verifier: AppStoreVerifier
    ) {
        self.apps = Dictionary(
            apps.map { (Array($0.bundleID.utf8), $0) }, uniquingKeysWith: { first, _ in first })
        self.environments = environments
        allowsUnverified = environments.contains { $0.isLocal }
        self.verifier = verifier
    }

    /// Whether records of an environment count without a verified signature.
    func allowsUnverified(_ environment: AppStoreEnvironment?) -> Bool {
        environment.map { $0.isLocal && environments.contains($0) } ?? false
    }

    func app(_ bundleID: UnsafeRawBufferPointer) -> App? { apps[Array(bundleID)] }
}

/// The environment of a purchase, as named in a notification.
package enum AppStoreEnvironment: String, CaseIterable, Sendable {
    case production = "Production"
    case sandbox = "Sandbox"
    case xcode = "Xcode"
    case localTesting = "LocalTesting"

    var name: StaticString {
        switch self {
        case .production: "Production"
        case .sandbox: "Sandbox"
        case .xcode: "Xcode"
        case .localTesting: "LocalTesting"
        }
    }

    /// Whether it is on a developer's machine, which signs with its own key.
    package var isLocal: Bool { self == .xcode || self == .localTesting }

    init?(_ text: UnsafeRawBufferPointer) {
        guard let found = Self.allCases.first(where: { text.equals($0.name) }) else { return nil }
        self = found
    }

    /// The environment's name in bodies of version 1 and receipts: `PROD` is Production.
    init?(ofVersion1 text: UnsafeRawBufferPointer) {
        if text.equals("PROD") { self = .production } else { self.init(text) }
    }
}
