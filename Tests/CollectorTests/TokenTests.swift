import ConfigurationFiles
import ConfigurationValues
import Foundation
import JSON
import Streams
import Testing

@testable import Collector
@testable import Tokens

@Suite("Tokens")
struct TokenTests {
    private static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    private func token(
        _ use: TokenUse, type: String? = nil,
        event: String = #"{"impression_id":"i-1","initiated_by":"user"}"#,
        open: [String] = [], target: String? = nil, expiresIn: Int64 = 300, at now: Int64 = Self.now
    ) throws -> EventToken {
        try EventToken(
            use: use, type: type ?? use.types[0], event: event, openMembers: open,
            target: target ?? (use == .click ? "https://example.com/landing?x=1" : ""),
            expiresAtSeconds: now + expiresIn)
    }

    @Test("report what they carry, and nothing that the query says beside it")
    func impression() throws {
        let workspace = try CollectorWorkspace()
        let event = #"{"impression_id":"i-1","campaign":{"ad_network_id":"n","campaign_id":45}}"#
        let text = try #require(
            try workspace.tokenKeys.sign(token(.impression, event: event, open: ["zone_id"])))
        let answer = try workspace.get(
            "/i?t=\(text)&zone_id=z%201&impression_id=other&os_version=9")
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == "image/gif")
        #expect(answer.headers["cache-control"] == "no-store")
        #expect(answer.body.starts(with: Array("GIF89a".utf8)))
        let record = try #require(try workspace.records("impressions").first)
        #expect(record.key == "i-1")
        #expect(record.headers["ce_type"] == "skoverlay.presented")
        #expect(
            record.text
                == #"{"impression_id":"i-1","campaign":{"ad_network_id":"n","campaign_id":45},"zone_id":"z 1"}"#
        )
    }

    @Test("of clicks carry the overlay as the bid sent it, and redirect to their own target only")
    func click() throws {
        let workspace = try CollectorWorkspace()
        let event =
            #"{"impression_id":"i-1","initiated_by":"user","overlay":{"present":1,"click":1,"x":0.50}}"#
        let text = try #require(
            try workspace.tokenKeys.sign(token(.click, event: event, open: ["presented_at_ms"])))
        let answer = try workspace.get(
            "/c?t=\(text)&click_id=mine&presented_at_ms=5&to=https://evil.example/&url=//evil.example&initiated_by=automatic"
        )
        #expect(answer.status == 302)
        #expect(answer.headers["location"] == "https://example.com/landing?x=1")
        let record = try #require(try workspace.records("overlay-clicks").first)
        let id = try #require(record["click_id"] as? String)
        #expect(id.utf8.count == 22)
        #expect(record["presented_at_ms"] as? Int == 5)
        #expect(record["initiated_by"] as? String == "user")
        #expect((record["overlay"] as? [String: Any])?["present"] as? Int == 1)
        let clicked = try #require(record["clicked_at_ms"] as? Int)
        #expect(abs(clicked - record.timestampMilliseconds.asInt) < 10_000)
    }

    @Test("are one click however often they are followed, and another one each")
    func oneClick() throws {
        let workspace = try CollectorWorkspace()
        let keys = try workspace.tokenKeys
        let one = try #require(try keys.sign(token(.click, event: Self.click("i-1"))))
        let other = try #require(try keys.sign(token(.click, event: Self.click("i-2"))))
        let own = try #require(
            try keys.sign(token(.click, event: Self.click("i-3", more: #","click_id":"own""#))))
        for text in [one, one + "&click_id=2", one + "&initiated_by=automatic", other, own] {
            #expect(try workspace.get("/c?t=\(text)").status == 302)
        }
        let ids = try workspace.records("overlay-clicks").map { $0["click_id"] as? String }
        #expect(ids.allSatisfy { $0?.isEmpty == false })
        #expect(Set(ids).count == 3)
        #expect(ids.contains("own"))
    }

    private static func click(_ impression: String, more: String = "") -> String {
        #"{"impression_id":"\#(impression)","initiated_by":"user"\#(more)}"#
    }

    @Test(
        "are taken for no longer than their topic's worker remembers, as its file or Weir's has it",
        arguments: [
            (TokenUse.impression, "", 601_200, 603_000), (.click, "", 601_200, 603_000),
            (.notice, "", 3540, 3570), (.notice, "dedupe_window_seconds: 120\n", 118, 119),
            (.notice, "dedupe_window_seconds: 0\n", 0, 0),
        ])
    func lifetime(_ use: TokenUse, _ file: String, _ made: Int64, _ accepted: Int64) throws {
        let workspace = try CollectorWorkspace()
        if !file.isEmpty {
            try Data(file.utf8).write(to: URL(fileURLWithPath: workspace.path + "/bids.yaml"))
        }
        let lifetimes = try TokenLifetimes(PipelineDirectory(workspace.path))
        #expect(lifetimes.longestSeconds(use) == made)
        let keys = TokenKeys(try workspace.tokenKeysOfFile, lifetimes: lifetimes)
        let event = #"{"impression_id":"i","auction_id":"a","bid_id":"b"}"#
        let instant = Self.now
        let text = try #require(
            try keys.sign(token(use, event: event, expiresIn: accepted + 1, at: instant)))
        let now = instant * 1000
        #expect(throws: TokenFault.lastsTooLong(longestSeconds: made)) {
            try keys.read(text, for: use, atMilliseconds: now)
        }
        let later = now + 1000
        if accepted > 0 {
            #expect(try keys.read(text, for: use, atMilliseconds: later).use == use)
        } else {
            #expect(throws: TokenFault.expired) {
                try keys.read(text, for: use, atMilliseconds: later)
            }
        }
    }

    @Test("of ten years are refused by the collector")
    func tenYears() throws {
        let workspace = try CollectorWorkspace()
        let text = try #require(try workspace.tokenKeys.sign(token(.click, expiresIn: 315_360_000)))
        let answer = try workspace.get("/c?t=\(text)")
        #expect(answer.status == 403)
        #expect(answer.text.contains("at most 601200 s"))
        #expect(try workspace.records("overlay-clicks").isEmpty)
    }

    @Test("longer than are read are not made, and are called too long")
    func tooLong() throws {
        let keys = try CollectorWorkspace().tokenKeys
        let event = #"{"impression_id":"i-1","x":"\#(String(repeating: "x", count: 7000))"}"#
        #expect(throws: TokenFault.self) { try keys.sign(token(.impression, event: event)) }
        let text = String(repeating: "x", count: TokenKeys.maxBytes + 1)
        #expect(throws: TokenFault.tooLong(byteCount: text.utf8.count)) {
            try keys.read(text, for: .impression)
        }
    }

    @Test(
        "that are forged, altered, expired, cut or of another use are refused, and report nothing")
    func refused() throws {
        let workspace = try CollectorWorkspace()
        let keys = try workspace.tokenKeys
        let good = try #require(try keys.sign(token(.click)))
        let parts = good.split(separator: ".").map(String.init)
        let strangers = TokenKeys([])
        #expect(try strangers.sign(token(.click)) == nil)
        let expired = try #require(try keys.sign(token(.click, expiresIn: -1)))
        #expect(try workspace.get("/c?t=\(expired)").error == "expired_token")
        let impression = try #require(try keys.sign(token(.impression)))
        let second = Base64.url.encode(#"{"alg":"HS256","typ":"JWT","kid":"k2"}"#.utf8)
        let evil = Base64.url.encode(
            #"{"aud":"click","exp":9999999999,"type":"skoverlay.click","to":"https://evil.example/","event":{}}"#
                .utf8)
        var forged = [
            "", ".", "..", "a.b.c", parts[0], parts[0] + "." + parts[1],
            second + "." + parts[1] + "." + parts[2], "k1." + parts[1] + "." + parts[2],
            parts[0] + "." + parts[1] + ".", good + "A", good + ".A", good + "=", impression,
            parts[0] + "." + evil + "." + parts[2],
        ]
        // Every byte of it counts.
        for index in good.indices where good[index] != "." {
            var altered = good
            altered.replaceSubrange(index...index, with: good[index] == "A" ? "B" : "A")
            forged.append(altered)
        }
        for text in forged {
            let answer = try workspace.get("/c?t=\(text)")
            #expect(answer.status == 403, "\(text)")
            #expect(answer.headers["location"] == nil)
        }
        #expect(try workspace.get("/i?t=\(good)").status == 403)
        #expect(try workspace.get("/c").status == 403)
        #expect(try workspace.records("overlay-clicks").isEmpty)
        #expect(try workspace.records("impressions").isEmpty)
    }

    @Test("of a key that no longer signs are still believed")
    func rotation() throws {
        let workspace = try CollectorWorkspace()
        let old = TokenKeys(try workspace.tokenKeysOfFile.filter { $0.id == "k2" })
        let text = try #require(try old.sign(token(.click)))
        #expect(
            text.hasPrefix(Base64.url.encode(#"{"alg":"HS256","typ":"JWT","kid":"k2"}"#.utf8) + ".")
        )
        #expect(try workspace.get("/c?t=\(text)").status == 302)
    }

    @Test(
        "do not name targets that are no address of the web, or look like another one",
        arguments: [
            "", "/landing", "//evil.example", "javascript:alert(1)", "ftp://example.com",
            "https://", "https:///x", "https://?x", "https://a b",
            "https://good.example@evil.example/", "https://good.example\\@evil.example",
            "https://x\r\nSet-Cookie: a=b", "https://ex\u{e4}mple.com", "HTTPS://example.com",
            " https://example.com",
        ])
    func targets(_ target: String) throws {
        #expect(throws: TokenFault.self) { _ = try token(.click, target: target) }
    }

    @Test("leave open only what may be left open, and are of types of their use only")
    func bounds() throws {
        #expect(throws: TokenFault.self) { _ = try token(.click, open: ["impression_id"]) }
        #expect(throws: TokenFault.self) { _ = try token(.click, open: ["overlay"]) }
        #expect(throws: TokenFault.self) { _ = try token(.click, open: ["click_id"]) }
        #expect(throws: TokenFault.self) { _ = try token(.impression, open: ["click_id"]) }
        #expect(throws: TokenFault.self) { _ = try token(.impression, type: "inapp.impression") }
        #expect(throws: TokenFault.self) { _ = try token(.impression, target: "https://a.example") }
    }

    @Test(
        "bind what a notice says, whatever its query says; and are asked for where they have to be")
    func notices() throws {
        let workspace = try CollectorWorkspace()
        let text = try #require(
            try workspace.tokenKeys.sign(
                token(
                    .notice, type: "openrtb.win",
                    event: #"{"auction_id":"a-1","bid_id":"b-1","campaign":{"ad_network_id":"n"}}"#)
            ))
        let query = "auction_id=other&bid_id=b&seat=s&ad_network_id=evil&price=2"
        #expect(try workspace.get("/v1/notices/win?\(query)").status == 403)
        #expect(try workspace.get("/v1/notices/billing?\(query)&t=\(text)").status == 403)
        #expect(try workspace.get("/v1/notices/win?\(query)&t=\(text)").status == 200)
        let record = try #require(try workspace.records("bids").first)
        #expect(record.key == "a-1")
        #expect((record["campaign"] as? [String: String]) == ["ad_network_id": "n"])
        #expect(record["bid_id"] as? String == "b-1")
        #expect(record["seat"] == nil, "it would tell one notice from another")
        #expect(record["price"] as? Double == 2)
        let bare = try #require(
            try workspace.tokenKeys.sign(
                token(
                    .notice, type: "openrtb.billing",
                    event: #"{"auction_id":"a-2","bid_id":"b-2"}"#)))
        #expect(try workspace.get("/v1/notices/billing?\(query)&t=\(bare)").status == 200)
        let billing = try #require(try workspace.records("bids").last { $0.key == "a-2" })
        #expect(billing["campaign"] == nil, "the sender would choose who pays")
    }

    @Test(
        "of notices that do not fix the bid are of no use",
        arguments: [
            "{}", #"{"auction_id":"a"}"#, #"{"bid_id":"b"}"#, #"{"auction_id":"a","bid_id":""}"#,
        ])
    func looseNotices(_ event: String) throws {
        let workspace = try CollectorWorkspace()
        let text = try #require(
            try workspace.tokenKeys.sign(token(.notice, type: "openrtb.billing", event: event)))
        let answer = try workspace.get(
            "/v1/notices/billing?auction_id=a&bid_id=b&price=2&t=\(text)")
        #expect(answer.status == 403)
        #expect(try workspace.records("bids").isEmpty)
    }

    @Test("are not asked of notices where the configuration says so")
    func openNotices() throws {
        let workspace = try CollectorWorkspace(yaml: "require_notice_tokens: false\n")
        #expect(try workspace.get("/v1/notices/win?auction_id=a&bid_id=b").status == 200)
    }
}

extension Int64 {
    fileprivate var asInt: Int { Int(self) }
}
