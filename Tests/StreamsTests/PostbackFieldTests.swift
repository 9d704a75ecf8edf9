import Streams
import Testing

@Suite("Fields of postbacks: missing, of a wrong type, out of range")
struct PostbackFieldTests {
    private func reason(_ record: TestRecord) throws -> String {
        let result = try foldPostbacks([record])
        if result.outcome(.accepted) == 1 { return "accepted" }
        #expect(result.rows("postbacks").isEmpty)
        return result.reasons.joined()
    }

    struct Rule: CustomTestStringConvertible {
        var base: Document
        var path: String
        var isRequired = false
        var accepts: [Document] = []
        var wrongType: [Document] = []
        var outOfRange: [Document] = []
        var testDescription: String { "\(base["version"]?.string ?? "claims") \(path)" }
    }

    private static let noText: [Document] = [5, true, [], [:]]
    private static let noNumber: [Document] = ["5", "", true, [], [:], 1.5]
    private static let noIdentifier: [Document] = ["x", "-5", "1.0", 1.5, true, [], [:]]
    private static let beyond: [Document] = [
        .raw("9223372036854775808"), .raw("1e300"), "99999999999999999999",
    ]
    private static let identifiers: [Document] = [
        7, "7", "007", 7.0, .raw("7e0"), .raw("9223372036854775807"),
    ]

    private static func unsigned(_ base: Document) -> [Rule] {
        [
            .init(
                base: base, path: "conversion-value", accepts: [0, 63, 5.0], wrongType: noNumber,
                outOfRange: [-1, 64, .raw("1e300"), .raw("18446744073709551615")]),
            .init(
                base: base.with(["conversion-value": nil]), path: "coarse-conversion-value",
                accepts: ["low", "medium", "high"], wrongType: noText,
                outOfRange: ["Low", "none", ""]),
            .init(base: base, path: "coarse-conversion-value", outOfRange: ["low"]),
            .init(base: base, path: "country-code", accepts: ["", "USA"], wrongType: noText),
        ]
    }

    static let skAdNetwork: [Rule] =
        unsigned(Postbacks.v40) + unsigned(Postbacks.v30) + [
            .init(
                base: Postbacks.v40, path: "ad-network-id", isRequired: true, accepts: ["x"],
                wrongType: noText),
            .init(
                base: Postbacks.v40, path: "transaction-id", isRequired: true, accepts: ["x"],
                wrongType: noText),
            .init(
                base: Postbacks.v40, path: "app-id", isRequired: true, accepts: identifiers,
                wrongType: noIdentifier, outOfRange: beyond),
            .init(
                base: Postbacks.v40, path: "source-identifier", isRequired: true,
                accepts: ["0", "0039", "9999", 0, 39.0, 9999], wrongType: [1.5, true, [], [:]],
                outOfRange: ["12345", "00000", "x", "-1", "1.0", -1, 10_000, .raw("1e300")]),
            .init(
                base: Postbacks.v40, path: "source-app-id", accepts: identifiers + [""],
                wrongType: noIdentifier, outOfRange: beyond),
            .init(
                base: Postbacks.v40, path: "source-domain", accepts: ["", "é"], wrongType: noText),
            .init(
                base: Postbacks.v40, path: "fidelity-type", accepts: [0, 1, 1.0],
                wrongType: noNumber, outOfRange: [-1, 2, .raw("1e300")]),
            .init(
                base: Postbacks.v40, path: "did-win", accepts: [false],
                wrongType: [1, "true", [], [:]]),
            .init(
                base: Postbacks.v40, path: "redownload", accepts: [true],
                wrongType: [1, "true", [], [:]]),
            .init(
                base: Postbacks.v40, path: "postback-sequence-index", accepts: [0, 1, 2, 2.0],
                wrongType: noNumber, outOfRange: [-1, 3, .raw("1e300")]),
            .init(
                base: Postbacks.v30, path: "campaign-id", isRequired: true,
                accepts: [1, 100, "1", "0100", 42.0], wrongType: noIdentifier,
                outOfRange: beyond + [0, 101, -1, "0", "101"]),
        ]
        + ["1.0", "2.0", "2.1", "2.2"].map {
            .init(
                base: Postbacks.v30.with(["version": .string($0)]), path: "campaign-id",
                isRequired: true, outOfRange: [0, 101])
        }

    static let claims: [Rule] = [
        .init(
            base: Postbacks.claims, path: "ad-network-identifier", isRequired: true, accepts: ["x"],
            wrongType: noText),
        .init(
            base: Postbacks.claims, path: "postback-identifier", isRequired: true, accepts: ["x"],
            wrongType: noText),
        .init(
            base: Postbacks.claims, path: "advertised-item-identifier", isRequired: true,
            accepts: identifiers, wrongType: noIdentifier, outOfRange: beyond),
        .init(
            base: Postbacks.claims, path: "source-identifier", isRequired: true,
            accepts: ["0", "0039", 9999], wrongType: [1.5, true, [], [:]],
            outOfRange: ["12345", "x", -1, 10_000]),
        .init(
            base: Postbacks.claims, path: "publisher-item-identifier", accepts: identifiers + [""],
            wrongType: noIdentifier, outOfRange: beyond),
        .init(
            base: Postbacks.claims, path: "conversion-type",
            accepts: ["download", "redownload", "re-engagement"], wrongType: noText,
            outOfRange: ["Download", ""]),
        .init(
            base: Postbacks.claims, path: "postback-sequence-index", accepts: [0, 1, 2],
            wrongType: noNumber, outOfRange: [-1, 3]),
        .init(base: Postbacks.claims, path: "did-win", accepts: [false], wrongType: [1, "true"]),
        .init(base: Postbacks.claims, path: "impression-type", accepts: [5, "x"]),
        .init(base: Postbacks.claims, path: "marketplace-identifier", accepts: [5, "x"]),
    ]

