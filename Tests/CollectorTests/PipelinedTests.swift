import EventLog
import Foundation
import Monitoring
import Synchronization
import TestKit
import Testing

@testable import Collector

@Suite("Pipelined requests")
struct PipelinedTests {
    private static let postback = #"{"transaction-id":"other"}"#

    @Test("of some clients starve no other one: it is answered while they are not through")
    func fair() throws {
        let workspace = try CollectorWorkspace()
        let connections = 20
        let requests = 500
        let flood = Array(repeatElement(Requests.text("GET", "/nothing"), count: requests).joined())
        let answered = Mutex(0)
        let begun = Mutex(0)
        let whenPosted = Mutex<[Int]>([])
        concurrently(connections + 1) { number in
            if number == connections {
                Wait.until { begun.withLock { $0 == connections } }
                for _ in 0..<5 {
                    let answer = try? workspace.post("/v1/postbacks/skadnetwork", Self.postback)
                    #expect(answer?.status == 200)
                    let count = answered.withLock { $0 }
                    whenPosted.withLock { $0.append(count) }
                }
                return
            }
            guard let connection = try? RawConnection(port: workspace.port) else { return }
            connection.send(flood)
            begun.withLock { $0 += 1 }
            var count = 0
            while count < requests, let answer = connection.answer() {
                #expect(answer.status == 404)
                count += 1
                answered.withLock { $0 += 1 }
            }
            #expect(count == requests)
        }
        let counts = whenPosted.withLock { $0 }
        #expect(counts.count == 5)
        #expect(counts.allSatisfy { $0 < connections * requests / 2 }, "\(counts)")
    }

