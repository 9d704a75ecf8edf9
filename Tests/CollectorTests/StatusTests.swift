import Foundation
import TestKit
import Testing

@testable import Collector

@Suite("What is refused, and how")
struct StatusTests {
    private let postback = #"{"transaction-id":"t"}"#
    private let path = "/v1/postbacks/skadnetwork"

    @Test("paths and methods that are none: 404, 405 with Allow, and never a redirect")
    func paths() throws {
        let workspace = try CollectorWorkspace()
        let requests = workspace.requests
        for target in [
            "/", "", "/v1", "/v1/events", "/v1/events/", path + "%2F", "/V1/postbacks/skadnetwork",
        ] {
            let answer = try requests.send("POST", target.isEmpty ? "/" : target)
            #expect(answer.status == 404, "\(target)")
            #expect(answer.error == "not_found")
        }
        let got = try requests.get(path)
        #expect(got.status == 405)
        #expect(got.headers["allow"] == "POST")
        #expect(try requests.send("DELETE", "/i").headers["allow"] == "GET")
    }

    @Test("HEAD of the health paths: as GET, without a body; of others 405")
    func head() throws {
        let workspace = try CollectorWorkspace()
        let connection = try RawConnection(port: workspace.port)
        for (path, status) in [("/livez", "200 OK"), ("/readyz", "200 OK"), ("/i", "405 ")] {
            connection.send(Requests.text("HEAD", path))
            let head = try #require(connection.nextLine())
            #expect(head.hasPrefix("HTTP/1.1 \(status)"), "\(head)")
            #expect(head.lowercased().contains("content-length: 3") == (path != "/i"))
        }
    }

    @Test("events without a key: 401 before the body is sent, and the connection is closed")
    func earlyKey() throws {
        let workspace = try CollectorWorkspace()
        let connection = try RawConnection(port: workspace.port)
        connection.send(
            "POST /v1/events/bids HTTP/1.1\r\nHost: h\r\nContent-Length: 8388608\r\n\r\n{")
        #expect(connection.answer()?.status == 401)
        #expect(connection.isClosed())
    }

