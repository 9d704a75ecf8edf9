import Foundation
import Signatures
import Streams
import TestKit
import Testing

@testable import History
@testable import weir

@Suite("Verifying documents")
struct VerificationTests {
    private func verifier(
        isRelayed: Bool = false, production: [String] = [], adKeys: [VerificationKey] = []
    ) throws -> DocumentVerifier {
        try DocumentVerifier(
            trustedKeys: TrustedKeys(production: production), adKeys: adKeys, isRelayed: isRelayed)
    }

    private func vectors() throws -> [[String: Any]] {
        let path = Repository.path("Tests/SignaturesTests/Vectors/skadnetwork.jsonl")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return try text.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require(object as? [String: Any])
        }
    }

    private func verify(
        _ json: [String: Any], _ verifier: DocumentVerifier
    ) throws -> SignedDocument {
        try JSONSerialization.data(withJSONObject: json, options: .sortedKeys)
            .withUnsafeBytes { verifier.verify($0) }
    }

    private func judgement(_ document: SignedDocument) -> SignedDocument.Judgement? {
        guard case .judged(let judgement) = document.findings.first else { return nil }
        return judgement
    }

    private func rejection(_ document: SignedDocument) -> Rejection? {
        guard case .rejected(let rejection) = document.findings.first else { return nil }
        return rejection
    }

    @Test("every published document gets its verdict, or the reason why a worker rejects it")
    func everyVector() throws {
        var rejected: [RejectionReason] = []
        for vector in try vectors() {
            let document = try verify(vector, verifier())
            #expect(document.findings.count == 1)
            if let rejection = rejection(document) {
                rejected.append(rejection.reason)
            } else {
                #expect(judgement(document)?.verdict.name == vector["verdict"] as? String)
            }
        }
        #expect(rejected == [.outOfRange, .missingField, .missingField])
    }

    /// Documents of a file, and the exit code of `weir verify`.
    private static let files: [(documents: [String], status: Int32)] = [
        (["postback-4.0"], 0), (["postback-2.0"], 0), (["altered"], 1),
        (["postback-adattributionkit"], 1), (["postback-4.0", "altered"], 1), (["{"], 2),
        ([""], 2), ([#"{"transaction-id": 7}"#], 2), (["not JSON"], 2),
        (["altered", "{", "postback-4.0"], 2),
        ([#"{"version":"9.0","ad-network-id":"n","transaction-id":"t","app-id":1}"#], 1),
    ]

    @Test(
        "scripts see the result in the exit code: 0 genuine, 1 not, 2 what cannot be judged, the worst of all",
        arguments: files)
    func exitCodes(_ documents: [String], _ status: Int32) throws {
        let workspace = try TemporaryDirectory()
        let text = try documents.map { name in
            if name == "altered" {
                return try Repository.text("examples/requests/postback-4.0.json")
                    .replacing("525463029", with: "525463030")
            }
            return name.hasPrefix("postback-")
                ? try Repository.text("examples/requests/\(name).json") : name
        }
        let file = try workspace.write(text.joined(separator: "\n"), to: "documents.json")
        for format in ["table", "json"] {
            let program = try Program.run(
                "weir",
                ["verify", file, "--format", format, "--pipelines", Repository.path("pipelines")])
            #expect(program.status == status, "\(program.output) \(program.error)")
        }
    }

    @Test("a signature of a development device is genuine where the configuration trusts these")
    func trustedDevelopment() throws {
        let workspace = try TemporaryDirectory()
        try workspace.write("trust_development: true\n", to: "postbacks.yaml")
        let file = Repository.path("examples/requests/postback-adattributionkit.json")
        let program = try Program.run("weir", ["verify", file, "--pipelines", workspace.path])
        #expect(program.status == 0, "\(program.error)")
        #expect(program.output.contains("verdict: development"))
    }

    @Test(
        "what keeps the command from judging ends it with 2 and a line, a wrong command line with 64"
    )
    func unreadable() throws {
        let workspace = try TemporaryDirectory()
        let missing = try Program.run("weir", ["verify", "\(workspace.path)/none.json"])
        #expect(missing.status == 2 && missing.error.contains("none.json"))
        try workspace.write("trust_development: perhaps\n", to: "postbacks.yaml")
        let file = Repository.path("examples/requests/postback-4.0.json")
        let misconfigured = try Program.run(
            "weir", ["verify", file, "--pipelines", workspace.path])
        #expect(misconfigured.status == 2 && misconfigured.error.contains("postbacks.yaml:1"))
        #expect(try Program.run("weir", ["verify", file, "--key", "x"]).status == 64)
        #expect(try Program.run("weir", ["verify", file, "--via", "x"]).status == 64)
    }

    @Test("a line of a record stands for its value, in each of the forms that publish reads")
    func recordLines() throws {
        let text = try #require(
            Repository.text("examples/postbacks.ndjson").split(separator: "\n").first)
        let line = try #require(
            JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let postback = try JSONSerialization.data(
            withJSONObject: #require(line["value"]), options: .sortedKeys)
        for form: [String: Any] in [
            line, ["text": String(decoding: postback, as: UTF8.self), "key": "k"],
            ["base64": postback.base64EncodedString()],
        ] {
            let document = try verify(form, verifier())
            #expect(document.title == "SKAdNetwork postback")
            #expect(judgement(document)?.verdict == .valid)
        }
    }

    @Test("a line of a record that says ce_via relay is judged as a relay's copy")
    func relayedLine() throws {
        let vector = try #require(try vectors().first { $0["kind"] as? String == "skan-postback" })
        for (via, isRelayed) in [("relay", true), ("device", false)] {
            let document = try verify(
                ["headers": ["ce_via": via], "value": #require(vector["postback"])], verifier())
            #expect((judgement(document)?.form != nil) == isRelayed)
        }
    }

    @Test("the signed fields are those that Apple joined, value by value")
    func signedFields() throws {
        var compared = 0
        for vector in try vectors() {
            guard let judgement = judgement(try verify(vector, verifier())),
                let signed = vector["signed"] as? String, judgement.verdict != .unverifiable
            else { continue }
            #expect(
                judgement.signed.compactMap(\.value) == signed.components(separatedBy: "\u{2063}"))
            compared += 1
        }
        #expect(compared >= 25)
    }

    @Test("what is not signed is shown as such, and the signature itself is not")
    func unsignedFields() throws {
        for vector in try vectors() {
            guard let judgement = judgement(try verify(vector, verifier())),
                let fields = vector["postback"] as? [String: Any]
            else { continue }
            let signed = Set(judgement.signed.map(\.name))
            let unsigned = Set(judgement.unsigned.map(\.name))
            #expect(signed.isDisjoint(with: unsigned))
            if fields["conversion-value"] != nil { #expect(unsigned.contains("conversion-value")) }
            #expect(!unsigned.contains("attribution-signature"))
            #expect(!unsigned.contains("jws-string"))
            #expect(!unsigned.contains("signature"))
        }
    }

    @Test("a postback stands alone as well as in a line with its kind")
    func bareDocuments() throws {
        for vector in try vectors() where vector["kind"] as? String != "ad-signature" {
            let bare = try #require(vector["postback"] as? [String: Any])
            let alone = try verify(bare, verifier()).table
            let wrapped = try verify(vector, verifier()).table
            #expect(alone == wrapped)
        }
    }

    @Test("a word that is not known here is judged and shown as it came")
    func otherWords() throws {
        let claims = """
            {"postback-identifier":"t","ad-network-identifier":"n","source-identifier":"1",\
            "advertised-item-identifier":1,"conversion-type":"pre-order",\
            "marketplace-identifier":"com.example.market"}
            """
        let jws = try PostbackSigner().jws(
            header: #"{"kid":"nobody's","alg":"ES256"}"#, payload: claims)
        let document = try verify(["jws-string": jws, "ad-interaction-type": "hover"], verifier())
        let found = try #require(judgement(document), "\(document.table)")
        #expect(found.verdict == .unverifiable)
        #expect(found.unsigned.map(\.value) == ["hover"])
        let signed = Dictionary(uniqueKeysWithValues: found.signed.map { ($0.name, $0.value) })
        #expect(signed["conversion-type"] == "pre-order")
        #expect(signed["marketplace-identifier"] == "com.example.market")
    }

    @Test("a relay's zeros are left out where the signature holds without them")
    func relays() throws {
        let vector = try #require(
            try vectors().first {
                let fields = $0["postback"] as? [String: Any]
                return $0["verdict"] as? String == "valid" && fields?["version"] as? String == "2.1"
                    && fields?["source-app-id"] == nil
            })
        var fields = try #require(vector["postback"] as? [String: Any])
        fields["source-app-id"] = 0
        #expect(judgement(try verify(fields, verifier()))?.verdict == .invalid)
        let relayed = judgement(try verify(fields, verifier(isRelayed: true)))
        #expect(relayed?.verdict == .valid)
        #expect(relayed?.form == .withoutSourceApp)
        #expect(relayed?.unsigned.map(\.name).contains("source-app-id") == true)
    }

    @Test("an ad is unverifiable without its network's key, and invalid under another")
    func adKeys() throws {
        for vector in try vectors() where vector["kind"] as? String == "ad-signature" {
            let bare = try #require(vector["postback"] as? [String: Any])
            #expect(judgement(try verify(bare, verifier()))?.verdict == .unverifiable)
            let own = try #require(VerificationKey(base64: vector["public_key"] as? String ?? ""))
            let adKeys = try verifier(adKeys: [own])
            #expect(judgement(try verify(bare, adKeys))?.verdict == .valid)
            var altered = bare
            altered["timestamp"] = 1
            #expect(judgement(try verify(altered, adKeys))?.verdict == .invalid)
        }
    }

    @Test("the skadn object of a bid has a finding for each fidelity")
    func openRTB() throws {
        let sample = try #require(
            try vectors().first {
                ($0["postback"] as? [String: Any])?["adNetworkIdentifier"] != nil
            })
        let ad = try #require(sample["postback"] as? [String: Any])
        let key = try #require(VerificationKey(base64: sample["public_key"] as? String ?? ""))
        let fidelity: [String: Any] = [
            "fidelity": 0, "nonce": ad["adImpressionIdentifier"] ?? "",
            "timestamp": "1676057605705", "signature": ad["signature"] ?? "",
        ]
        let skadn: [String: Any] = [
            "version": "4.0", "network": "COM.apple.test-1", "sourceidentifier": "3120",
            "itunesitem": "525463029", "sourceapp": "0",
            "fidelities": [fidelity, fidelity.merging(["fidelity": 1]) { $1 }],
            "skoverlay": ["delay": 5],
        ]
        for document in [skadn, ["id": "1", "ext": ["skadn": skadn]]] {
            let found = try verify(document, verifier(adKeys: [key]))
            let verdicts = found.findings.map { finding -> Verdict? in
                guard case .judged(let judgement) = finding else { return nil }
                return judgement.verdict
            }
            #expect(verdicts == [.valid, .invalid])
            #expect(judgement(found)?.unsigned.map(\.name) == ["skoverlay"])
        }
    }

    @Test("an ad without a field that every ad has is rejected by name")
    func incompleteAds() throws {
        let document = try verify(["version": "4.0", "ad_network_id": "n"], verifier())
        #expect(rejection(document) == Rejection(.missingField, "signature is missing"))
        #expect(document.table == "ad signature\nrejected: missing_field (signature is missing)\n")
    }

    @Test("a file holds one document over many lines, or many behind one another")
    func sequences() {
        func documents(_ text: String) -> [String] {
            Array(text.utf8).withUnsafeBytes { bytes in
                DocumentSequence(bytes).map { String(decoding: $0, as: UTF8.self) }
            }
        }
        #expect(documents("{\n \"a\": 1\n}\n") == ["{\n \"a\": 1\n}"])
        #expect(documents("{}\n[]\r\n\n {\"a\":{}}") == ["{}", "[]", "{\"a\":{}}"])
        #expect(documents("{\"a\":}\n{}") == ["{\"a\":}", "{}"])
        #expect(documents("{\n\"a\":\n}") == ["{\n\"a\":\n}"])
        #expect(documents(" \n").isEmpty)
    }

    @Test("what is no JSON is rejected as the worker rejects it")
    func malformed() throws {
        let document = Array("{\"a\":}".utf8).withUnsafeBytes { try? verifier().verify($0) }
        #expect(document.flatMap(rejection)?.reason == .malformedJSON)
    }
}
