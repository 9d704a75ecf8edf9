import Foundation
import Simulation
import Testing

@Suite("Senders that are slow")
struct SlowSenderTests {
    @Test("are cut off: headers that drip, bodies that drip, and connections that rest")
    func slow() throws {
        let place = try CollectorPlace(
            yaml: "header_timeout_seconds: 1\nbody_timeout_seconds: 1\nidle_timeout_seconds: 2\n")
        let silent = try RawConnection(port: place.port)
        let dripping = try RawConnection(port: place.port)
        let body = try RawConnection(port: place.port)
        let resting = try RawConnection(port: place.port)
        body.send(
            "POST /v1/postbacks/skadnetwork HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{")
        resting.send(Requests.text("GET", "/livez"))
        #expect(resting.answer()?.status == 200)
        let begun = Date()
        while Date().timeIntervalSince(begun) < 2.5 {
            dripping.send("G")
            body.send(" ")
            Thread.sleep(forTimeInterval: 0.2)
        }
        for connection in [silent, dripping, body] {
            #expect(connection.answer().map { [400, 408].contains($0.status) } ?? true)
            #expect(connection.isClosed())
        }
        #expect(resting.isClosed())
        #expect(Date().timeIntervalSince(begun) < 8)
        #expect(try place.requests.get("/livez").status == 200, "others are served")
        #expect(try place.records("postbacks").isEmpty)
    }

    @Test("are cut off when the headers of a later request drip, and not while they only rest")
    func laterHeaders() throws {
        let place = try CollectorPlace(
            yaml: "header_timeout_seconds: 1\nidle_timeout_seconds: 30\n")
        let dripping = try RawConnection(port: place.port)
        let resting = try RawConnection(port: place.port)
        for connection in [dripping, resting] {
            connection.send(Requests.text("GET", "/livez"))
            #expect(connection.answer()?.status == 200)
        }
        // Rest counts for nothing, however long it was, and neither do empty lines.
        Thread.sleep(forTimeInterval: 1.3)
        resting.send("\r\n")
        let begun = Date()
        var isGone = false
        dripping.send("GET /livez HTTP/1.1\r\nX-A: ")
        while Date().timeIntervalSince(begun) < 3, !isGone {
            isGone = !dripping.send("a")
            Thread.sleep(forTimeInterval: 0.2)
        }
        #expect(dripping.answer().map { $0.status == 408 } ?? true)
        #expect(dripping.isClosed())
        #expect((1..<5).contains(Date().timeIntervalSince(begun)))
        resting.send(Requests.text("GET", "/livez"))
        #expect(resting.answer()?.status == 200)
    }

    @Test("get the answers to what they sent before, and only then are cut off")
    func headersBehindAnAnswer() throws {
        let place = try CollectorPlace(
            yaml: "header_timeout_seconds: 1\n",
            wrap: { log in
                let hanging = ScriptedLog(log)
                hanging.script.withLock { $0.hangSeconds = 2 }
                return hanging
            })
        let connection = try RawConnection(port: place.port)
        connection.send(
            Requests.text(
                "POST", "/v1/postbacks/skadnetwork", headers: ["Content-Type": "application/json"],
                body: Array(#"{"transaction-id":"a"}"#.utf8)))
        Thread.sleep(forTimeInterval: 0.2)
        connection.send("GET /livez HTTP/1.1\r\n")
        let answer = try #require(connection.answer())
        #expect(answer.status == 200)
        #expect(answer.headers["connection"] == "close")
        #expect(connection.answer().map(\.status) == nil)
        #expect(connection.isClosed())
    }
}
