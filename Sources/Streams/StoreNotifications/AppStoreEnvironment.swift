/// Where a purchase was made, as a notification says.
package enum AppStoreEnvironment: String, CaseIterable, Sendable {
    /// The App Store.
    case production = "Production"
    /// Apple's test environment.
    case sandbox = "Sandbox"
    /// StoreKit's test environment in Xcode.
    case xcode = "Xcode"
    /// StoreKit's test environment of unit tests.
    case localTesting = "LocalTesting"

    /// The environment as columns write it.
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

    /// The environment of a name; nil for an unknown one.
    init?(_ text: UnsafeRawBufferPointer) {
        guard let known = Self.allCases.first(where: { text.equals($0.name) }) else { return nil }
        self = known
    }

    /// The environment as bodies of version 1 and receipts name it: `PROD` is Production.
    init?(ofVersion1 text: UnsafeRawBufferPointer) {
        if text.equals("PROD") { self = .production } else { self.init(text) }
    }
}
