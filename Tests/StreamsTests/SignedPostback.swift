import Streams

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
            "attribution-signature": .string(
                try SigningKeys.shared.signature(over: values, by: signer))
        ])
    }

    /// A JWS of claims, in an envelope with unsigned members.
    static func adAttributionKit(
        _ claims: Document, unsigned: Document = [:], header: Document? = nil,
        by signer: SigningKeys.Signer
    ) throws -> Document {
        let kid = signer == .stranger ? "production/0" : "\(signer.rawValue)/0"
        let header = header ?? ["kid": .string(kid), "alg": "ES256"]
        let jws = try SigningKeys.shared.jws(header: header.text, payload: claims.text, by: signer)
        return unsigned.with(["jws-string": .string(jws)])
    }
}
