import Foundation
import JSON
import TestKit
import Testing

@testable import Deliveries
@testable import HTTPClient

@Suite("Values in their places")
struct EncodingTests {
    /// Texts that mean something to somebody on the way.
    private static let nasty = [
        "", " ", "a b", "&x=y", "?", "#", "%00", "%", "/../", "..", ".", "\"", "\\", "\"}", "{id}",
        "\r\n", "\r\nX-Evil: 1", "\n", "\u{0}", "\u{7F}", "\t", "é", "\u{1F600}", "\u{2028}", "+",
        ";", "<script>", "a@b", "[1]", "\u{85}", "ß=ẞ", ",", "'",
    ]

    private static func texts() -> [String] {
        var generator = SeededGenerator(seed: 41)
        return nasty
            + (0..<300).map { _ in
                String(
                    String.UnicodeScalarView(
                        (0..<Int.random(in: 1...12, using: &generator)).compactMap { _ in
                            Unicode.Scalar(
                                UInt32.random(
                                    in: 0...(Bool.random(using: &generator) ? 0x7F : 0x2FFF),
                                    using: &generator))
                        }))
            }
    }

    @Test("no value leaves its place in an address, and it is what is decoded there")
    func address() throws {
        let files = try PartnerFiles(
            "url: https://e.example/a/{campaign.name}/b?x={campaign.name}&y=1\nmissing: empty")
        for text in Self.texts() {
            let document = Documents.install(campaign: text)
            let request: OutgoingRequest
            do {
                request = try #require(try files.request(document))
            } catch let fault as RenderingFault {
                guard case .unusable("path", _) = fault else { throw fault }
                #expect(text == "." || text == "..", "\(text.debugDescription)")
                continue
            }
            let visible = request.url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            #expect(visible, "\(request.url)")
            let parts = request.url.split(separator: "?", omittingEmptySubsequences: false)
            try #require(parts.count == 2, "\(request.url)")
            let path = parts[0].split(separator: "/", omittingEmptySubsequences: false)
            try #require(path.count == 6, "\(request.url)")
            #expect(path[0] == "https:" && path[2] == "e.example" && path[5] == "b")
            #expect(path[4].removingPercentEncoding == text)
            let pairs = parts[1].split(separator: "&", omittingEmptySubsequences: false)
            try #require(pairs.count == 2 && pairs[1] == "y=1", "\(request.url)")
            #expect(pairs[0].dropFirst(2).removingPercentEncoding == text)
            #expect(!request.url.contains("#"))
        }
    }

    @Test("no value leaves its field of a form, and it is what is decoded there")
    func form() throws {
        let files = try PartnerFiles(
            "url: https://e.example/\nbody: {form: {a: \"{campaign.name}\", \"b&\": \"x y {campaign.name}\"}}"
        )
        for text in Self.texts() {
            let request = try #require(try files.request(Documents.install(campaign: text)))
            let body = String(decoding: request.body ?? [], as: UTF8.self)
            let pairs = body.split(separator: "&", omittingEmptySubsequences: false)
            try #require(pairs.count == 2, "\(body)")
            #expect(pairs[0].dropFirst(2).removingPercentEncoding == text)
            #expect(pairs[1].removingPercentEncoding == "b&=x y \(text)")
        }
    }

    @Test("no value leaves its text of JSON, and it is what is decoded there")
    func json() throws {
        let files = try PartnerFiles(
            """
            url: https://e.example/
            body:
              json:
                "k\\"": "{campaign.name}"
                nested: [{deep: "<{campaign.name}>"}, "{postback.app_id}", 1.5, true, null]
            """)
        let parser = try #require(JSONParser())
        for text in Self.texts() {
            let request = try #require(try files.request(Documents.install(campaign: text)))
            try (request.body ?? []).withUnsafeBytes { bytes in
                let value = try parser.parse(bytes)
                var names: [String] = []
                value.forEachMember { name, _ in names.append(String(decoding: name, as: UTF8.self))
                }
                #expect(names == ["k\"", "nested"])
                var values: [String] = []
                value.forEachMember { _, member in
                    if let text = member.string {
                        values.append(String(decoding: text, as: UTF8.self))
                    }
                }
                #expect(values == [text])
                let nested = Array(try #require(value.member("nested")).elements)
                #expect(nested.count == 5)
                let deep = try #require(nested[0].member("deep")?.string)
                #expect(String(decoding: deep, as: UTF8.self) == "<\(text)>")
                #expect(nested[1].number == .integer(525_463_029))
                #expect(nested[2].number == .double(1.5))
                #expect(nested[3].boolean == true && nested[4].isNull)
            }
        }
    }

    @Test("no value ends a header: one with control characters gives no request")
    func header() throws {
        let files = try PartnerFiles(
            "url: https://e.example/\nheaders: {X-Campaign: \"c={campaign.name}\"}")
        for text in Self.texts() {
            let hasControls = text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
            do {
                let request = try #require(try files.request(Documents.install(campaign: text)))
                #expect(!hasControls)
                let values = request.headers.filter { $0.name == "X-Campaign" }.map(\.value)
                #expect(values == ["c=\(text)"])
                #expect(request.headers.allSatisfy { $0.value.utf8.allSatisfy { $0 >= 0x20 } })
            } catch let fault as RenderingFault {
                #expect(hasControls, "\(text.debugDescription)")
                #expect(
                    fault
                        == .unusable(
                            field: "X-Campaign", explanation: "the value has control characters"))
            }
        }
    }

    @Test("what arrives is what was rendered: target, headers and body")
    func arrival() throws {
        let partner = try ScriptedPartner()
        let name = "a/b?c&d=e #\u{1F600}%\"..\u{2028}"
        let workspace = try DeliveryWorkspace([
            "acme": """
            url: \(partner.url)/p//{campaign.name}/?x={campaign.name}&y
            allow_private: true
            headers: {X-Kind: "{framework}"}
            body: {form: {n: "{campaign.name}"}}
            """
        ])
        try workspace.ingest(Documents.install(campaign: name))
        try workspace.sendDue()
        let request = try #require(partner.requests.first)
        let encoded = PercentEncoding.value(name)
        #expect(request.line == "POST /p//\(encoded)/?x=\(encoded)&y HTTP/1.1")
        #expect(request.body == "n=\(encoded)")
        #expect(request.headers["x-kind"] == "skadnetwork")
        #expect(request.headers["host"] == "127.0.0.1:\(partner.port)")
        #expect(request.headers["content-type"] == "application/x-www-form-urlencoded")
        #expect(request.headers["user-agent"] == "Weir")
        #expect(request.headers["idempotency-key"] == "\(Documents.id):1")
    }
}
