import Testing

@testable import Signatures

@Suite("Which fields of a postback are signed")
struct SignedFieldsTests {
    /// The order in which each version signs, as Apple documents it.
    static let layouts: [(version: String, names: [String])] = [
        ("1.0", ["ad-network-id", "campaign-id", "app-id", "transaction-id"]),
        ("2.0", twoZero),
        ("2.1", twoZero),
        ("2.2", twoZero + ["fidelity-type"]),
        ("3.0", twoZero + ["fidelity-type", "did-win"]),
        (
            "4.0",
            [
                "version", "ad-network-id", "source-identifier", "app-id", "transaction-id",
                "redownload", "source-app-id", "fidelity-type", "did-win",
                "postback-sequence-index",
            ]
        ),
    ]
    private static let twoZero = [
        "version", "ad-network-id", "campaign-id", "app-id", "transaction-id", "redownload",
        "source-app-id",
    ]

    private static let alterations: [String: @Sendable (inout Postback) -> Void] = [
        "ad-network-id": { $0.adNetworkID = "com.example" },
        "campaign-id": { $0.campaignID = 43 },
        "source-identifier": { $0.sourceIdentifier = "239" },
        "app-id": { $0.appID += 1 },
        "transaction-id": { $0.transactionID = $0.transactionID.uppercased() },
        "redownload": { $0.redownload = false },
        "source-app-id": { $0.sourceAppID = nil },
        "source-domain": { $0.sourceDomain = "example.org" },
        "fidelity-type": { $0.fidelityType = 0 },
        "did-win": { $0.didWin = false },
        "postback-sequence-index": { $0.sequenceIndex = 1 },
    ]

    private func key(for version: String) throws -> SigningKey {
        version < "2.1" ? try .p192() : .p256()
    }

    @Test("altering a signed field breaks the signature, altering another does not")
    func alteredFields() throws {
        for (version, names) in Self.layouts {
            let key = try key(for: version)
            let keys = try TrustedKeys(production: [key.publicKey])
            let genuine = try Postback(version: version).signed(by: key)
            #expect(genuine.attested(keys).verdict == .valid)
            for (name, alter) in Self.alterations {
                var altered = genuine
                alter(&altered)
                let expected: Verdict = names.contains(name) ? .invalid : .valid
                #expect(altered.attested(keys).verdict == expected, "\(version) \(name)")
            }
        }
    }

    @Test("the fields that are shown are those that are signed, in order")
    func shownFields() throws {
        for (version, names) in Self.layouts {
            let postback = Postback(version: version)
            let fields = postback.signedFields()
            #expect(fields.map(\.name) == names)
            let joined = fields.compactMap(\.value).joined(separator: "\u{2063}")
            #expect(postback.signedText() == Array(joined.utf8))
        }
    }

    @Test("the layout says what it signs")
    func layoutProperties() throws {
        for (layout, expected) in zip(SKAdNetworkLayout.allCases, Self.layouts) {
            #expect(layout.version == expected.version)
            #expect(layout.curve == (expected.version < "2.1" ? .p192 : .p256))
            #expect(layout.signsRedownload == expected.names.contains("redownload"))
            #expect(layout.signsSourceApp == expected.names.contains("source-app-id"))
            #expect(layout.signsSourceDomain == (expected.version == "4.0"))
            #expect(layout.signsFidelity == expected.names.contains("fidelity-type"))
            #expect(layout.signsDidWin == expected.names.contains("did-win"))
            #expect(layout.signsSequenceIndex == expected.names.contains("postback-sequence-index"))
            #expect(layout.usesSourceIdentifier == expected.names.contains("source-identifier"))
        }
    }

    @Test("without a source app, 4.0 signs the source domain, and without that neither")
    func webSource() throws {
        var postback = Postback(version: "4.0")
        postback.sourceAppID = nil
        #expect(postback.signedFields().map(\.name).contains("source-domain"))
        postback.sourceDomain = nil
        let names = postback.signedFields().map(\.name)
        #expect(!names.contains("source-domain") && !names.contains("source-app-id"))
        #expect(postback.signedText() != nil)
    }

    @Test("a postback that lacks a signed field is invalid and shown with a gap")
    func missingFields() throws {
        let removals: [(version: String, name: String, remove: (inout Postback) -> Void)] = [
            ("1.0", "campaign-id", { $0.campaignID = nil }),
            ("2.0", "redownload", { $0.redownload = nil }),
            ("2.2", "fidelity-type", { $0.fidelityType = nil }),
            ("3.0", "did-win", { $0.didWin = nil }),
            ("4.0", "source-identifier", { $0.sourceIdentifier = nil }),
            ("4.0", "postback-sequence-index", { $0.sequenceIndex = nil }),
        ]
        for (version, name, remove) in removals {
            let key = try key(for: version)
            var postback = try Postback(version: version).signed(by: key)
            remove(&postback)
            #expect(postback.signedText() == nil)
            #expect(postback.signedFields().first { $0.name == name }?.value == .some(nil))
            let keys = try TrustedKeys(production: [key.publicKey])
            #expect(postback.attested(keys).verdict == .invalid)
        }
    }

    @Test("only the exact version names a layout, and an absent one is 1.0")
    func versions() throws {
        let keys = try TrustedKeys()
        for version in ["", "1", "4", "4.0 ", " 4.0", "4.00", "2.3", "5.0", "v4.0", "4,0"] {
            #expect(Postback(version: version).attested(keys).verdict == .unverifiable)
        }
        #expect(Postback(version: nil).signedFields() == Postback(version: "1.0").signedFields())
        let key = try SigningKey.p192()
        let postback = try Postback(version: nil).signed(by: key)
        #expect(postback.attested(try TrustedKeys(production: [key.publicKey])).verdict == .valid)
    }

    @Test("a genuine 2.0 postback cannot pass for one of 1.0 by moving field boundaries")
    func movedBoundaries() throws {
        let key = try SigningKey.p192()
        var genuine = Postback(version: "2.0")
        genuine.sourceAppID = nil
        genuine = try genuine.signed(by: key)
        var forged = genuine
        forged.version = "1.0"
        forged.adNetworkID = "2.0\u{2063}" + genuine.adNetworkID
        forged.transactionID = genuine.transactionID + "\u{2063}true"
        let keys = try TrustedKeys(production: [key.publicKey])
        #expect(genuine.attested(keys).verdict == .valid)
        #expect(forged.attested(keys).verdict == .invalid)
    }

    @Test("a source app cannot pass for a source domain, which signs the same bytes")
    func numericDomain() throws {
        let key = SigningKey.p256()
        let genuine = try Postback(version: "4.0").signed(by: key)
        var forged = genuine
        forged.sourceAppID = nil
        forged.sourceDomain = "1234567891"
        let keys = try TrustedKeys(production: [key.publicKey])
        #expect(genuine.attested(keys).verdict == .valid)
        #expect(forged.attested(keys).verdict == .invalid)
    }
}