    @Test("are answered in their order, whatever bodies they have, and all of them")
    func order() throws {
        let workspace = try CollectorWorkspace()
        let connection = try RawConnection(port: workspace.port)
        var bytes: [UInt8] = []
        var expected: [Int] = []
        for number in 0..<60 {
            let body = "{\"transaction-id\":\"t-\(number)\",\r\n\r\n\n\"n\":1}"
            switch number % 4 {
            case 0:
                bytes += Requests.text("POST", "/v1/postbacks/skadnetwork", body: Array(body.utf8))
                expected.append(200)
            case 1:
                let size = String(body.utf8.count, radix: 16)
                bytes += Array(
                    "POST /v1/postbacks/skadnetwork HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n\(body)\r\n0\r\n\r\n"
                        .utf8)
                expected.append(200)
            case 2:
                bytes += Requests.text("GET", "/nothing") + Array("\r\n".utf8)
                expected.append(404)
            default:
                bytes += Requests.text("GET", "/livez")
                expected.append(200)
            }
        }
        // In pieces that end anywhere.
        var rest = bytes[...]
        var generator = SeededGenerator(seed: 7)
        while !rest.isEmpty {
            let count = Int.random(in: 1...700, using: &generator)
            connection.send(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        connection.finish()
        #expect(expected.map { _ in connection.answer()?.status ?? 0 } == expected)
        #expect(connection.isClosed())
        let keys = try workspace.records("postbacks").compactMap(\.key)
        #expect(Set(keys) == Set((0..<60).filter { $0 % 4 < 2 }.map { "t-\($0)" }))
        #expect(keys.count == 30)
    }

    @Test("are taken one at a time, and what waits for an answer is not read without end")
    func bounded() throws {
        let isOpen = Mutex(false)
        let begun = Mutex(0)
        let workspace = try CollectorWorkspace(more: [
            CollectorRoute(.get, "/held") { _ in
                begun.withLock { $0 += 1 }
                while !isOpen.withLock({ $0 }) {
                    try? await Task.sleep(for: .milliseconds(10))
                }
                return .text(200, "")
            }
        ])
        let connection = try RawConnection(port: workspace.port, timeoutSeconds: 2)
        let many = Array(repeatElement(Requests.text("GET", "/held"), count: 20_000).joined())
        // Far more than the system holds for both sides.
        let isTaken = (0..<40).allSatisfy { _ in connection.send(many) }
        #expect(!isTaken)
        #expect(begun.withLock { $0 } == 1)
        #expect(try workspace.get("/livez").status == 200)
        isOpen.withLock { $0 = true }
    }
}

@Suite("Versions of HTTP")
struct VersionTests {
    private func answers(
        _ text: String, to workspace: CollectorWorkspace
    ) throws -> ([Answer], isClosed: Bool) {
        let connection = try RawConnection(port: workspace.port)
        connection.send(text)
        var answers: [Answer] = []
        while let answer = connection.answer() { answers.append(answer) }
        return (answers, connection.isClosed())
    }

    @Test(
        "a request of 1.1 without a Host, or one with two or none that is a host, is 400, after the answers to those before"
    )
    func host() throws {
        let workspace = try CollectorWorkspace()
        let good = "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n"
        for bad in [
            "GET /livez HTTP/1.1\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET /livez HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n",
            "GET /livez HTTP/1.1\r\nHost:\r\n\r\n", "GET /livez HTTP/1.1\r\nHost:  \r\n\r\n",
            "GET /livez HTTP/1.1\r\nHost: a, b\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: a,b\r\n\r\n",
            "GET /livez HTTP/1.1\r\nHost: a b\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: a/b\r\n\r\n",
            "GET /livez HTTP/1.1\r\nHost: u@a\r\n\r\n", "GET /livez HTTP/1.1\r\nHost: :80\r\n\r\n",
            "GET /livez HTTP/1.0\r\nHost: a, b\r\n\r\n",
            "POST /v1/postbacks/skadnetwork HTTP/1.1\r\nContent-Length: 26\r\n\r\n{\"transaction-id\":\"nobody\"}",
        ] {
            let (answers, isClosed) = try answers(good + bad + good, to: workspace)
            #expect(answers.map(\.status) == [200, 400], "\(bad)")
            #expect(answers.last?.headers["connection"] == "close")
            #expect(answers.last?.error == "bad_host")
            #expect(isClosed)
        }
        #expect(try workspace.records("postbacks").isEmpty)
    }

    @Test("a request that is not valid HTTP is answered 400 once, and counted once")
    func invalid() throws {
        let registry = MetricRegistry([])
        let workspace = try CollectorWorkspace(metrics: registry)
        let start = "GET /livez HTTP/1.1\r\nHost: h\r\n"
        let requests = [
            start + "Cookie: \(String(repeating: "x", count: 40_000))\r\n\r\n",
            start + String(repeating: "X: y\r\n", count: 200) + "\r\n",
            start + "Content-Length: x\r\n\r\n", "GET /livez HTTP/2.0\r\nHost: h\r\n\r\n",
            start + "Transfer-Encoding: gzip\r\n\r\n",
        ]
        for request in requests {
            let (answers, isClosed) = try answers(request, to: workspace)
            #expect(answers.map(\.status) == [400], "\(request.prefix(80))")
            #expect(isClosed)
        }
        let counted =
            #"weir_collector_requests_total{route="unknown",status="400"} \#(requests.count)"#
        #expect(registry.text.contains(counted), "\(registry.text)")
    }

    @Test("hosts as clients write them are taken")
    func hosts() throws {
        let workspace = try CollectorWorkspace()
        for host in [
            "a", "a_b.example:8080", "127.0.0.1:1", "[::1]:8080", "[fe80::1%25eth0]", "a.",
        ] {
            let text = "GET /livez HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
            #expect(try answers(text, to: workspace).0.map(\.status) == [200], "\(host)")
        }
    }

    @Test(
        "a body of another transfer coding than chunked is not taken, and what follows is not read")
    func transferCoding() throws {
        let workspace = try CollectorWorkspace()
        let body = "16\r\n{\"transaction-id\":\"t\"}\r\n0\r\n\r\n"
        func post(_ coding: String) throws -> ([Answer], Bool) {
            let head = "POST /v1/postbacks/skadnetwork HTTP/1.1\r\nHost: h\r\n\(coding)\r\n\r\n"
            return try answers(
                head + body + "GET /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
                to: workspace)
        }
        for coding in [
            "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked",
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: identity, chunked",
            // The parser also rejects this one.
            "Transfer-Encoding: gzip",
        ] {
            let (answers, isClosed) = try post(coding)
            #expect(answers.count == 1 && answers[0].status == 400, "\(coding)")
            #expect(isClosed)
        }
        #expect(try post("Transfer-Encoding: gzip, chunked").0.first?.error == "transfer_encoding")
        #expect(try workspace.records("postbacks").isEmpty)
        #expect(try post("Transfer-Encoding: Chunked").0.map(\.status) == [200, 200])
        #expect(try workspace.records("postbacks").count == 1)
    }

    @Test("a connection of 1.0 is closed after its answer, and kept where that is asked for")
    func old() throws {
        let workspace = try CollectorWorkspace(yaml: "idle_timeout_seconds: 120\n")
        for request in [
            "GET /livez HTTP/1.0\r\n\r\n", "GET /livez HTTP/1.0\r\nHost: h\r\n\r\n",
            "GET /livez HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n",
        ] {
            let (answers, isClosed) = try answers(request, to: workspace)
            #expect(answers.map(\.status) == [200], "\(request)")
            #expect(answers.first?.headers["connection"] == "close")
            #expect(isClosed)
        }
        let kept = try RawConnection(port: workspace.port)
        for _ in 0..<2 {
            kept.send("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let answer = kept.answer()
            #expect(answer?.status == 200)
            #expect(answer?.headers["connection"] == "keep-alive")
        }
    }
}
