import ConfigurationValues
import ConversionModels
import Crypto
import Foundation
import Signatures
import Streams
import Testing

@Suite("Partner postbacks")
struct PartnerPostbackTests {
    private func pipeline(
        _ partners: [PartnerRule], secondFrom: Int64? = nil
    ) throws -> PostbackPipeline {
        PostbackPipeline(models: [try Models.model(secondFrom: secondFrom)], partners: partners)
    }

    private func partner(
        _ name: String, trust: Set<Verdict> = [.valid], networks: Set<String>? = nil,
        apps: Set<Int64>? = nil, windows: Set<Int>? = nil
    ) -> PartnerRule {
        PartnerRule(name: name, trust: trust, networks: networks, apps: apps, windows: windows)
    }

    private func document(_ record: TestRecord, secondFrom: Int64? = nil) throws -> Document {
        let all = Set(Verdict.allCases)
        let result = try foldPostbacks(
            [record], .together, pipeline([partner("acme", trust: all)], secondFrom: secondFrom))
        return try Document(text: #require(result.published.first, "\(result.refused)").document)
    }

    @Test(
        "the id is the same for every copy: a hash of partner, framework, network, transaction and index"
    )
    func id() throws {
        func expected(_ parts: String...) -> String {
            let text = parts.map { "\($0.utf8.count):\($0)" }.joined()
            return SHA256.hash(data: Data(text.utf8)).map { String(format: "%02x", $0) }.joined()
                .prefix(32).description
        }
        // Worked out with another program.
        #expect(
            expected(
                "acme", "skadnetwork", "com.example", "6aafb7a5-0170-41b5-bbe4-fe71dedf1e30", "0")
                == "2d0136c18b5007e0d205543c5bf2f427")
        let records = [
            try Postbacks.record(Postbacks.v40.with(["postback-sequence-index": 2])),
            try Postbacks.record(Postbacks.v30.with(["postback-sequence-index": 2])),
            try Postbacks.record(claims: Postbacks.claims.with(["postback-identifier": "É-A"])),
        ]
        let result = try foldPostbacks(records, .together, pipeline([partner("açme")]))
        #expect(
            result.published.map(\.id) == [
                expected("açme", "skadnetwork", "net.skadnetwork", "6aafb7a5-a", "2"),
                expected("açme", "skadnetwork", "net.skadnetwork", "6aafb7a5-b", "0"),
                expected("açme", "adattributionkit", "net.adattributionkit", "É-a", "0"),
            ])
    }

    @Test("revisions count what the partner got, whatever other copies there were")
    func revisions() throws {
        let partners = [
            partner("all", trust: [.valid, .development, .invalid]),
            partner("trusted", trust: [.valid, .development]),
            partner("valid"), partner("forged", trust: [.invalid]),
        ]
        let records = try [
            SigningKeys.Signer.stranger, .stranger, .development, .stranger, .production,
            .production,
        ]
        .map { try Postbacks.record(Postbacks.v40, by: $0) }
        for batching in [Batching.together, .sizes([1]), .sizes([3])] {
            let result = try foldPostbacks(records, batching, pipeline(partners))
            let published = result.published.map { "\($0.offset) \($0.partner) \($0.revision)" }
            #expect(
                published == [
                    "0 all 1", "0 forged 1", "2 all 2", "2 trusted 1", "4 all 3", "4 trusted 2",
                    "4 valid 1",
                ])
            for one in result.published {
                let document = try Document(text: one.document)
                #expect(document["revision"] == .raw("\(one.revision)"))
                #expect(document["id"] == .string(one.id))
                #expect(document["partner"] == .string(one.partner))
            }
        }
    }

    @Test("partners come in the order of their names' bytes, whatever the order of configuration")
    func order() throws {
        let names = ["é", "b", "B", "a", "ab", "z"]
        let result = try foldPostbacks(
            [Postbacks.record(Postbacks.v40)], .together, pipeline(names.map { partner($0) }))
        #expect(result.published.map(\.partner) == ["B", "a", "ab", "b", "z", "é"])
    }

    @Test("a filter admits networks in lower case and apps; both have to match")
    func filters() throws {
        let partners = [
            partner("1", networks: ["net.skadnetwork"]), partner("2", networks: ["other"]),
            partner("3", apps: [22]),
            partner("4", apps: [23]), partner("5", networks: ["net.skadnetwork"], apps: [23]),
            partner("6", networks: ["net.skadnetwork"], apps: [22]), partner("7", networks: []),
        ]
        let result = try foldPostbacks(
            [Postbacks.record(Postbacks.v40)], .together, pipeline(partners))
        #expect(result.published.map(\.partner) == ["1", "3", "6"])
    }

    @Test("a filter admits windows by the sequence index; below 4.0 there is the first only")
    func windows() throws {
        let partners = [
            partner("all"), partner("first", windows: [0]), partner("later", windows: [1, 2]),
        ]
        func published(_ record: TestRecord) throws -> [String] {
            try foldPostbacks([record], .together, pipeline(partners)).published.map(\.partner)
        }
        for index in 0...2 {
            let postback = Postbacks.v40.with([
                "postback-sequence-index": .raw("\(index)"), "conversion-value": nil,
                "coarse-conversion-value": index == 0 ? nil : .string("low"),
            ])
            #expect(
                try published(Postbacks.record(postback))
                    == ["all", index == 0 ? "first" : "later"])
        }
        #expect(try published(Postbacks.record(Postbacks.v30)) == ["all", "first"])
    }

    @Test("losing postbacks are published; duplicates, conflicts and refused ones are not")
    func whatIsPublished() throws {
        let lost = Postbacks.v40.with(["did-win": false, "conversion-value": nil])
        let records = [
            try Postbacks.record(lost), try Postbacks.record(lost),
            try Postbacks.record(lost.with(["country-code": "DE"])),
            TestRecord(lost.with(["app-id": nil])),
        ]
        let result = try foldPostbacks(records, .together, pipeline([partner("p")]))
        #expect(result.published.map(\.offset) == [0])
    }

    @Test("the document has what the contract names")
    func members() throws {
        let record = try Postbacks.record(Postbacks.v40.with(["conversion-value": 18])).at(
            TestRecord.halfPastFive + 250)
        let document = try document(record)
        #expect(
            Set(document.members.map(\.name)) == [
                "id", "revision", "partner", "postback", "conversion", "install_window",
                "received_at", "origin",
            ])
        #expect(document["received_at"] == "2026-11-21T05:30:00.250Z")
        #expect(document["origin"] == ["topic": "postbacks", "partition": 0, "offset": 0])
        #expect(
            document["conversion"] == [
                "value": 18, "coarse": .null, "model": "v1",
                "events": [
                    ["name": "purchase", "count_min": 3, "count_max": 5]
                ],
                "revenue": ["min": .raw("5.49"), "max": 11, "currency": "EUR"], "ambiguous": false,
            ])
    }

    @Test(
        "what a conversion says without a value, without events, without a model, and of a coarse value"
    )
    func conversions() throws {
        func conversion(
            _ changes: KeyValuePairs<String, Document?>,
            by signer: SigningKeys.Signer = .production, secondFrom: Int64? = nil
        ) throws -> Document? {
            try document(
                Postbacks.record(Postbacks.v40.with(changes), by: signer), secondFrom: secondFrom)[
                    "conversion"]
        }
        let nothing: Document = [
            "value": .null, "coarse": .null, "model": .null, "events": [], "revenue": .null,
            "ambiguous": false,
        ]
        let ambiguousFrom = Models.latest / 3_600_000 * 3_600_000
        #expect(try conversion(["conversion-value": nil], secondFrom: ambiguousFrom) == nothing)
        #expect(try conversion(["conversion-value": .null]) == nothing)
        #expect(try conversion(["conversion-value": 0])?["value"] == 0)
        #expect(
            try conversion(["conversion-value": 7]) == nothing.with(["value": 7, "model": "v1"]))
        #expect(
            try conversion(["conversion-value": 18, "app-id": 23]) == nothing.with(["value": 18]))
        #expect(
            try conversion(["conversion-value": nil, "coarse-conversion-value": "low"])
                == nothing.with([
                    "coarse": "low", "model": "v1",
                    "events": [["name": "first", "count_min": 1, "count_max": 1]],
                    "revenue": ["min": 0, "max": 0, "currency": "EUR"],
                ]))
        // Decoded whatever the verdict, and for losing copies.
        for signer in SigningKeys.Signer.allCases {
            #expect(
                try conversion(["conversion-value": 18, "did-win": false], by: signer)?["events"]?
                    .elements.count == 1)
        }
        let ambiguous = try conversion(["conversion-value": 18], secondFrom: ambiguousFrom)
        #expect(ambiguous?["ambiguous"] == true)
        #expect(ambiguous?["model"] == "v2")
    }

    @Test("the postback is Apple's, with underscores: what is signed, and what Apple never signs")
    func applesFields() throws {
        func names(
            _ postback: Document, via: String = "device", omitting: Set<String> = []
        ) throws -> Set<String> {
            let everything = postback.with([
                "source-app-id": postback["source-app-id"] ?? 0, "source-domain": "example.com",
                "fidelity-type": 0, "did-win": true,
                "postback-sequence-index": 0, "campaign-id": 1, "source-identifier": "12",
                "country-code": "US",
                "adjust-campaign": "x", "jws-string": "x",
            ])
            let signed = try SignedPostback.skAdNetwork(
                everything, by: .production, omitting: omitting)
            return Set(
                try document(TestRecord(signed).via(via))["postback"]?.members.map(\.name) ?? [])
        }
        let always: Set = [
            "version", "ad_network_id", "transaction_id", "app_id", "redownload",
            "conversion_value", "country_code", "attribution_signature",
        ]
        func v(_ version: String) -> Document { Postbacks.v30.with(["version": .string(version)]) }
        #expect(try names(v("1.0")) == always.union(["campaign_id"]))
        #expect(try names(v("2.0")) == always.union(["campaign_id", "source_app_id"]))
        #expect(try names(v("2.1")) == always.union(["campaign_id", "source_app_id"]))
        #expect(
            try names(v("2.2")) == always.union(["campaign_id", "source_app_id", "fidelity_type"]))
        #expect(
            try names(v("3.0"))
                == always.union(["campaign_id", "source_app_id", "fidelity_type", "did_win"]))
        let v40 = always.union([
            "source_identifier", "fidelity_type", "did_win", "postback_sequence_index",
        ])
        #expect(try names(Postbacks.v40) == v40.union(["source_app_id"]))
        // The form that verified: without the zeros that a relay filled in.
        let zeros = Postbacks.v40.with(["source-app-id": 0])
        #expect(
            try names(zeros, via: "relay", omitting: ["source-app-id"])
                == v40.union(["source_domain"]))
        #expect(
            try names(zeros, via: "relay", omitting: ["source-app-id", "fidelity-type"])
                == v40.union(["source_domain"]).subtracting(["fidelity_type"]))
    }

    @Test("values are as received")
    func valuesAsReceived() throws {
        let postback = Postbacks.v40.with([
            "app-id": "0022", "conversion-value": .null, "country-code": .null,
        ])
        let written = try #require(try document(Postbacks.record(postback))["postback"])
        #expect(written["app_id"] == "0022")
        #expect(written["ad_network_id"] == "Net.SKAdNetwork")
        #expect(written["transaction_id"] == "6AAFB7A5-a")
        #expect(written["source_identifier"] == "0239")
        #expect(written["redownload"] == false)
    }

    @Test("of AdAttributionKit the claims stand beside the envelope")
    func claims() throws {
        let written = try #require(
            try document(Postbacks.record(claims: Postbacks.claims.with(["secret": 1])))["postback"]
        )
        var names = Set(Postbacks.claims.members.map { $0.name.replacing("-", with: "_") })
        names.formUnion(["jws_string", "ad_interaction_type", "conversion_value", "country_code"])
        #expect(Set(written.members.map(\.name)) == names)
        #expect(written["did_win"] == true)
        #expect(written["advertised_item_identifier"] == 22)
    }

    @Test("partners get a word that counts as other, and the marketplace, as they came")
    func otherWords() throws {
        for word: Document in ["pre-order", "Click", ""] {
            let claims = Postbacks.claims.with([
                "conversion-type": word, "marketplace-identifier": "Com.Example.Market",
            ])
            let unsigned = Postbacks.unsigned.with(["ad-interaction-type": word])
            let document = try document(Postbacks.record(claims: claims, unsigned: unsigned))
            #expect(document["postback.conversion_type"] == word)
            #expect(document["postback.ad_interaction_type"] == word)
            #expect(document["postback.marketplace_identifier"] == "Com.Example.Market")
        }
    }

    @Test("the install window by version, index, value, conversion type and verdict")
    func installWindows() throws {
        func window(_ record: TestRecord) throws -> [String?] {
            let window = try document(record)["install_window"]
            return [window?["earliest"]?.string, window?["latest"]?.string]
        }
        let day = "2026-11-20T05:30:00Z"
        #expect(
            try window(Postbacks.record(Postbacks.v30.with(["conversion-value": 0]))) == [
                "2026-11-19T05:30:00Z", day,
            ])
        #expect(
            try window(Postbacks.record(Postbacks.v30.with(["conversion-value": 1]))) == [nil, day])
        #expect(
            try window(Postbacks.record(Postbacks.v30.with(["conversion-value": nil]))) == [
                nil, day,
            ])
        func v40(_ index: Document) -> Document {
            Postbacks.v40.with(["postback-sequence-index": index])
        }
        #expect(try window(Postbacks.record(v40(0))) == ["2026-11-17T05:30:00Z", day])
        #expect(
            try window(Postbacks.record(v40(1))) == [
                "2026-11-08T05:30:00Z", "2026-11-18T05:30:00Z",
            ])
        #expect(
            try window(Postbacks.record(v40(2))) == [
                "2026-10-11T05:30:00Z", "2026-11-13T05:30:00Z",
            ])
        #expect(
            try window(Postbacks.record(v40(0), by: .stranger)) == ["2026-11-17T05:30:00Z", day])
        #expect(try window(Postbacks.record(v40(0), by: .development)) == [nil, nil])
        let reEngagement = Postbacks.claims.with(["conversion-type": "re-engagement"])
        #expect(try window(Postbacks.record(claims: reEngagement)) == [nil, nil])
        let other = Postbacks.claims.with(["conversion-type": "pre-order"])
        #expect(try window(Postbacks.record(claims: other)) == ["2026-11-17T05:30:00Z", day])
        #expect(
            try window(Postbacks.record(claims: Postbacks.claims)) == ["2026-11-17T05:30:00Z", day])
    }
}
