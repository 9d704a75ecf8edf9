import Crypto
import Foundation
import Testing

@testable import Collector

@Suite("Tokens that a bidder signed itself, in the form before JWT")
struct SignedTokenTests {
    /// A day from now: the arguments of tests are made before the first test of the whole suite runs.
    private static let end = Int64(Date().timeIntervalSince1970) + 86_400

    /// A token of whatever payload.
    private func sign(_ payload: String, use: String = "c") -> String {
        func base64(_ data: Data) -> String {
            data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        let payload = base64(Data(payload.utf8))
        let signature = HMAC<SHA256>.authenticationCode(
            for: Data("weir token 1\n\(use)\nk1\n\(payload)".utf8),
            using: SymmetricKey(data: Data(CollectorPlace.secret.utf8)))
        return "k1.\(payload).\(base64(Data(signature)))"
    }

    private static func payload(
        _ x: String = "\(end)", t: String = #""t":"skoverlay.click","#, o: String = "",
        u: String = #""u":"https://a.example/","#,
        e: String = #"{"impression_id":"i","initiated_by":"user"}"#
    ) -> String { #"{"x":\#(x),\#(t)\#(o)\#(u)"e":\#(e)}"# }

    @Test("are taken when they are as the page says")
    func taken() throws {
        let place = try CollectorPlace()
        let text = sign(Self.payload(o: #""o":["presented_at_ms"],"#))
        #expect(try place.get("/c?t=\(text)&presented_at_ms=7").status == 302)
        #expect(try place.records("overlay-clicks").first?["presented_at_ms"] as? Int == 7)
    }

    @Test(
        "and are wrong are told what is wrong, not that they are unsigned",
        arguments: [
            (payload("\(end).5"), "x of the token"), (payload(#""\#(end)""#), "x of the token"),
            (payload(t: ""), "t of the token"), (payload(e: "[]"), "e of the token"),
            (payload(u: #""u":5,"#), "u of the token"), (payload(u: ""), "needs a target"),
            (payload(o: #""o":"presented_at_ms","#), "o of the token"),
            (payload(o: #""o":[1],"#), "o of the token"),
            ("not json", "not JSON"), ("[]", "not a JSON object"),
        ])
    func wrong(_ payload: String, _ words: String) throws {
        let place = try CollectorPlace()
        let answer = try place.get("/c?t=\(sign(payload))")
        #expect(answer.status == 403)
        #expect(answer.error == "bad_token")
        #expect(answer.text.contains(words), "\(answer.text)")
        #expect(try place.records("overlay-clicks").isEmpty)
        let other = try place.get("/c?t=\(sign(payload, use: "i"))")
        #expect(other.text.contains("not signed"), "whoever has no signature is told nothing")
    }

    @Test("say what may be left open of a notice: nothing")
    func openNotice() throws {
        let place = try CollectorPlace()
        let payload = Self.payload(
            t: #""t":"openrtb.win","#, o: #""o":["price"],"#, u: "",
            e: #"{"auction_id":"a","bid_id":"b"}"#)
        let answer = try place.get("/v1/notices/win?t=\(sign(payload, use: "n"))")
        #expect(answer.status == 403)
        #expect(answer.text.contains("tokens of this use can open no members"), "\(answer.text)")
    }
}
