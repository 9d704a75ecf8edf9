import Signatures

/// Whose notifications are counted: bundles, environments, roots.
package struct StoreNotificationsTrust: Sendable {
    package struct App: Sendable {
        package var bundleID: String
        /// The App Store id that production has to name; nil when it is not asked for.
        package var appAppleID: Int64?
        /// The secrets that bodies of version 1 may carry; none may be empty.
        package var sharedSecrets: [[UInt8]]

        package init(bundleID: String, appAppleID: Int64?, sharedSecrets: [[UInt8]]) {
            self.bundleID = bundleID
            self.appAppleID = appAppleID
            self.sharedSecrets = sharedSecrets
        }

        /// Whether a password is one of the secrets. The time it takes tells nothing of them but their
        /// lengths: each byte of each is looked at.
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
    /// Whether some of these send what nobody can verify.
    let allowsUnverified: Bool
    let verifier: AppStoreVerifier
    private let apps: [[UInt8]: App]

    /// Trusts these apps in these environments; JWSs as the verifier says. Of two apps with one bundle
    /// id the first counts.
    package init(
        apps: [App], environments: Set<AppStoreEnvironment>, verifier: AppStoreVerifier
    ) {
        self.apps = Dictionary(
            apps.map { (Array($0.bundleID.utf8), $0) }, uniquingKeysWith: { first, _ in first })
        self.environments = environments
        allowsUnverified = environments.contains { $0.isLocal }
        self.verifier = verifier
    }

    /// Whether what comes from an environment counts, whoever signed it.
    func allowsUnverified(_ environment: AppStoreEnvironment?) -> Bool {
        environment.map { $0.isLocal && environments.contains($0) } ?? false
    }

    func app(_ bundleID: UnsafeRawBufferPointer) -> App? { apps[Array(bundleID)] }
}

/// Where a purchase was made, as a notification says.
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

    /// Whether it is on a developer's machine, which signs with a key of its own.
    package var isLocal: Bool { self == .xcode || self == .localTesting }

    init?(_ text: UnsafeRawBufferPointer) {
        guard let known = Self.allCases.first(where: { text.equals($0.name) }) else { return nil }
        self = known
    }

    /// The environment as bodies of version 1 and receipts name it: `PROD` is Production.
    init?(ofVersion1 text: UnsafeRawBufferPointer) {
        if text.equals("PROD") { self = .production } else { self.init(text) }
    }
}
