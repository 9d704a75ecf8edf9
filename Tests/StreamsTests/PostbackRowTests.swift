import Signatures
import Streams
import Testing

@Suite("Rows of postbacks")
struct PostbackRowTests {
    private func row(_ record: TestRecord) throws -> Row {
        let result = try foldPostbacks([record])
        return try #require(result.rows("postbacks").first, "\(result.refused)")
    }

    private func reason(_ record: TestRecord) throws -> String {
        let result = try foldPostbacks([record])
        return result.reasons.first ?? (result.outcome(.accepted) == 1 ? "accepted" : "lost")
    }

    private static let full: Row = [
        "framework": "skadnetwork", "version": "4.0", "ad_network_id": "net.skadnetwork",
        "campaign": "0239", "app_id": 22, "source_app_id": 11, "interaction": "click",
        "conversion_type": "download", "did_win": true, "verdict": "valid", "country": "US",
        "postbacks": 1,
    ]

    @Test("a 4.0 postback fills every column, and its value a row of conversion-values")
    func version40() throws {
        let result = try foldPostbacks([Postbacks.record(Postbacks.v40)])
        #expect(result.rows("postbacks") == [Self.full])
        #expect(
            result.rows("conversion-values")
                == [Self.full.merging(["kind": "fine", "value": "20"]) { $1 }])
        #expect(result.rows("decoded-events").isEmpty)
        #expect(
            result.rows("outcomes")
                == [["topic": "postbacks", "type": "skadnetwork.postback", "accepted": 1]])
    }

    @Test("an AdAttributionKit postback fills every column but the version")
    func adAttributionKit() throws {
        let result = try foldPostbacks([
            Postbacks.record(
                claims: Postbacks.claims.with([
                    "conversion-type": "re-engagement", "postback-sequence-index": 2,
                ]))
        ])
        var row = Self.full
        row["framework"] = "adattributionkit"
        row["version"] = nil
        row["ad_network_id"] = "net.adattributionkit"
        row["conversion_type"] = "re-engagement"
        row["marketplace"] = "com.apple.AppStore"
        row["sequence_index"] = 2
        #expect(result.rows("postbacks") == [row])
        #expect(
            result.rows("conversion-values")
                == [row.merging(["kind": "fine", "value": "20"]) { $1 }])
    }

    @Test(
        "a word of AdAttributionKit's that is not known here counts as other, the empty one too",
        arguments: ["pre-order", "Download", "Click", "other", "\u{0}", "\u{00E9}", ""])
    func otherWords(_ word: String) throws {
        let unsigned = Postbacks.unsigned.with(["ad-interaction-type": .string(word)])
        let result = try foldPostbacks([
            Postbacks.record(
                claims: Postbacks.claims.with(["conversion-type": .string(word)]),
                unsigned: unsigned)
        ])
        let row = try #require(result.rows("postbacks").first, "\(result.refused)")
        #expect(row["conversion_type"] == "other")
        #expect(row["interaction"] == "other")
        #expect(row["verdict"] == "valid")
        #expect(row["did_win"] == true)
        #expect(
            result.rows("conversion-values")
                == [row.merging(["kind": "fine", "value": "20"]) { $1 }])
        #expect(result.outcome(.accepted) == 1)
        #expect(result.refused.isEmpty)
    }

    @Test("a word that is absent is no other one: a download, of an interaction that is unknown")
    func absentWords() throws {
        for absent: Document? in [nil, .null] {
            let row = try row(
                Postbacks.record(
                    claims: Postbacks.claims.with(["conversion-type": absent]),
                    unsigned: Postbacks.unsigned.with(["ad-interaction-type": absent])))
            #expect(row["conversion_type"] == "download")
            #expect(row["interaction"] == nil)
        }
    }

    @Test("the marketplace is AdAttributionKit's as it is signed, in its own case")
    func marketplace() throws {
        for (marketplace, expected): (Document?, Field?) in [
            ("Com.Example.Market", "Com.Example.Market"), (nil, nil), (.null, nil), ("", nil),
        ] {
            let claims = Postbacks.claims.with(["marketplace-identifier": marketplace])
            for signer in SigningKeys.Signer.allCases {
                let row = try row(Postbacks.record(claims: claims, by: signer))
                #expect(row["marketplace"] == expected)
                #expect(row["verdict"] == .text(signer.verdict))
            }
        }
        // Beside the JWS, and in a postback of SKAdNetwork, nobody has signed it.
        for beside: Document in ["com.example.market", 5] {
            let more: KeyValuePairs<String, Document?> = ["marketplace-identifier": beside]
            let kit = try row(
                Postbacks.record(
                    claims: Postbacks.claims.with(["marketplace-identifier": nil]),
                    unsigned: Postbacks.unsigned.with(more)))
            #expect(kit["marketplace"] == nil)
            #expect(try row(Postbacks.record(Postbacks.v40.with(more))) == Self.full)
        }
    }

    @Test(
        "each version's signature is verified over what that version signs",
        arguments: ["2.1", "2.2", "3.0", "4.0"])
    func versions(_ version: String) throws {
        let postback = (version == "4.0" ? Postbacks.v40 : Postbacks.v30).with([
            "version": .string(version)
        ])
        for signer in SigningKeys.Signer.allCases {
            #expect(
                try row(Postbacks.record(postback, by: signer))["verdict"] == .text(signer.verdict))
        }
        let signed = try SignedPostback.skAdNetwork(postback, by: .production)
        for (field, value): (String, Document) in [
            ("app-id", 23), ("transaction-id", "other"), ("ad-network-id", "net.skadnetwork"),
            ("redownload", .boolean(version == "4.0")), ("source-app-id", 12),
        ] {
            #expect(
                try row(TestRecord(signed.with([field: value])))["verdict"] == "invalid", "\(field)"
            )
        }
        for signature: Document? in [nil, .null, "", "nonsense", "AAAA"] {
            #expect(
                try row(TestRecord(signed.with(["attribution-signature": signature])))["verdict"]
                    == "invalid")
        }
        #expect(try reason(TestRecord(signed.with(["attribution-signature": 5]))) == "wrong_type")
    }

    @Test("what Apple never signs may change without harm to the signature")
    func unsignedChanges() throws {
        let signed = try SignedPostback.skAdNetwork(Postbacks.v40, by: .production)
        let changed = signed.with([
            "conversion-value": nil, "coarse-conversion-value": "low", "country-code": "DE",
        ])
        var row = Self.full
        row["country"] = "DE"
        let result = try foldPostbacks([TestRecord(changed)])
        #expect(result.rows("postbacks") == [row])
        #expect(
            result.rows("conversion-values")
                == [row.merging(["kind": "coarse", "value": "low"]) { $1 }])
    }

    @Test("a field that the version does not sign is neither folded nor judged")
    func unsignedFields() throws {
        let nonsense: Document = ["x": 1]
        let unsigned: [(String, [String])] = [
            (
                "1.0",
                [
                    "source-app-id", "source-domain", "fidelity-type", "did-win",
                    "postback-sequence-index", "source-identifier",
                ]
            ),
            (
                "2.0",
                [
                    "source-domain", "fidelity-type", "did-win", "postback-sequence-index",
                    "source-identifier",
                ]
            ),
            (
                "2.1",
                [
                    "source-domain", "fidelity-type", "did-win", "postback-sequence-index",
                    "source-identifier",
                ]
            ),
            ("2.2", ["source-domain", "did-win", "postback-sequence-index", "source-identifier"]),
            ("3.0", ["source-domain", "postback-sequence-index", "source-identifier"]),
            ("4.0", ["campaign-id"]), ("9.9", ["campaign-id"]),
        ]
        let signed: [String: [String]] = [
            "2.0": ["source-app-id"], "2.2": ["fidelity-type"],
            "3.0": ["did-win", "fidelity-type"],
            "4.0": ["source-domain", "postback-sequence-index", "source-identifier", "did-win"],
            "9.9": [
                "source-domain", "postback-sequence-index", "did-win", "fidelity-type",
                "source-app-id",
            ],
        ]
        for (version, fields) in unsigned {
            let isFour = version == "4.0" || version == "9.9"
            var postback = (isFour ? Postbacks.v40 : Postbacks.v30).with([
                "version": .string(version)
            ])
            if version == "1.0" { postback["source-app-id"] = nil }
            for field in fields { postback[field] = nil }
            let bare = try row(TestRecord(postback))
            for field in fields {
                #expect(
                    try row(TestRecord(postback.with([field: nonsense]))) == bare,
                    "\(version) \(field)")
            }
            for (field, value): (String, Document) in [
                ("source-domain", "example.com"), ("postback-sequence-index", 2),
                ("did-win", false), ("fidelity-type", 1),
            ] where fields.contains(field) {
                #expect(
                    try row(TestRecord(postback.with([field: value]))) == bare,
                    "\(version) \(field)")
            }
            for field in signed[version] ?? [] {
                #expect(
                    try reason(TestRecord(postback.with([field: nonsense]))) != "accepted",
                    "\(version) \(field)")
            }
            for field in [
                "conversion-value", "coarse-conversion-value", "country-code", "redownload",
            ] {
                #expect(
                    try reason(TestRecord(postback.with([field: nonsense]))) == "wrong_type",
                    "\(version) \(field)")
            }
        }
    }

    @Test(
        "a version that is absent is 1.0; an unknown one is unverifiable and goes by 4.0's layout")
    func versionColumn() throws {
        let old = Postbacks.v30.with(["did-win": false])
        for version: Document? in [nil, .null, "1.0"] {
            let row = try row(TestRecord(old.with(["version": version])))
            #expect(row["version"] == "1.0")
            #expect(row["did_win"] == true)
            #expect(row["verdict"] == "invalid")
            #expect(row["source_app_id"] == nil)
        }
        for version in ["4.1", "2.3", "4", "04.0", "4.0 ", ""] {
            let row = try row(
                Postbacks.record(
                    Postbacks.v40.with(["version": .string(version), "source-identifier": nil])))
            #expect(row["version"] == (version.isEmpty ? nil : .text(version)))
            #expect(row["verdict"] == "unverifiable")
            #expect(row["did_win"] == true)
            #expect(row["campaign"] == nil)
        }
        #expect(try reason(TestRecord(Postbacks.v30.with(["version": 3.0]))) == "wrong_type")
    }

    @Test("interaction, conversion type and winning by version")
    func columnsByVersion() throws {
        let lost = Postbacks.v30.with(["did-win": false, "conversion-value": nil])
        #expect(try row(Postbacks.record(lost))["did_win"] == nil)
        for version in ["2.1", "2.2"] {
            let row = try row(Postbacks.record(lost.with(["version": .string(version)])))
            #expect(row["did_win"] == true)
            #expect(row["interaction"] == (version == "2.2" ? "view" : nil))
            #expect(row["conversion_type"] == "redownload")
        }
        #expect(
            try row(TestRecord(Postbacks.v30.with(["version": nil])))["conversion_type"]
                == "redownload")
    }

    @Test("a null value counts for winners without any conversion value, under every verdict")
    func nullValues() throws {
        for signer in SigningKeys.Signer.allCases {
            for (changes, count): (KeyValuePairs<String, Document?>, Int64) in [
                (["conversion-value": nil], 1), (["conversion-value": .null], 1),
                (["conversion-value": 0], 0),
                (["conversion-value": nil, "coarse-conversion-value": "low"], 0),
                (["conversion-value": nil, "did-win": false], 0),
                (["conversion-value": .null, "coarse-conversion-value": .null], 1),
            ] {
                let result = try foldPostbacks([
                    Postbacks.record(Postbacks.v40.with(changes), by: signer)
                ])
                #expect(result.sum("postbacks", "null_values") == count)
            }
        }
    }

    @Test("a source app hides the source domain, which 4.0 then does not sign")
    func sourceAppAndDomain() throws {
        let both = Postbacks.v40.with(["source-domain": "example.com"])
        let withBoth = try row(Postbacks.record(both))
        #expect(withBoth["verdict"] == "valid")
        #expect(withBoth["source_app_id"] == 11)
        #expect(withBoth["source_domain"] == nil)
        let domain = try row(Postbacks.record(both.with(["source-app-id": nil])))
        #expect(domain["verdict"] == "valid")
        #expect(domain["source_app_id"] == nil)
        #expect(domain["source_domain"] == "example.com")
        let zero = try row(Postbacks.record(both.with(["source-app-id": 0])))
        #expect(zero["verdict"] == "valid")
        #expect(zero["source_domain"] == nil)
    }

    @Test(
        "of a relayed copy the form that verifies is folded, and only a relay's is tried",
        arguments: [Set(["source-app-id"]), ["fidelity-type"], ["source-app-id", "fidelity-type"]])
    func relayForms(_ omitted: Set<String>) throws {
        let filled = Postbacks.v40.with([
            "source-app-id": 0, "fidelity-type": 0, "source-domain": "example.com",
        ])
        let signed = try SignedPostback.skAdNetwork(filled, by: .production, omitting: omitted)
        let relayed = try row(TestRecord(signed).via("relay"))
        #expect(relayed["verdict"] == "valid")
        #expect(relayed["interaction"] == (omitted.contains("fidelity-type") ? nil : "view"))
        #expect(
            relayed["source_domain"] == (omitted.contains("source-app-id") ? "example.com" : nil))
        for via in ["device", "developer-copy"] {
            #expect(try row(TestRecord(signed).via(via))["verdict"] == "invalid")
        }
        #expect(try row(TestRecord(signed))["verdict"] == "invalid")
        // Zeros only: what was really sent is not left out.
        let sent = Postbacks.v40.with(["source-app-id": 1, "fidelity-type": 1])
        let other = try SignedPostback.skAdNetwork(sent, by: .production, omitting: omitted)
        #expect(try row(TestRecord(other).via("relay"))["verdict"] == "invalid")
    }

    @Test("a relayed copy that verifies as given is folded as given; one that never does, too")
    func relayAsGiven() throws {
        let filled = Postbacks.v40.with(["source-app-id": 0, "fidelity-type": 0])
        for signer in [SigningKeys.Signer.production, .stranger] {
            let row = try row(Postbacks.record(filled, by: signer).via("relay"))
            #expect(row["interaction"] == "view")
            #expect(row["verdict"] == .text(signer.verdict))
        }
    }

    @Test(
        "ce_via is one of three words; another is out of range", arguments: ["Relay", "", "proxy"])
    func via(_ via: String) throws {
        #expect(try reason(Postbacks.record(Postbacks.v40).via(via)) == "out_of_range")
        #expect(try reason(Postbacks.record(claims: Postbacks.claims).via(via)) == "out_of_range")
    }
}
