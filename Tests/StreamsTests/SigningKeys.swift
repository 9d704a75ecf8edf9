import Attestation
import Crypto
import Foundation

/// Keys of the tests' own that stand beside Apple's.
struct SigningKeys: Sendable {
    static let shared = SigningKeys()

    /// Who signs a test's postback.
    enum Signer: String, CaseIterable {
        case production, development
        /// A key that nobody trusts.
        case stranger

        var verdict: String {
            switch self {
            case .production: "valid"
            case .development: "development"
            case .stranger: "invalid"
            }
        }
    }

    private let keys: [Signer: P256.Signing.PrivateKey] = [
        .production: .init(), .development: .init(), .stranger: .init(),
    ]

    /// The keys to trust; a failure is that of the keys' text.
    var trusted: Result<TrustedKeys, any Error> {
        Result {
            try TrustedKeys(
                production: [spki(.production)], development: [spki(.development)],
                adAttributionKit: [
                    .init(kid: "production/0", key: spki(.production), verdict: .valid),
                    .init(kid: "development/0", key: spki(.development), verdict: .development),
                ])
        }
    }

    private func spki(_ signer: Signer) -> String {
        keys[signer]?.publicKey.derRepresentation.base64EncodedString() ?? ""
    }

    private func sign(_ text: String, by signer: Signer) throws -> P256.Signing.ECDSASignature {
        guard let key = keys[signer] else { throw FixtureError("no key of \(signer)") }
        return try key.signature(for: Data(text.utf8))
    }

    /// DER in base64, over values joined by U+2063.
    func signature(over values: [String], by signer: Signer) throws -> String {
        try sign(values.joined(separator: "\u{2063}"), by: signer)
            .derRepresentation.base64EncodedString()
    }

    /// A compact JWS of two texts.
    func jws(header: String, payload: String, by signer: Signer) throws -> String {
        let input = Self.base64url(Data(header.utf8)) + "." + Self.base64url(Data(payload.utf8))
        return try input + "." + Self.base64url(sign(input, by: signer).rawRepresentation)
    }

    static func base64url(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }
}
