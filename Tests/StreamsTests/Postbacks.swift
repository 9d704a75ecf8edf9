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
    ) throws -> TestRecord {
        TestRecord(try SignedPostback.skAdNetwork(postback, by: signer))
    }

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
