import Collector
import Foundation
import Testing

@Suite("Tokens")
struct TokenTests {
    private static let now = Int64(Date().timeIntervalSince1970)

    private func token(
        _ use: TokenUse, type: String? = nil, event: String = #"{"impression_id":"i-1"}"#,
        open: [String] = [], target: String? = nil, expiresIn: Int64 = 60
    ) throws -> EventToken {
        try EventToken(
            use: use, type: type ?? use.types[0], event: event, openMembers: open,
            target: target ?? (use == .click ? "https://example.com/landing?x=1" : ""),
            expiresAtSeconds: Self.now + expiresIn)
    }

    @Test("report what they carry, and nothing that the query says beside it")
    func impression() throws {
        let place = try CollectorPlace()
        let event = #"{"impression_id":"i-1","campaign":{"ad_network_id":"n","campaign_id":45}}"#
        let text = try #require(
            try place.tokenKeys.sign(token(.impression, event: event, open: ["zone_id"])))
        let answer = try place.requests.get(
            "/i?t=\(text)&zone_id=z%201&impression_id=other&os_version=9")
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == "image/gif")
        #expect(answer.headers["cache-control"] == "no-store")
        #expect(answer.body.starts(with: Array("GIF89a".utf8)))
        let record = try #require(try place.records("impressions").first)
        #expect(record.key == "i-1")
        #expect(record.headers["ce_type"] == "skoverlay.presented")
        #expect(
            record.text
                == #"{"impression_id":"i-1","campaign":{"ad_network_id":"n","campaign_id":45},"zone_id":"z 1"}"#
        )
    }

    @Test("of clicks carry the overlay as the bid sent it, and redirect to their own target only")
    func click() throws {
        let place = try CollectorPlace()
        let event =
            #"{"impression_id":"i-1","initiated_by":"user","overlay":{"present":1,"click":1,"x":0.50}}"#
        let text = try #require(
            try place.tokenKeys.sign(
                token(.click, event: event, open: ["click_id", "presented_at_ms"])))
        let answer = try place.requests.get(
            "/c?t=\(text)&click_id=c-1&presented_at_ms=5&to=https://evil.example/&url=//evil.example&initiated_by=automatic"
        )
        #expect(answer.status == 302)
        #expect(answer.headers["location"] == "https://example.com/landing?x=1")
        let record = try #require(try place.records("overlay-clicks").first)
        #expect(record["click_id"] as? String == "c-1")
        #expect(record["presented_at_ms"] as? Int == 5)
        #expect(record["initiated_by"] as? String == "user")
        #expect((record["overlay"] as? [String: Any])?["present"] as? Int == 1)
        let clicked = try #require(record["clicked_at_ms"] as? Int)
        #expect(abs(clicked - record.timestampMilliseconds.asInt) < 10_000)
    }

    @Test(
        "that are forged, altered, expired, cut or of another use are refused, and report nothing")
    func refused() throws {
        let place = try CollectorPlace()
        let keys = try place.tokenKeys
        let good = try #require(try keys.sign(token(.click)))
        let parts = good.split(separator: ".").map(String.init)
        let strangers = TokenKeys([])
        #expect(try strangers.sign(token(.click)) == nil)
        let expired = try #require(try keys.sign(token(.click, expiresIn: -1)))
        #expect(try place.requests.get("/c?t=\(expired)").error == "expired_token")
        let impression = try #require(try keys.sign(token(.impression)))
        var forged = [
            "", ".", "..", "a.b.c", parts[0], parts[0] + "." + parts[1],
            "k2." + parts[1] + "." + parts[2], parts[0] + "." + parts[1] + ".",
            good + "A", good + ".A", good + "=", impression,
            parts[0] + "."
                + Data(
                    #"{"x":9999999999,"t":"skoverlay.click","u":"https://evil.example/","e":{}}"#
                        .utf8
                ).base64EncodedString() + "." + parts[2],
        ]
        // Every byte of it counts.
        for index in good.indices where good[index] != "." {
            var altered = good
            altered.replaceSubrange(index...index, with: good[index] == "A" ? "B" : "A")
            forged.append(altered)
        }
        for text in forged {
            let answer = try place.requests.get("/c?t=\(text)")
            #expect(answer.status == 403, "\(text)")
            #expect(answer.headers["location"] == nil)
        }
        #expect(try place.requests.get("/i?t=\(good)").status == 403)
        #expect(try place.requests.get("/c").status == 403)
        #expect(try place.records("overlay-clicks").isEmpty)
        #expect(try place.records("impressions").isEmpty)
    }

    @Test("of a key that no longer signs are still believed")
    func rotation() throws {
        let place = try CollectorPlace()
        let old = TokenKeys(
            try place.tokenKeysOfFile.filter { $0.id == "k2" })
        let text = try #require(try old.sign(token(.click)))
        #expect(text.hasPrefix("k2."))
        #expect(try place.requests.get("/c?t=\(text)").status == 302)
    }

    @Test(
        "do not name targets that are no address of the web, or look like another one",
        arguments: [
            "", "/landing", "//evil.example", "javascript:alert(1)", "ftp://example.com",
            "https://", "https:///x", "https://?x", "https://a b",
            "https://good.example@evil.example/",
            "https://good.example\\@evil.example", "https://x\r\nSet-Cookie: a=b",
            "https://ex\u{e4}mple.com",
            "HTTPS://example.com", " https://example.com",
        ])
    func targets(_ target: String) throws {
        #expect(throws: TokenFault.self) { _ = try token(.click, target: target) }
    }

    @Test("leave open only what may be left open, and are of types of their use only")
    func bounds() throws {
        #expect(throws: TokenFault.self) { _ = try token(.click, open: ["impression_id"]) }
        #expect(throws: TokenFault.self) { _ = try token(.click, open: ["overlay"]) }
        #expect(throws: TokenFault.self) { _ = try token(.impression, open: ["click_id"]) }
        #expect(throws: TokenFault.self) { _ = try token(.impression, type: "inapp.impression") }
        #expect(throws: TokenFault.self) { _ = try token(.impression, target: "https://a.example") }
    }

    @Test(
        "bind what a notice says, whatever its query says; and are asked for where they have to be")
    func notices() throws {
        let place = try CollectorPlace(yaml: "require_notice_tokens: true\n")
        let text = try #require(
            try place.tokenKeys.sign(
                token(
                    .notice, type: "openrtb.win",
                    event: #"{"auction_id":"a-1","campaign":{"ad_network_id":"n"}}"#)))
        let query = "auction_id=other&bid_id=b&ad_network_id=evil&price=2"
        #expect(try place.requests.get("/v1/notices/win?\(query)").status == 403)
        #expect(try place.requests.get("/v1/notices/billing?\(query)&t=\(text)").status == 403)
        #expect(try place.requests.get("/v1/notices/win?\(query)&t=\(text)").status == 200)
        let record = try #require(try place.records("bids").first)
        #expect(record.key == "a-1")
        #expect((record["campaign"] as? [String: String]) == ["ad_network_id": "n"])
        #expect(record["bid_id"] as? String == "b")
    }
}

extension Int64 {
    fileprivate var asInt: Int { Int(self) }
}
