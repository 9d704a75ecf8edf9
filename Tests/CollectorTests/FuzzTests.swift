import Foundation
import TestKit
import Testing

@testable import Collector
@testable import Tokens

@Suite("Requests of any bytes")
struct FuzzTests {
    /// As many requests as a few seconds hold.
    private static let seconds = 8.0

    @Test(
        "crash nothing, are never answered 5xx but 503, and leave the collector serving",
        arguments: [1, 2])
    func anything(_ seed: UInt64) throws {
        let workspace = try CollectorWorkspace(
            yaml: "header_timeout_seconds: 1\nbody_timeout_seconds: 1\nmax_body_bytes: 4096\n")
        let token = try #require(
            try workspace.tokenKeys.sign(
                EventToken(
                    use: .impression, type: "skoverlay.presented",
                    event: #"{"impression_id":"i"}"#, openMembers: ["zone_id"], target: "",
                    expiresAtSeconds: Int64(Date().timeIntervalSince1970) + 86_400)))
        var random = SeededGenerator(seed: seed)
        var count = 0
        let begun = Date()
        while Date().timeIntervalSince(begun) < (count > 50 ? Self.seconds : Wait.seconds) {
            let request = FuzzedRequest(token: token, using: &random)
            let connection = try RawConnection(port: workspace.port, timeoutSeconds: 3)
            var rest = request.bytes[...]
            while !rest.isEmpty {
                let size =
                    Bool.random(using: &random)
                    ? rest.count : Int.random(in: 1...200, using: &random)
                guard connection.send(Array(rest.prefix(size))) else { break }
                rest = rest.dropFirst(size)
            }
            if request.finishes { connection.finish() }
            if let answer = request.waits ? connection.answer() : nil {
                #expect(answer.status < 500 || answer.status == 503, "\(request)")
            }
            count += 1
        }
        #expect(count > 50)
        #expect(try workspace.get("/livez").status == 200)
        #expect(
            try workspace.post("/v1/postbacks/skadnetwork", #"{"transaction-id":"t"}"#).status
                == 200)
    }
}

/// A request that was once a good one.
struct FuzzedRequest: CustomStringConvertible {
    var bytes: [UInt8]
    var finishes: Bool
    var waits: Bool

    var description: String { String(decoding: bytes, as: UTF8.self) }

    private static let targets = [
        "/v1/postbacks/skadnetwork", "/v1/postbacks/adattributionkit/?via=relay",
        "/v1/store-notifications", "/v1/events/bids?type=openrtb.win", "/v1/events/impressions",
        "/.well-known/skadnetwork/report-attribution/", "/v1/notices/win?auction_id=a&bid_id=b",
        "/i?t=", "/c?t=", "/livez", "/readyz", "/v1/events/%00", "*", "/%",
    ]
    private static let bodies = [
        #"{"transaction-id":"t"}"#, #"{"signedPayload":"e30.e30.e30"}"#,
        #"{"jws-string":"e30.eyJwb3N0YmFjay1pZGVudGlmaWVyIjoiYSJ9.AA"}"#, #"{"auction_id":"a"}"#,
        #"{"notification_type":"REFUND","unified_receipt":{"latest_receipt_info":[{}]}}"#,
        "{\"impression_id\":\"a\"}\n{}\n{\"impression_id\":\"b\"}", "[[[[[[", "",
        #"{"transaction-id":"\ud800"}"#, "\u{0}\u{1}",
    ]
    private static let headers = [
        "Content-Type: application/json", "Content-Type: application/x-ndjson",
        "Authorization: Bearer \(CollectorWorkspace.producerKey)", "Expect: 100-continue",
        "Content-Encoding: gzip", "Connection: close", "X-Forwarded-For: 1.2.3.4, \u{7f}",
        "Transfer-Encoding: gzip, chunked", "Content-Length: 5", "Content-Length: -1",
        "ce-type: skoverlay.dismissed", "ce-id: \u{e4}", "Host: a", "Upgrade: h2c",
    ]

    init(token: String, using random: inout SeededGenerator) {
        let method =
            ["POST", "POST", "GET", "PUT", "", "G\u{0}T"].randomElement(using: &random) ?? ""
        var target = Self.targets.randomElement(using: &random) ?? ""
        if target.hasSuffix("t=") { target += token }
        var text = "\(method) \(target) HTTP/1.1\r\nHost: h\r\n"
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            text += (Self.headers.randomElement(using: &random) ?? "") + "\r\n"
        }
        let body = Array((Self.bodies.randomElement(using: &random) ?? "").utf8)
        var bytes: [UInt8]
        if Bool.random(using: &random) {
            bytes = Array((text + "Content-Length: \(body.count)\r\n\r\n").utf8) + body
        } else {
            bytes = Array((text + "Transfer-Encoding: chunked\r\n\r\n").utf8)
            for part in stride(from: 0, to: body.count, by: 7) {
                let chunk = body[part..<min(part + 7, body.count)]
                bytes += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk
                bytes += Array("\r\n".utf8)
            }
            bytes += Array("0\r\n\r\n".utf8)
        }
        for _ in 0..<Int.random(in: 0...6, using: &random) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0...3, using: &random) {
            case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &random)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(UInt8.random(in: .min ... .max, using: &random), at: index)
            default: bytes.insert(contentsOf: bytes[index...].prefix(20), at: index)
            }
        }
        self.bytes = bytes
        finishes = Int.random(in: 0..<4, using: &random) > 0
        waits = Int.random(in: 0..<4, using: &random) > 0
    }
}
