import Signatures
import TestKit

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

    private let keys: [Signer: PostbackSigner] = [
        .production: .init(), .development: .init(), .stranger: .init(),
    ]

    /// The keys to trust; a failure is that of the keys' text.
    var trusted: Result<TrustedKeys, any Error> {
        Result {
            try TrustedKeys(
                production: [self[.production].publicKey],
                development: [self[.development].publicKey],
                adAttributionKit: [
                    .init(kid: "production/0", key: self[.production].publicKey, verdict: .valid),
                    .init(
                        kid: "development/0", key: self[.development].publicKey,
                        verdict: .development),
                ])
        }
    }

    subscript(signer: Signer) -> PostbackSigner {
        get throws {
            guard let key = keys[signer] else { throw TestFault("no key of \(signer)") }
            return key
        }
    }
}

/// Signs postbacks as Apple does, from Apple's description alone.
enum SignedPostback {
    /// What each version signs, in order ("Verifying an install-validation postback").
    private static let layouts: [String: [String]] = [
        "2.1": [
            "version", "ad-network-id", "campaign-id", "app-id", "transaction-id", "redownload",
            "source-app-id",
        ],
        "2.2": [
            "version", "ad-network-id", "campaign-id", "app-id", "transaction-id", "redownload",
            "source-app-id", "fidelity-type",
        ],
        "3.0": [
            "version", "ad-network-id", "campaign-id", "app-id", "transaction-id", "redownload",
            "source-app-id", "fidelity-type", "did-win",
        ],
        "4.0": [
            "version", "ad-network-id", "source-identifier", "app-id", "transaction-id",
            "redownload", "source-app-id", "source-domain", "fidelity-type", "did-win",
            "postback-sequence-index",
        ],
    ]

    /// The postback with a signature over what its version signs, without the fields in `omitted`.
    static func skAdNetwork(
        _ postback: Document, by signer: SigningKeys.Signer, omitting omitted: Set<String> = []
    ) throws -> Document {
        let layout = layouts[postback["version"]?.string ?? ""] ?? []
        var names = layout.filter { !omitted.contains($0) && postback[$0] != nil }
        if names.contains("source-app-id") { names.removeAll { $0 == "source-domain" } }
        let values = names.map { postback[$0]?.string ?? postback[$0]?.text ?? "" }
        return postback.with([
            "attribution-signature": .string(try SigningKeys.shared[signer].signature(over: values))
        ])
    }

    /// A JWS of claims, in an envelope with unsigned members.
    static func adAttributionKit(
        _ claims: Document, unsigned: Document = [:], header: Document? = nil,
        by signer: SigningKeys.Signer
    ) throws -> Document {
        let kid = signer == .stranger ? "production/0" : "\(signer.rawValue)/0"
        let header = header ?? ["kid": .string(kid), "alg": "ES256"]
        let jws = try SigningKeys.shared[signer].jws(header: header.text, payload: claims.text)
        return unsigned.with(["jws-string": .string(jws)])
    }
}

/// Postbacks that tests alter and sign.
enum Postbacks {
    static let v40: Document = [
        "version": "4.0", "ad-network-id": "Net.SKAdNetwork", "source-identifier": "0239",
        "app-id": 22, "transaction-id": "6AAFB7A5-a", "redownload": false, "source-app-id": 11,
        "fidelity-type": 1, "did-win": true, "postback-sequence-index": 0, "conversion-value": 20,
        "country-code": "US",
    ]

    static let v30: Document = [
        "version": "3.0", "ad-network-id": "Net.SKAdNetwork", "campaign-id": 42, "app-id": 22,
        "transaction-id": "6AAFB7A5-b", "redownload": true, "source-app-id": 11,
        "fidelity-type": 0, "did-win": true, "conversion-value": 20,
    ]

    /// The claims of a JWS.
    static let claims: Document = [
        "postback-identifier": "85546EB7-a", "ad-network-identifier": "Net.AdAttributionKit",
        "source-identifier": "0239", "advertised-item-identifier": 22,
        "publisher-item-identifier": 11, "marketplace-identifier": "com.apple.AppStore",
        "impression-type": "app-impression", "conversion-type": "download",
        "postback-sequence-index": 0, "did-win": true,
    ]

    /// What stands beside a JWS.
    static let unsigned: Document = [
        "ad-interaction-type": "click", "conversion-value": 20, "country-code": "US",
    ]

    static func record(
        _ postback: Document, by signer: SigningKeys.Signer = .production
    ) throws -> TestRecord { TestRecord(try SignedPostback.skAdNetwork(postback, by: signer)) }

    static func record(
        claims: Document, unsigned: Document = unsigned, header: Document? = nil,
        by signer: SigningKeys.Signer = .production
    ) throws -> TestRecord {
        TestRecord(
            try SignedPostback.adAttributionKit(
                claims, unsigned: unsigned, header: header, by: signer),
            type: "adattributionkit.postback")
    }
}
