import Foundation
import Synchronization
import TestKit
import Testing

@testable import Deliveries
@testable import HTTPClient

@Suite("Requests on the wire", .serialized)
struct HTTPSenderTests {
    private func send(
        _ request: OutgoingRequest, by sender: HTTPSender, host: String = "name.example",
        timeoutMilliseconds: Int64 = Int64(Wait.seconds) * 1000
    ) -> RequestResult? {
        let result = Mutex<RequestResult?>(nil)
        let isEnded = DispatchSemaphore(value: 0)
        let destination = Destination(
            host: host, allowsPrivate: true, timeoutMilliseconds: timeoutMilliseconds)
        sender.send(request, to: destination) { answer in
            result.withLock { $0 = answer }
            isEnded.signal()
        }
        _ = isEnded.wait(timeout: .now() + 2 * Wait.seconds)
        return result.withLock { $0 }
    }

    private func request(
        _ partner: ScriptedPartner, _ method: String = "GET",
        headers: [OutgoingRequest.Header] = [], body: String? = nil
    ) -> OutgoingRequest {
        OutgoingRequest(
            method: method, url: "http://name.example:\(partner.port)/a/../b?c=%20d",
            headers: headers,
            body: body.map { Array($0.utf8) })
    }

    @Test("consist of the configured headers, Host and the length of a body, and of no others")
    func bytes() throws {
        let partner = try ScriptedPartner()
        let sender = HTTPSender(resolver: FixedResolver([["127.0.0.1"]]), receiverCount: 1)
        defer { sender.stop() }
        let headers: [OutgoingRequest.Header] = [
            .init("X-Own", "v; w"), .init("Empty", ""), .init("accept", "text/plain"),
        ]
        for (method, body) in [
            ("GET", nil as String?), ("POST", "{}"), ("POST", nil), ("PUT", "{}"),
        ] {
            let all = method == "GET" ? headers : [.init("X-Own", "v")]
            let sent = request(partner, method, headers: all, body: body)
            #expect(send(sent, by: sender) == .answered(status: 200, retryAfterMilliseconds: nil))
        }
        let host = "Host: name.example:\(partner.port)"
        let target = "/a/../b?c=%20d HTTP/1.1"
        #expect(
            partner.requests.map(\.head) == [
                "GET \(target)\n\(host)\nX-Own: v; w\nEmpty:\naccept: text/plain",
                "POST \(target)\n\(host)\nX-Own: v\nContent-Length: 2",
                "POST \(target)\n\(host)\nX-Own: v\nContent-Length: 0",
                "PUT \(target)\n\(host)\nX-Own: v\nContent-Length: 2",
            ])
        #expect(partner.requests.map(\.body) == ["", "{}", "", "{}"])
    }

    @Test("a body of megabytes is sent whole, without asking first")
    func largeBody() throws {
        let partner = try ScriptedPartner()
        let sender = HTTPSender(resolver: FixedResolver([["127.0.0.1"]]), receiverCount: 1)
        defer { sender.stop() }
        let body = String(repeating: "0123456789", count: 300_000)
        #expect(
            send(request(partner, "POST", body: body), by: sender)
                == .answered(status: 200, retryAfterMilliseconds: nil))
        #expect(partner.requests.first?.body == body)
        #expect(partner.requests.first?.headers.keys.sorted() == ["content-length", "host"])
    }

    @Test("a long body is cut off together with its connection, long before the request's deadline")
    func longBody() throws {
        let partner = try ScriptedPartner { _, _ in .endless(200) }
        let sender = HTTPSender(resolver: FixedResolver([["127.0.0.1"]]), receiverCount: 1)
        defer { sender.stop() }
        let start = ContinuousClock.now
        #expect(
            send(request(partner), by: sender)
                == .answered(status: 200, retryAfterMilliseconds: nil))
        #expect(ContinuousClock.now - start < .seconds(Wait.seconds / 2))
        #expect(Wait.until { partner.openConnectionCount == 0 })
    }

    @Test("a connection is used again, but only for the same name at the same address")
    func reuse() throws {
        let partner = try ScriptedPartner()
        let resolver = FixedResolver([["127.0.0.1"], ["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1"]])
        let sender = HTTPSender(resolver: resolver, receiverCount: 1)
        defer { sender.stop() }
        let answered = RequestResult.answered(status: 200, retryAfterMilliseconds: nil)
        let sent = request(partner)
        #expect(send(sent, by: sender) == answered)
        #expect(send(sent, by: sender) == answered)
        // Nothing listens there: a connection to the other address is not used in its place.
        #expect(send(sent, by: sender) == .failed(.connection, detail: "Connection refused"))
        let other = OutgoingRequest(
            method: "GET", url: sent.url.replacing("name.example", with: "other.example"),
            headers: [], body: nil)
        #expect(send(other, by: sender, host: "other.example") == answered)
        #expect(partner.requests.map(\.connection) == [0, 0, 1])
    }

    @Test("an idle connection is closed after a time, and the sender goes on with new ones")
    func idle() throws {
        let partner = try ScriptedPartner()
        let sender = HTTPSender(
            resolver: FixedResolver([["127.0.0.1"]]), receiverCount: 1, idleSeconds: 1)
        defer { sender.stop() }
        #expect(send(request(partner), by: sender) != nil)
        #expect(partner.openConnectionCount == 1)
        #expect(Wait.until { partner.openConnectionCount == 0 })
        // Sooner than the longest wait of the thread.
        let answer = send(request(partner), by: sender, timeoutMilliseconds: 30_000)
        #expect(answer == .answered(status: 200, retryAfterMilliseconds: nil))
        #expect(partner.requests.map(\.connection) == [0, 1])
    }

    @Test(
        "one that a partner ends without an answer is not sent again within the attempt",
        arguments: ["GET", "POST"])
    func once(method: String) throws {
        let partner = try ScriptedPartner { _, number in number == 1 ? .hangUp : .answer(200) }
        let sender = HTTPSender(resolver: FixedResolver([["127.0.0.1"]]), receiverCount: 1)
        defer { sender.stop() }
        let sent = request(partner, method, body: method == "POST" ? "{}" : nil)
        #expect(send(sent, by: sender) == .answered(status: 200, retryAfterMilliseconds: nil))
        #expect(
            send(sent, by: sender)
                == .failed(.connection, detail: "the connection ended before the answer"))
        #expect(partner.requests.map(\.connection) == [0, 0])
    }

    @Test("an answer after provisional ones counts, and one that is cut off after its head")
    func heads() throws {
        let partner = try ScriptedPartner { _, number in
            .bytes(
                number == 0
                    ? "HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\nHTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\nx"
                    : number == 1 ? "HTTP/1.1 200 OK\r\nContent-Le" : "\u{1}\u{2} what\r\n\r\n")
        }
        let sender = HTTPSender(resolver: FixedResolver([["127.0.0.1"]]), receiverCount: 1)
        defer { sender.stop() }
        #expect(
            send(request(partner), by: sender)
                == .answered(status: 503, retryAfterMilliseconds: 7000))
        #expect(
            send(request(partner), by: sender)
                == .failed(.connection, detail: "the connection ended before the answer"))
        guard case .failed(.protocolError, let detail) = send(request(partner), by: sender) else {
            Issue.record("it is no answer of HTTP")
            return
        }
        #expect(detail.hasPrefix("the answer is not HTTP: "))
    }
}

