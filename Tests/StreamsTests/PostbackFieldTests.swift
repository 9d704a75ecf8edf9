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

    private static let noText = FieldRule.noText
    private static let noFigure = FieldRule.noFigure
    private static let noIdentifier = FieldRule.noIdentifier
    private static let beyond = FieldRule.beyondInt64 + FieldRule.noWholeNumbersFromZero
    private static let identifiers = FieldRule.identifiers.filter { $0.text != "\"\"" }

    private static func unsigned(_ base: Document, _ more: [FieldRule] = []) -> [FieldRule] {
        FieldRule.all(
            of: base,
            [
                .optional(
                    "conversion-value", accepts: [0, 63, 5.0], wrong: noFigure,
                    beyond: [-1, 64, .raw("1e300"), .raw("18446744073709551615")]),
                .optional("coarse-conversion-value", beyond: ["low"]),
                .optional("country-code", accepts: ["", "USA"], wrong: noText),
            ] + more)
            + FieldRule.all(
                of: base.with(["conversion-value": nil]),
                [
                    .optional(
                        "coarse-conversion-value", accepts: ["low", "medium", "high"],
                        wrong: noText, beyond: ["Low", "none", ""])
                ])
    }

    static let skAdNetwork =
        unsigned(
            Postbacks.v40,
            [
                .required("ad-network-id", accepts: ["x"], wrong: noText),
                .required("transaction-id", accepts: ["x"], wrong: noText),
                .required("app-id", accepts: identifiers, wrong: noIdentifier, beyond: beyond),
                .required(
                    "source-identifier", accepts: ["0", "0039", "9999", 0, 39.0, 9999],
                    wrong: [true, [], [:]],
                    beyond: ["12345", "00000", "x", "-1", "1.0", 10_000] + beyond),
                .optional(
                    "source-app-id", accepts: identifiers + [""], wrong: noIdentifier,
                    beyond: beyond), .optional("source-domain", accepts: ["", "é"], wrong: noText),
                .optional(
                    "fidelity-type", accepts: [0, 1, 1.0], wrong: noFigure,
                    beyond: [-1, 2, .raw("1e300")]),
                .optional("did-win", accepts: [false], wrong: [1, "true", [], [:]]),
                .optional("redownload", accepts: [true], wrong: [1, "true", [], [:]]),
                .optional(
                    "postback-sequence-index", accepts: [0, 1, 2, 2.0], wrong: noFigure,
                    beyond: [-1, 3, .raw("1e300")]),
            ])
        + unsigned(
            Postbacks.v30,
            [
                .required(
                    "campaign-id", accepts: [1, 100, "1", "0100", 42.0], wrong: noIdentifier,
                    beyond: beyond + [0, 101, -1, "0", "101"])
            ])
        + ["1.0", "2.0", "2.1", "2.2"].flatMap {
            FieldRule.all(
                of: Postbacks.v30.with(["version": .string($0)]),
                [.required("campaign-id", beyond: [0, 101])])
        }

    static let claims = FieldRule.all(
        of: Postbacks.claims,
        [
            .required("ad-network-identifier", accepts: ["x"], wrong: noText),
            .required("postback-identifier", accepts: ["x"], wrong: noText),
            .required(
                "advertised-item-identifier", accepts: identifiers, wrong: noIdentifier,
                beyond: beyond),
            .required(
                "source-identifier", accepts: ["0", "0039", 9999], wrong: [true, [], [:]],
                beyond: ["12345", "x", 10_000] + beyond),
            .optional(
                "publisher-item-identifier", accepts: identifiers + [""], wrong: noIdentifier,
                beyond: beyond),
            .optional(
                "conversion-type",
                accepts: ["download", "redownload", "re-engagement", "Download", "pre-order", ""],
                wrong: noText),
            .optional(
                "postback-sequence-index", accepts: [0, 1, 2], wrong: noFigure, beyond: [-1, 3]),
            .optional("did-win", accepts: [false], wrong: [1, "true"]),
            .optional("impression-type", accepts: [5, "x"]),
            .optional(
                "marketplace-identifier", accepts: ["com.apple.AppStore", "x", ""], wrong: noText),
        ])

    @Test("each field of SKAdNetwork is judged as its rule says", arguments: skAdNetwork)
    func field(_ rule: FieldRule) throws { try rule.check { try reason(TestRecord($0)) } }

    @Test("each claim of AdAttributionKit is judged as its rule says", arguments: claims)
    func claim(_ rule: FieldRule) throws {
        try rule.check { try reason(Postbacks.record(claims: $0)) }
    }

    @Test(
        "what stands beside a JWS is judged too",
        arguments: unsigned(
            Postbacks.unsigned,
            [
                .optional(
                    "ad-interaction-type", accepts: ["view", "click", "View", "hover", ""],
                    wrong: noText)
            ]))
    func besideJWS(_ rule: FieldRule) throws {
        try rule.check { try reason(Postbacks.record(claims: Postbacks.claims, unsigned: $0)) }
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
