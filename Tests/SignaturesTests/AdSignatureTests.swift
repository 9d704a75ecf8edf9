import Signatures
import Testing

@Suite("Signatures that networks put on ads")
struct AdSignatureTests {
    private let bytes = LentBytes()

    private func number(_ key: String, _ json: [String: Any]) -> Int64? {
        json[key] as? Int64 ?? (json[key] as? Int).map(Int64.init)
    }

    /// Apple's samples leave the fidelity out because the kind of ad implies it.
    private func sample(_ vector: Vector) throws -> AdSignature {
        let json = vector.body
        let isWeb = json["source_domain"] != nil
        let network = json[isWeb ? "ad_network_id" : "adNetworkIdentifier"] as? String
        let nonce = json[isWeb ? "nonce" : "adImpressionIdentifier"] as? String
        let item = number(isWeb ? "itunes_item_id" : "advertisedAppStoreItemIdentifier", json)
        var ad = AdSignature(
            layout: isWeb ? .v4_0Web : .v4_0, adNetworkID: bytes.lend(try #require(network)),
            itunesItemID: try #require(item), nonce: bytes.lend(try #require(nonce)),
            timestampMilliseconds: try #require(number("timestamp", json)))
        let identifier = number(isWeb ? "source_identifier" : "sourceIdentifier", json)
        ad.sourceIdentifier = bytes.lend(String(try #require(identifier)))
        ad.sourceAppID = number("sourceAppStoreItemIdentifier", json)
        ad.sourceDomain = (json["source_domain"] as? String).map(bytes.lend)
        ad.fidelityType = isWeb ? nil : 0
        return ad
    }

    private func full(_ layout: AdSignature.Layout) -> AdSignature {
        var ad = AdSignature(
            layout: layout, adNetworkID: bytes.lend("Net.SKAdNetwork"), itunesItemID: 5,
            nonce: bytes.lend("B7C9-da2b"), timestampMilliseconds: 1_676_057_605_705)
        ad.campaignID = 42
        ad.sourceIdentifier = bytes.lend("5239")
        ad.sourceAppID = 7
        ad.sourceDomain = bytes.lend("example.com")
        ad.fidelityType = 0
        return ad
    }

    @Test("Apple's samples verify with the sample's key, and not with another")
    func samples() throws {
        for vector in Vector.all(of: "ad-signature") {
            let ad = try sample(vector)
            var text: [UInt8] = []
            #expect(ad.appendSignedText(to: &text))
            #expect(text == Array((vector.signed ?? "").utf8))
            let signature = bytes.lend(try #require(vector.body["signature"] as? String))
            let key = try #require(VerificationKey(base64: vector.publicKey ?? ""))
            let other = try #require(VerificationKey(base64: SigningKey.p256().publicKey))
            #expect(ad.isValid(signature, keys: [other, key]) == true)
            #expect(ad.isValid(signature, keys: [other]) != true)
            #expect(ad.isValid(signature, keys: []) != true)
            #expect(ad.isValid(bytes.lend(""), keys: [key]) != true)
        }
    }

    @Test("altering a field of an ad breaks its signature")
    func alteredAds() throws {
        let alterations: [(inout AdSignature) -> Void] = [
            { $0.adNetworkID = bytes.lend("com.apple.test-2") },
            { $0.sourceIdentifier = bytes.lend("3121") }, { $0.itunesItemID += 1 },
            { $0.nonce = bytes.lend("b7c9da2b-15c7-4f3b-9326-135f9630033e") },
            { $0.timestampMilliseconds += 1 },
            {
                $0.sourceAppID = 1
                $0.sourceDomain = bytes.lend("example.org")
            },
        ]
        for vector in Vector.all(of: "ad-signature") {
            let signature = bytes.lend(try #require(vector.body["signature"] as? String))
            let key = try #require(VerificationKey(base64: vector.publicKey ?? ""))
            for alter in alterations {
                var ad = try sample(vector)
                alter(&ad)
                #expect(ad.isValid(signature, keys: [key]) != true)
            }
        }
    }

    @Test("each version signs its fields in order, network and nonce in lower case")
    func layouts() {
        let head = ["net.skadnetwork"]
        let id = ["5", "b7c9-da2b"]
        let time = ["1676057605705"]
        let expected: [(AdSignature.Layout, [String])] = [
            (.v1_0, head + ["42"] + id + time),
            (.v2_0, ["2.0"] + head + ["42"] + id + ["7"] + time),
            (.v2_1, ["2.1"] + head + ["42"] + id + ["7"] + time),
            (.v2_2, ["2.2"] + head + ["42"] + id + ["7", "0"] + time),
            (.v3_0, ["3.0"] + head + ["42"] + id + ["7", "0"] + time),
            (.v4_0, ["4.0"] + head + ["5239"] + id + ["7", "0"] + time),
            (.v4_0Web, ["4.0"] + head + ["5239"] + id + ["example.com", "1"] + time),
        ]
        #expect(expected.count == AdSignature.Layout.allCases.count)
        for (layout, values) in expected {
            let ad = full(layout)
            var text: [UInt8] = []
            #expect(ad.appendSignedText(to: &text))
            #expect(text == Array(values.joined(separator: "\u{2063}").utf8))
            #expect(ad.signedFields.compactMap(\.value) == values)
        }
    }

    @Test("an ad that lacks a signed field has no signed text")
    func missingFields() {
        var ad = full(.v3_0)
        ad.fidelityType = nil
        var text: [UInt8] = [1]
        #expect(!ad.appendSignedText(to: &text))
        #expect(text == [1])
        ad = full(.v4_0Web)
        ad.sourceDomain = nil
        #expect(!ad.appendSignedText(to: &text))
    }

    @Test("the version and the kind of ad name the layout")
    func layoutNames() {
        func layout(_ version: String, isWeb: Bool) -> AdSignature.Layout? {
            AdSignature.Layout(version: bytes.lend(version), isWeb: isWeb)
        }
        #expect(
            ["1.0", "2.0", "2.1", "2.2", "3.0", "4.0"].map { layout($0, isWeb: false) }
                == [.v1_0, .v2_0, .v2_1, .v2_2, .v3_0, .v4_0]
        )
        #expect(layout("4.0", isWeb: true) == .v4_0Web)
        #expect(layout("3.0", isWeb: true) == nil)
        #expect(layout("4", isWeb: false) == nil)
    }
}
