import Signatures
import Streams
import TestKit
import Testing

@Suite("Postbacks that Apple and others published")
struct PostbackVectorTests {
    private func vectors(_ kind: String) throws -> [Document] {
        try Repository.text("Tests/SignaturesTests/Vectors/skadnetwork.jsonl").split(
            separator: "\n"
        )
        .map { try Document(text: $0) }.filter { $0["kind"]?.string == kind }
    }

    private var apple: PostbackPipeline { PostbackPipeline(keys: Result { try TrustedKeys() }) }

    @Test("each is counted under its verdict, or refused as the contract says")
    func verdicts() throws {
        var accepted = 0
        for vector in try vectors("skan-postback") {
            let postback = try #require(vector["postback"])
            let result = try foldPostbacks([TestRecord(postback)], .together, apple)
            let note = vector["note"]?.string ?? ""
            if let reason = Self.refusal(of: postback) {
                #expect(result.reasons == [reason], "\(note)")
                continue
            }
            accepted += 1
            let row = try #require(result.rows("postbacks").first, "\(note) \(result.refused)")
            #expect(row["verdict"] == .text(vector["verdict"]?.string ?? ""), "\(note)")
            #expect(row["framework"] == "skadnetwork")
            #expect(row["version"] == .text(postback["version"]?.string ?? "1.0"))
            #expect(row["app_id"] == .integer(postback["app-id"]?.integer ?? 0))
            #expect(row["postbacks"] == 1)
        }
        #expect(accepted >= 24)
    }

    /// The rules of section 6 that published postbacks break.
    private static func refusal(of postback: Document) -> String? {
        let version = postback["version"]?.string ?? "1.0"
        var required = ["ad-network-id", "transaction-id", "app-id"]
        if ["1.0", "2.0", "2.1", "2.2", "3.0"].contains(version) { required.append("campaign-id") }
        if version == "4.0" { required.append("source-identifier") }
        if required.contains(where: { postback[$0] == nil }) { return "missing_field" }
        let coarse = postback["coarse-conversion-value"]?.string
        if let coarse, !["low", "medium", "high"].contains(coarse) { return "out_of_range" }
        return nil
    }

    @Test("Apple's published JWS is a development postback, with all that it claims")
    func jws() throws {
        let vector = try #require(vectors("aak-postback").first?["postback"])
        let record = TestRecord(vector, type: "adattributionkit.postback")
        let result = try foldPostbacks([record], .together, apple)
        let row = try #require(result.rows("postbacks").first, "\(result.refused)")
        #expect(row["verdict"] == "development")
        #expect(row["framework"] == "adattributionkit")
        #expect(row["ad_network_id"] == "development.adattributionkit")
        #expect(row["campaign"] == "1234")
        #expect(row["app_id"] == 10_738_027_756)
        #expect(row["conversion_type"] == "re-engagement")
        #expect(row["marketplace"] == "com.apple.AppStore")
        #expect(row["did_win"] == true)
        #expect(row["version"] == nil)
    }
}