    @Test("bodies of other kinds: 415, encoded ones too")
    func mediaTypes() throws {
        let workspace = try CollectorWorkspace()
        for type in ["text/plain", "application/cloudevents+json", "application/x-ndjson", ";"] {
            let answer = try workspace.post(path, postback, type: type)
            #expect(answer.status == (type == ";" ? 200 : 415), "\(type)")
        }
        for encoding in ["gzip", "br", "gzip, identity"] {
            let answer = try workspace.post(path, postback, headers: ["Content-Encoding": encoding])
            #expect(answer.status == 415)
            #expect(answer.error == "content_encoding")
        }
        #expect(
            try workspace.post(path, postback, headers: ["Content-Encoding": "identity"]).status
                == 200)
        #expect(try workspace.records("postbacks").count == 2)
    }

    @Test("bodies that are too large: 413 by what they declare, before they are sent")
    func declaredLength() throws {
        let workspace = try CollectorWorkspace(yaml: "max_body_bytes: 2000\n")
        let connection = try RawConnection(port: workspace.port)
        connection.send("POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n{")
        let answer = try #require(connection.answer())
        #expect(answer.status == 413)
        #expect(answer.error == "too_large")
        #expect(answer.headers["connection"] == "close")
        #expect(connection.isClosed(), "nobody waits for the rest")
    }

    @Test("bodies that are too large: 413 while they come, chunk by chunk")
    func chunkedLength() throws {
        let workspace = try CollectorWorkspace(yaml: "max_body_bytes: 2000\n")
        let connection = try RawConnection(port: workspace.port)
        connection.send("POST \(path) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = "3e8\r\n" + String(repeating: " ", count: 1000) + "\r\n"
        for _ in 0..<100 where !connection.send(chunk) { break }
        #expect(try #require(connection.answer()).status == 413)
        #expect(connection.isClosed())
        #expect(try workspace.records("postbacks").isEmpty)
    }

    @Test("of a body of the greatest length nothing is lost, however it is cut")
    func chunks() throws {
        let workspace = try CollectorWorkspace(yaml: "max_body_bytes: 200000\n")
        let body = postback + String(repeating: " ", count: 200_000 - postback.utf8.count)
        let connection = try RawConnection(port: workspace.port)
        connection.send("POST \(path) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        var rest = Array(body.utf8)[...]
        var size = 1
        while !rest.isEmpty {
            let part = rest.prefix(size)
            connection.send(Array("\(String(part.count, radix: 16))\r\n".utf8) + part)
            connection.send("\r\n")
            rest = rest.dropFirst(size)
            size = size * 3 + 1
        }
        connection.send("0\r\n\r\n")
        #expect(try #require(connection.answer()).status == 200)
        #expect(try workspace.records("postbacks").map(\.value) == [Array(body.utf8)])
    }

    @Test("a body that ends before its length, or before its last chunk, is not taken")
    func truncated() throws {
        let workspace = try CollectorWorkspace()
        for head in ["Content-Length: 500", "Transfer-Encoding: chunked"] {
            let connection = try RawConnection(port: workspace.port)
            let body = head.hasPrefix("T") ? "16\r\n\(postback)\r\n" : postback
            connection.send("POST \(path) HTTP/1.1\r\nHost: h\r\n\(head)\r\n\r\n\(body)")
            connection.finish()
            let status = connection.answer()?.status
            #expect(status == nil || status == 400)
        }
        #expect(try workspace.records("postbacks").isEmpty)
    }

    @Test("headers that are too large: 400, and the connection is closed")
    func headers() throws {
        let workspace = try CollectorWorkspace(yaml: "max_header_bytes: 2000\n")
        let connection = try RawConnection(port: workspace.port)
        connection.send("GET /livez HTTP/1.1\r\nX: \(String(repeating: "x", count: 5000))\r\n\r\n")
        let status = connection.answer()?.status
        #expect(status == 400 || status == 431)
        #expect(connection.isClosed())
    }

    @Test("one connection serves one request after another, and some at once")
    func keepAlive() throws {
        let workspace = try CollectorWorkspace()
        let connection = try RawConnection(port: workspace.port)
        let request = Requests.text("POST", path, body: Array(postback.utf8))
        for _ in 0..<3 {
            connection.send(request)
            #expect(try #require(connection.answer()).status == 200)
        }
        connection.send(request + request + Requests.text("GET", "/livez"))
        let statuses = (0..<3).map { _ in connection.answer()?.status }
        #expect(statuses == [200, 200, 200])
        #expect(try workspace.records("postbacks").count == 5)
    }

    @Test("a request that comes in parts behind another one does not close the connection")
    func pipelined() throws {
        let workspace = try CollectorWorkspace()
        let connection = try RawConnection(port: workspace.port)
        let request = Requests.text("POST", path, body: Array(postback.utf8))
        for cut in [request.count - 5, 30] {
            connection.send(request + request[..<cut])
            let first = try #require(connection.answer())
            #expect(first.status == 200)
            #expect(first.headers["connection"] == nil)
            connection.send(Array(request[cut...]))
            #expect(connection.answer()?.status == 200)
        }
    }

    @Test("whoever waits to be told to go on is told")
    func expectation() throws {
        let workspace = try CollectorWorkspace()
        let connection = try RawConnection(port: workspace.port)
        let count = postback.utf8.count
        connection.send(
            "POST \(path) HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: \(count)\r\n\r\n"
        )
        #expect(connection.nextLine() == "HTTP/1.1 100 Continue")
        connection.send(postback)
        #expect(try #require(connection.answer()).status == 200)
    }

    @Test("events without a key, with a wrong one, or for another topic: 401, 401, 403")
    func producers() throws {
        let workspace = try CollectorWorkspace()
        func status(_ topic: String, _ key: String?) throws -> Int {
            let headers = key.map { ["Authorization": $0] } ?? [:]
            return try workspace.post(
                "/v1/events/\(topic)?type=openrtb.win", #"{"auction_id":"a","bid_id":"b"}"#,
                headers: headers
            ).status
        }
        #expect(try status("bids", nil) == 401)
        #expect(try status("bids", "Bearer wrong") == 401)
        #expect(try status("bids", "Basic \(CollectorWorkspace.producerKey)") == 401)
        #expect(try status("bids", "bearer \(CollectorWorkspace.producerKey)") == 200)
        #expect(try status("impressions", "Bearer \(CollectorWorkspace.slowKey)") == 403)
        #expect(try workspace.records("bids").count == 1)
    }

    @Test("a key that sends more than it may: 429 with Retry-After, and later it may again")
    func rate() throws {
        let workspace = try CollectorWorkspace()
        func answer() throws -> Answer {
            try workspace.post(
                "/v1/events/bids?type=openrtb.win", #"{"auction_id":"a","bid_id":"b"}"#,
                headers: ["Authorization": "Bearer \(CollectorWorkspace.slowKey)"])
        }
        for _ in 0..<2 { #expect(try answer().status == 200) }
        var refused = try answer()
        // A machine that stands still sends no more than it may.
        try Wait.until {
            if refused.status == 200 { refused = try answer() }
            return refused.status != 200
        }
        #expect(refused.status == 429)
        #expect(Int(refused.headers["retry-after"] ?? "") == 1)
        Thread.sleep(forTimeInterval: 1.1)
        #expect(try answer().status == 200)
    }

    @Test("more connections than an address may have: 429 with Retry-After, and the others go on")
    func connections() throws {
        let workspace = try CollectorWorkspace(yaml: "max_connections_per_address: 2\n")
        let first = try RawConnection(port: workspace.port)
        let second = try RawConnection(port: workspace.port)
        let request = Requests.text("GET", "/livez")
        for connection in [first, second] {
            connection.send(request)
            #expect(connection.answer()?.status == 200)
        }
        let third = try RawConnection(port: workspace.port)
        third.send(request)
        let refused = try #require(third.answer())
        #expect(refused.status == 429)
        #expect(refused.headers["retry-after"] != nil)
        #expect(third.isClosed())
        first.send(request)
        #expect(first.answer()?.status == 200)
    }

    @Test("only a trusted proxy is believed whom it speaks for")
    func proxies() throws {
        let trusting = try CollectorWorkspace(
            yaml: "trusted_proxies: [127.0.0.0/8]\n",
            more: [CollectorRoute(.get, "/who") { .text(200, $0.clientAddress) }])
        let forwarded = ["X-Forwarded-For": "203.0.113.7, 198.51.100.9, 127.0.0.2"]
        #expect(try trusting.requests.get("/who", headers: forwarded).text == "198.51.100.9")
        let wary = try CollectorWorkspace(
            more: [CollectorRoute(.get, "/who") { .text(200, $0.clientAddress) }])
        #expect(try wary.requests.get("/who", headers: forwarded).text == "127.0.0.1")
    }

    @Test("bodies of one address that are too many: 503, and those of others are taken")
    func memoryOfAddress() throws {
        let workspace = try CollectorWorkspace(
            yaml: "trusted_proxies: [127.0.0.0/8]\n",
            change: {
                $0.limits.maxBodyBytes = 1000
                $0.limits.maxBatchBytes = 1000
                $0.limits.maxBodyBytesInFlight = 4000
            })
        let held = try RawConnection(port: workspace.port)
        held.send(
            "POST \(path) HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Length: 1000\r\n\r\n"
                + String(repeating: " ", count: 990))
        func status(_ client: String) throws -> Int {
            try workspace.post(path, postback, headers: ["X-Forwarded-For": client]).status
        }
        #expect(try Wait.until { try status("192.0.2.1") == 503 })
        #expect(try status("192.0.2.2") == 200)
        held.send(String(repeating: " ", count: 10))
        #expect(held.answer()?.status == 400)
        #expect(try status("192.0.2.1") == 200)
    }

    @Test("bodies that together are too many: 503 with Retry-After")
    func memory() throws {
        let workspace = try CollectorWorkspace(change: { $0.limits.maxBodyBytesInFlight = 1000 })
        let answer = try workspace.post(path, postback + String(repeating: " ", count: 2000))
        #expect(answer.status == 503)
        #expect(answer.headers["retry-after"] != nil)
        #expect(try workspace.post(path, postback).status == 200)
    }
}

@Suite("A rate of requests")
struct RequestRateTests {
    @Test("lets a second's worth through at once, then as many a second as it says")
    func rate() {
        let start = ContinuousClock.now
        let rate = RequestRate(perSecond: 10, now: start)
        #expect((0..<10).allSatisfy { _ in rate.take(now: start) == nil })
        #expect(rate.take(now: start) == 1)
        #expect(rate.take(now: start + .milliseconds(101)) == nil)
        #expect(rate.take(now: start + .milliseconds(101)) == 1)
        let later = start + .seconds(60)
        #expect((0..<10).allSatisfy { _ in rate.take(now: later) == nil })
        #expect(rate.take(now: later) == 1)
    }
}