@Suite("A sender that ends", .serialized)
struct SenderEndTests {
    @Test("what is sent at the end is answered with a failure, and nothing is left open")
    func stopped() async throws {
        let files = try PartnerFiles("url: http://127.0.0.1:9/\nallow_private: true")
        let route = try #require(try files.routes().first)
        let request = try #require(try files.request(Documents.install()))
        let sender = HTTPSender(receiverCount: 1)
        let ended = Mutex(0)
        for _ in 0..<50 {
            sender.send(request, to: route.destination) { _ in ended.withLock { $0 += 1 } }
        }
        sender.stop()
        #expect(ended.withLock { $0 } == 50)
        let last = Mutex<RequestResult?>(nil)
        sender.send(request, to: route.destination) { result in last.withLock { $0 = result } }
        #expect(last.withLock { $0 } == .failed(.connection, detail: "sending has ended"))
    }

    @Test(
        "each request ends once, whatever partners do, and although the sender stops",
        arguments: 1...6)
    func once(seed: UInt64) throws {
        let random = Mutex(SeededGenerator(seed: seed))
        @Sendable func number(_ range: Range<Int>) -> Int {
            random.withLock { Int.random(in: range, using: &$0) }
        }
        let partner = try ScriptedPartner { _, _ in
            switch number(0..<8) {
            case 0: .hangUp
            case 1: .silence
            case 2: .bytes("HTTP/1.1 200 OK\r\nContent-Le")
            case 3: .bytes("\u{1}\u{2}\r\n\r\n")
            case 4: .endless(200)
            default: .answer(200)
            }
        }
        let resolver = FixedResolver([["127.0.0.1"], ["127.0.0.3", "127.0.0.1"], []])
        let sender = HTTPSender(resolver: resolver, receiverCount: 4)
        let requestCount = 600
        let ends = Mutex([Int](repeating: 0, count: requestCount))
        let threads = DispatchQueue(label: "senders", attributes: .concurrent)
        let sent = DispatchGroup()
        for thread in 0..<4 {
            threads.async(group: sent) {
                for index in stride(from: thread, to: requestCount, by: 4) {
                    let host = ["127.0.0.1", "a.example", "b.example"][number(0..<3)]
                    let request = OutgoingRequest(
                        method: index % 2 == 0 ? "GET" : "POST",
                        url: "http://\(host):\(partner.port)/", headers: [],
                        body: index % 2 == 0 ? nil : Array("{}".utf8))
                    let destination = Destination(
                        host: host, allowsPrivate: number(0..<20) > 0,
                        timeoutMilliseconds: Int64(number(1..<400)))
                    sender.send(request, to: destination) { _ in ends.withLock { $0[index] += 1 } }
                    if index % 20 == thread { usleep(2000) }
                }
            }
        }
        // In the first half of the seeds while requests are sent, in the second when most have ended.
        usleep(UInt32(number(1000..<60_000)))
        if seed > 3 { try #require(sent.wait(timeout: .now() + Wait.seconds) == .success) }
        sender.stop()
        try #require(sent.wait(timeout: .now() + Wait.seconds) == .success)
        #expect(ends.withLock { $0 } == [Int](repeating: 1, count: requestCount))
    }
}
