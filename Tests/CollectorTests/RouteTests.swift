import Foundation
import Testing

@testable import Collector

@Suite("What each route puts in the log")
struct RouteTests {
    @Test(
        "is what the fixture says: headers, key, and the body byte for byte",
        arguments: (try? Fixture.all()) ?? [])
    func fixture(_ fixture: Fixture) throws {
        let workspace = try CollectorWorkspace()
        for request in try fixture.requests() {
            let answer = try workspace.send(
                request.method, request.target, headers: request.headers, body: request.body)
            #expect(answer.status == request.status, "\(request.target): \(answer.text)")
            if let error = request.error { #expect(answer.error == error) }
        }
        for (topic, expected) in try fixture.records() {
            let stored = try workspace.records(topic)
            #expect(stored.count == expected.count, "\(topic)")
            for record in expected {
                let found = stored.first { stored in
                    stored.key == record.key && stored.value == record.value
                        && record.headers.allSatisfy { stored.headers[$0.key] == $0.value }
                }
                guard let found else {
                    Issue.record("\(topic): no record of key \(record.key ?? "none"): \(stored)")
                    continue
                }
                #expect(found.headers["ce_specversion"] == "1.0")
                #expect(found.headers["content-type"] == "application/json")
                #expect(found.headers["ce_id"]?.isEmpty == false)
                #expect(found.headers["ce_time"]?.hasSuffix("Z") == true)
                #expect(found.headers["ce_source"]?.isEmpty == false)
                #expect((found.headers["ce_via"] != nil) == (topic == "postbacks"))
            }
        }
    }

    @Test("a body with a byte order mark is refused for the reason that its worker would give")
    func byteOrderMark() throws {
        let workspace = try CollectorWorkspace()
        let answer = try workspace.post(
            "/v1/postbacks/skadnetwork", "\u{FEFF}{\"transaction-id\":\"abcdef-1\"}")
        #expect(answer.status == 400)
        #expect(answer.error == "malformed_json")
        #expect(answer.text.contains("a byte order mark at byte 0"), "\(answer.text)")
    }

    @Test("lies in one partition for all copies of a postback")
    func copies() throws {
        let workspace = try CollectorWorkspace()
        let paths = [
            "/.well-known/skadnetwork/report-attribution", "/v1/postbacks/skadnetwork?via=relay",
            "/v1/postbacks/skadnetwork/",
        ]
        for (number, path) in paths.enumerated() {
            let id = number == 1 ? "ABCDEF-1" : "abcdef-1"
            #expect(
                try workspace.post(path, "{\"transaction-id\":\"\(id)\",\"n\":\(number)}")
                    .status == 200)
        }
        let records = try workspace.records("postbacks")
        #expect(records.count == 3)
        #expect(Set(records.map(\.partition)).count == 1)
        #expect(Set(records.map(\.key)) == ["abcdef-1"])
        #expect(
            Set(records.compactMap { $0.headers["ce_via"] })
                == ["device", "developer-copy", "relay"])
    }

    @Test("is found under every form of a path that means the same, and under no other")
    func forms() throws {
        let workspace = try CollectorWorkspace()
        for path in [
            "//.well-known/skadnetwork/report-attribution",
            "/.well-known//skadnetwork/report-attribution//",
            "/%2Ewell%2dknown/%73kadnetwork/report-attribution/?x=%2F",
        ] {
            #expect(try workspace.post(path, #"{"transaction-id":"t"}"#).status == 200, "\(path)")
        }
        for path in [
            "/.well-known%2Fskadnetwork/report-attribution",
            "/%252Ewell-known/skadnetwork/report-attribution",
            "/v1/../.well-known/skadnetwork/report-attribution",
            "/v1/%2e%2e/.well-known/skadnetwork/report-attribution",
            "/./.well-known/skadnetwork/report-attribution", "/v1/postbacks/skadnetwor%6",
            "/v1/postbacks/skadnetwork%00", "/V1/postbacks/skadnetwork", "//",
        ] {
            #expect(try workspace.post(path, #"{"transaction-id":"t"}"#).status == 404, "\(path)")
        }
        let sources = try workspace.records("postbacks").compactMap { $0.headers["ce_source"] }
        #expect(Set(sources) == ["/.well-known/skadnetwork/report-attribution"])
    }

    @Test("is stamped by the log, whatever time a producer says")
    func timestamps() throws {
        let workspace = try CollectorWorkspace()
        let before = Int64(Date().timeIntervalSince1970 * 1000) - 1
        _ = try workspace.post(
            "/v1/postbacks/skadnetwork", #"{"transaction-id":"t"}"#,
            headers: ["ce-time": "1999-01-01T00:00:00Z", "ce-id": "own", "ce-source": "/app"])
        let record = try #require(try workspace.records("postbacks").first)
        #expect(record.timestampMilliseconds >= before)
        #expect(record.headers["ce_time"] == "1999-01-01T00:00:00Z")
        #expect(record.headers["ce_id"] == "own")
        #expect(record.headers["ce_source"] == "/app")
    }

    @Test("is answered 200 for postbacks with signatures of whoever")
    func unsigned() throws {
        let workspace = try CollectorWorkspace()
        let body = #"{"transaction-id":"t","attribution-signature":"bm8=","version":"4.0"}"#
        #expect(try workspace.post("/v1/postbacks/skadnetwork", body).status == 200)
    }
}
