import Foundation
import TestKit
import Testing

@testable import Collector

@Suite("Senders that are slow")
struct SlowSenderTests {
    @Test("are cut off: headers that drip, bodies that drip, and connections that rest")
    func slow() throws {
        let workspace = try CollectorWorkspace(
            yaml: "header_timeout_seconds: 3\nbody_timeout_seconds: 3\nidle_timeout_seconds: 4\n")
        let resting = try RawConnection(port: workspace.port)
        resting.send(Requests.text("GET", "/livez"))
        #expect(resting.answer()?.status == 200)
        let silent = try RawConnection(port: workspace.port)
        let dripping = try RawConnection(port: workspace.port)
        let body = try RawConnection(port: workspace.port)
        body.send(
            "POST /v1/postbacks/skadnetwork HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{")
        // Each drips until it is cut off.
        var drips = [(dripping, "G"), (body, " ")]
        Wait.until {
            drips.removeAll { connection, drop in !connection.send(drop) }
            Thread.sleep(forTimeInterval: 0.2)
            return drips.isEmpty
        }
        #expect(drips.isEmpty)
        for connection in [silent, dripping, body] {
            #expect(connection.answer().map { [400, 408].contains($0.status) } ?? true)
            #expect(connection.isClosed())
        }
        #expect(resting.isClosed())
        #expect(try workspace.get("/livez").status == 200, "others are served")
        #expect(try workspace.records("postbacks").isEmpty)
    }

    @Test("are cut off when they read no answers, and not while they read")
    func noReader() throws {
        let workspace = try CollectorWorkspace(
            yaml: "idle_timeout_seconds: 6\n",
            more: [
                CollectorRoute(.get, "/long") { _ in
                    .text(200, String(repeating: "x", count: 1 << 20))
                }
            ])
        let silent = try RawConnection(port: workspace.port)
        let reading = try RawConnection(port: workspace.port)
        let request = Requests.text("GET", "/long")
        // More than the system holds for both sides.
        let begun = Date()
        silent.send(Array(repeatElement(request, count: 40).joined()))
        let isGone = Wait.until {
            reading.send(request)
            #expect(reading.answer()?.status == 200)
            Thread.sleep(forTimeInterval: 0.2)
            return !silent.send(request)
        }
        #expect(isGone)
        #expect(Date().timeIntervalSince(begun) > 6)
    }

    @Test("are cut off when the headers of a later request drip, and not while they only rest")
    func laterHeaders() throws {
        let workspace = try CollectorWorkspace(
            yaml: "header_timeout_seconds: 3\nidle_timeout_seconds: 180\n")
        let connections = try (0..<2).map { _ in
            let connection = try RawConnection(port: workspace.port)
            connection.send(Requests.text("GET", "/livez"))
            #expect(connection.answer()?.status == 200)
            return connection
        }
        let (dripping, resting) = (connections[0], connections[1])
        // Rest counts for nothing, however long it was, and neither do empty lines.
        Thread.sleep(forTimeInterval: 3.3)
        resting.send("\r\n")
        let begun = Date()
        dripping.send("GET /livez HTTP/1.1\r\nX-A: ")
        let isGone = Wait.until {
            Thread.sleep(forTimeInterval: 0.2)
            return !dripping.send("a")
        }
        #expect(isGone)
        #expect(dripping.answer().map { $0.status == 408 } ?? true)
        #expect(dripping.isClosed())
        #expect(Date().timeIntervalSince(begun) >= 3)
        resting.send(Requests.text("GET", "/livez"))
        #expect(resting.answer()?.status == 200)
    }

    @Test("get the answers to what they sent before, and only then are cut off")
    func headersBehindAnAnswer() throws {
        let workspace = try CollectorWorkspace(
            yaml: "header_timeout_seconds: 1\nlog_timeout_seconds: 60\n",
            wrap: { log in
                let hanging = ScriptedLog(log)
                hanging.script.withLock { $0.hangSeconds = 7 }
                return hanging
            })
        let connection = try RawConnection(port: workspace.port)
        connection.send(
            Requests.text(
                "POST", "/v1/postbacks/skadnetwork", headers: ["Content-Type": "application/json"],
                body: Array(#"{"transaction-id":"a"}"#.utf8)))
        Thread.sleep(forTimeInterval: 0.2)
        connection.send("GET /livez HTTP/1.1\r\n")
        let answer = try #require(connection.answer())
        #expect(answer.status == 200)
        // The time of the headers begins when it is their turn.
        #expect(connection.answer().map { $0.status == 408 } ?? true)
        #expect(connection.isClosed())
    }
}
