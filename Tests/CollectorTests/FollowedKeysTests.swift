import ConfigurationFiles
import ConfigurationValues
import Crypto
import Foundation
import Streams
import TestKit
import Testing

@testable import Collector
@testable import Tokens

@Suite("Keys of a collector that works", .serialized)
struct FollowedKeysTests {
    private static let event = #"{"request":{"id":"r","imp":[{"id":"1"}]}}"#

    private func lines(of key: String) -> String {
        let digest = SHA256.hash(data: Array(key.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        return "keys:\n  - {name: bidder, sha256: \(digest), topics: [bids]}\n"
    }

    @Test("are taken over when their files change or at SIGHUP, all of them or none")
    func followed() throws {
        let place = try ProgramPlace()
        func write(_ text: String, _ name: String = "collector.yaml") throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(place.path)/pipelines/\(name)"))
        }
        let program = try place.start()
        defer { kill(program.process.processIdentifier, SIGKILL) }
        let requests = Requests(port: program.port)
        func status(_ key: String) throws -> Int {
            try requests.post(
                "/v1/events/bids", Self.event, headers: ["Authorization": "Bearer \(key)"]
            ).status
        }
        func comesToBe(_ key: String, _ expected: Int) throws -> Bool {
            try Wait.until { try status(key) == expected }
        }
        #expect(try status("first") == 401)
        try write(lines(of: "first"))
        #expect(try comesToBe("first", 200))
        #expect(
            Wait.until {
                program.said.contains("the keys were reloaded producers=bidder token_keys=none")
            })

        // A file that is wrong in one place changes nothing in any other.
        try write(lines(of: "second") + "token_keys:\n  - {id: new, file: token-new}\n")
        #expect(Wait.until { program.said.contains("the present keys remain in force") })
        #expect(try status("first") == 200)
        #expect(try status("second") == 401)
        // What it lacked comes, in a file that nothing has read yet.
        try write(String(repeating: "s", count: 40) + "\n", "token-new")
        #expect(try comesToBe("second", 200))
        #expect(try status("first") == 401)

        let directory = PipelineDirectory(place.path + "/pipelines")
        let token = try EventToken(
            use: .impression, type: "skoverlay.presented", event: #"{"impression_id":"i"}"#,
            openMembers: [], target: "",
            expiresAtSeconds: Int64(Date().timeIntervalSince1970) + 600)
        let text = try #require(try TokenKeys(directory.collector().tokenKeys).sign(token))
        #expect(try requests.get("/i?t=\(text)").status == 200)

        // At SIGHUP it says so even when nothing has changed.
        kill(program.process.processIdentifier, SIGHUP)
        #expect(Wait.until { program.said.contains("reloaded, without changes") })
        #expect(program.process.isRunning)
        try write(lines(of: "second") + "max_body_bytes: 2048\n")
        #expect(Wait.until { program.said.contains("restart the collector to apply them") })
        #expect(try requests.get("/i?t=\(text)").status == 403, "a key that is gone")
    }

    @Test(
        "stay in force when their file is removed, emptied or replaced by a directory, with words")
    func gone() throws {
        let place = try ProgramPlace()
        let file = "\(place.path)/pipelines/collector.yaml"
        func write(_ text: String) throws {
            try? FileManager.default.removeItem(atPath: file)
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        }
        try write(lines(of: "first"))
        let program = try place.start()
        defer { kill(program.process.processIdentifier, SIGKILL) }
        let requests = Requests(port: program.port)
        func status() throws -> Int {
            try requests.post(
                "/v1/events/bids", Self.event, headers: ["Authorization": "Bearer first"]
            ).status
        }
        #expect(try status() == 200)
        for (change, words) in [
            ({ try FileManager.default.removeItem(atPath: file) }, "no longer exists"),
            ({ try write("") }, "is empty"), ({ try write("# nothing\n\n") }, "is empty"),
            (
                {
                    try FileManager.default.removeItem(atPath: file)
                    try FileManager.default.createDirectory(
                        atPath: file, withIntermediateDirectories: false)
                }, "collector.yaml: "
            ),
        ] as [(() throws -> Void, String)] {
            let before = program.said.utf8.count
            func isSaid(_ words: String) -> Bool {
                String(decoding: program.said.utf8.dropFirst(before), as: UTF8.self).contains(words)
            }
            try change()
            kill(program.process.processIdentifier, SIGHUP)
            #expect(
                Wait.until { isSaid(words) && isSaid("the present keys remain in force") },
                "\(program.said)")
            #expect(try status() == 200)
            try write(lines(of: "first"))
            #expect(Wait.until { isSaid("reloaded, without changes") }, "\(program.said)")
        }
        // Whoever wants no keys says so.
        try write("keys: []\n")
        #expect(try Wait.until { try status() == 401 })
    }
}