    private func check(_ rule: Rule, _ reason: (Document) throws -> String) throws {
        func judge(_ value: Document?) throws -> String {
            try reason(rule.base.with([rule.path: value]))
        }
        #expect(try reason(rule.base) == "accepted")
        let absent = rule.isRequired ? "missing_field" : "accepted"
        #expect(try judge(nil) == absent)
        #expect(try judge(.null) == absent)
        if rule.isRequired { #expect(try judge("") == "missing_field") }
        for value in rule.accepts { #expect(try judge(value) == "accepted", "\(value.text)") }
        for value in rule.wrongType { #expect(try judge(value) == "wrong_type", "\(value.text)") }
        for value in rule.outOfRange {
            #expect(try judge(value) == "out_of_range", "\(value.text)")
        }
    }

    @Test("each field of SKAdNetwork is judged as its rule says", arguments: skAdNetwork)
    func field(_ rule: Rule) throws {
        try check(rule) { try reason(TestRecord($0)) }
    }

    @Test("each claim of AdAttributionKit is judged as its rule says", arguments: claims)
    func claim(_ rule: Rule) throws {
        try check(rule) { try reason(Postbacks.record(claims: $0)) }
    }

    @Test(
        "what stands beside a JWS is judged too",
        arguments: unsigned(Postbacks.unsigned) + [
            .init(
                base: Postbacks.unsigned, path: "ad-interaction-type", accepts: ["view", "click"],
                wrongType: noText, outOfRange: ["View", ""])
        ])
    func besideJWS(_ rule: Rule) throws {
        try check(rule) { try reason(Postbacks.record(claims: Postbacks.claims, unsigned: $0)) }
    }

    @Test("of several faults the first in the contract's order is given")
    func precedence() throws {
        let faults: KeyValuePairs<String, Document?> = [
            "conversion-value": 99, "country-code": 5, "app-id": nil,
        ]
        #expect(try reason(TestRecord(Postbacks.v40.with(faults))) == "missing_field")
        #expect(
            try reason(TestRecord(Postbacks.v40.with(faults).with(["app-id": 1]))) == "wrong_type")
        #expect(
            try reason(
                TestRecord(
                    Postbacks.v40.with(["conversion-value": "x", "coarse-conversion-value": "low"]))
            ) == "wrong_type")
        #expect(try reason(TestRecord(Postbacks.v40.with(faults)).via("proxy")) == "missing_field")
        #expect(
            try reason(
                TestRecord(
                    ["jws-string": "x", "conversion-value": 99] as Document,
                    type: "adattributionkit.postback")) == "malformed_json")
    }

    @Test(
        "what is no JWS is malformed",
        arguments: [
            "", "x", "a.b", "a.b.c.d", "..", "e30.e30", "e30=.e30.", "e30.e30.====", "e3+0.e30.",
            "W10.e30.AAAA", "e30.W10.AAAA",
            "bnVsbA.e30.AAAA", "e30.NQ.AAAA", "e30.ew.AAAA", "e30.e30.A",
        ])
    func noJWS(_ jws: String) throws {
        let record = TestRecord(
            Postbacks.unsigned.with(["jws-string": .string(jws)]), type: "adattributionkit.postback"
        )
        #expect(try reason(record) == "malformed_json")
    }

    @Test("a JWS that is missing or no text")
    func missingJWS() throws {
        for (value, expected): (Document?, String) in [
            (nil, "missing_field"), (.null, "missing_field"), (5, "wrong_type"),
            ([:], "wrong_type"),
        ] {
            let record = TestRecord(
                Postbacks.unsigned.with(["jws-string": value]), type: "adattributionkit.postback")
            #expect(try reason(record) == expected)
        }
    }

    @Test("a JWS is judged by its key id, then by algorithm, crit and signature")
    func header() throws {
        func verdict(
            _ header: Document, by signer: SigningKeys.Signer = .production, cut: Int = 0
        ) throws -> Field? {
            var record = try Postbacks.record(claims: Postbacks.claims, header: header, by: signer)
            if cut > 0 {
                var document = try Document(
                    text: String(decoding: record.value ?? [], as: UTF8.self))
                document["jws-string"] = .string(
                    String(document["jws-string"]?.string?.dropLast(cut) ?? ""))
                record.value = Array(document.text.utf8)
            }
            return try foldPostbacks([record]).rows("postbacks").first?["verdict"]
        }
        let header: Document = ["kid": "production/0", "alg": "ES256"]
        #expect(try verdict(header) == "valid")
        #expect(try verdict(header, by: .development) == "invalid")
        #expect(
            try verdict(header.with(["kid": "development/0"]), by: .development) == "development")
        #expect(try verdict(header, by: .stranger) == "invalid")
        for kid: Document? in [nil, .null, "", "other", 5] {
            #expect(try verdict(header.with(["kid": kid, "alg": "none"])) == "unverifiable")
        }
        for alg: Document? in [nil, "none", "HS256", "es256", 5] {
            #expect(try verdict(header.with(["alg": alg])) == "invalid")
        }
        #expect(try verdict(header.with(["crit": ["exp"]])) == "invalid")
        #expect(try verdict(header.with(["typ": "JWT"])) == "valid")
        #expect(try verdict(header, cut: 86) == "invalid")
        #expect(try verdict(header, cut: 2) == "invalid")
        // Escaped and doubled, as Apple's own headers are: the first key id after unescaping.
        #expect(
            try verdict(Document(text: #"{"kid":"production\/0","alg":"ES256","kid":"other"}"#))
                == "valid")
    }
}
