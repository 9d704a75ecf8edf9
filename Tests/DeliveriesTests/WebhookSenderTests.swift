import ConfigurationFiles
import ConfigurationValues
import Foundation
import TestKit
import Testing

@testable import Deliveries

@Suite("Warnings for a webhook")
struct WebhookSenderTests {
    private static let watch = """
        webhook:
          url: URL/alerts
          allow_private: true
          secret_file: secrets/watch
          headers: {X-Team: ads}
        """
    private let files: PartnerFiles

    init() throws {
        files = try PartnerFiles()
        try files.write("secrets/watch", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    }

    private func sender(to url: String) throws -> WebhookSender {
        try files.write("watch.yaml", Self.watch.replacing("URL", with: url))
        let receiver = try #require(try PipelineDirectory(files.path).watch().webhook)
        return try WebhookSender(to: receiver, directory: files.path)
    }

    private func document(_ number: Int) -> [UInt8] {
        let id = String(repeating: "0", count: 31) + "\(number)"
        return Array(
            #"{"id":"\#(id)","revision":1,"partner":"watch","rule":"networks","found":0.5}"#.utf8)
    }

    @Test("documents come whole, signed and in order")
    func signed() throws {
        let receiver = try ScriptedPartner()
        let sender = try sender(to: receiver.url)
        for number in 1...3 { try sender.add(document(number)) }
        #expect(sender.send(nowMilliseconds: 1_795_219_200_000)?.fault == nil)
        #expect(sender.waitingCount == 0)
        #expect(receiver.requests.map { Array($0.body.utf8) } == (1...3).map(document))
        let first = try #require(receiver.requests.first)
        #expect(first.line == "POST /alerts HTTP/1.1")
        let id = String(repeating: "0", count: 31) + "1:1"
        #expect(first.headers["webhook-id"] == id)
        #expect(first.headers["idempotency-key"] == id)
        #expect(first.headers["x-team"] == "ads")
        let place = PositionedText(text: "s", file: "f", line: 1, keyPath: "k")
        let expected = try SigningSecrets(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], place)
            .signature(id: id, timestampSeconds: 1_795_219_200, body: document(1))
        #expect(first.headers["webhook-signature"] == expected)
    }

    @Test("what fails is sent again by the schedule under its id, and what is behind it waits")
    func retries() throws {
        let receiver = try ScriptedPartner { _, number in .answer(number < 2 ? 503 : 204) }
        let sender = try sender(to: receiver.url)
        try sender.add(document(1))
        try sender.add(document(2))
        var now: Int64 = 1_795_219_200_000
        let fault = try #require(sender.send(nowMilliseconds: now))
        #expect(fault.fault.hasSuffix("/alerts answered 503"))
        #expect(fault.next == "next attempt in 5 s, 2 waiting")
        #expect(sender.send(nowMilliseconds: now + 1000)?.fault == nil)
        #expect(receiver.requests.count == 1)
        now += 6000
        #expect(sender.send(nowMilliseconds: now)?.fault.contains("answered 503") == true)
        now += 400_000
        #expect(sender.send(nowMilliseconds: now)?.fault == nil)
        #expect(sender.waitingCount == 0)
        let ids = receiver.requests.map { $0.headers["webhook-id"]?.suffix(3) }
        #expect(ids == ["1:1", "1:1", "1:1", "2:1"])
    }

    @Test("news are sent at once when a receiver is back, with what it has missed before them")
    func news() throws {
        let receiver = try ScriptedPartner { _, number in .answer(number < 2 ? 503 : 204) }
        let sender = try sender(to: receiver.url)
        let now: Int64 = 1_795_219_200_000
        try sender.add(document(1))
        _ = sender.send(nowMilliseconds: now)
        #expect(sender.send(nowMilliseconds: now + 6000) != nil)
        // The next attempt would be five minutes later.
        #expect(sender.send(nowMilliseconds: now + 7000) == nil)
        #expect(receiver.requests.count == 2)
        try sender.add(document(2))
        #expect(sender.send(nowMilliseconds: now + 8000) == nil)
        #expect(sender.waitingCount == 0)
        let ids = receiver.requests.map { $0.headers["webhook-id"]?.suffix(3) }
        #expect(ids == ["1:1", "1:1", "1:1", "2:1"])
    }

    @Test(
        "a receiver that never takes one is given up, and says why; the others are sent meanwhile")
    func givenUp() throws {
        let receiver = try ScriptedPartner { request, _ in
            .answer(request.body.contains("01\"") ? 404 : 200)
        }
        let sender = try sender(to: receiver.url)
        try sender.add(document(1))
        try sender.add(document(2))
        var now: Int64 = 1_795_219_200_000
        var faults: [String] = []
        for round in 0..<12 {
            if let fault = sender.send(nowMilliseconds: now) { faults.append(fault.next) }
            if round == 0 { #expect(receiver.requests.last?.body.contains("02\"") == true) }
            now += 100_000_000
        }
        #expect(faults.count == 10)
        #expect(faults.last == "given up after 10 attempts")
        #expect(sender.waitingCount == 0)
        #expect(receiver.requests.count == 11)
    }

    @Test("an address that is not allowed is sent nothing")
    func refused() throws {
        let receiver = try ScriptedPartner()
        try files.write(
            "watch.yaml", "webhook: {url: \"\(receiver.url)/\", secret_file: secrets/watch}\n")
        let webhook = try #require(try PipelineDirectory(files.path).watch().webhook)
        let sender = try WebhookSender(to: webhook, directory: files.path)
        try sender.add(document(1))
        #expect(sender.send(nowMilliseconds: 0)?.fault.contains("allow_private") == true)
        #expect(receiver.requests.isEmpty)
    }

    @Test(
        "a webhook without an address, or with keys that warnings do not have, is an error with its line",
        arguments: [
            ("webhook: {secret_file: a}", "watch.yaml:1: webhook"),
            ("webhook:\n  url: https://e.example/\n  preset: adjust", "watch.yaml:3: webhook"),
            ("webhook:\n  url: nowhere", "watch.yaml:2: webhook.url"),
        ])
    func faults(text: String, expected: String) throws {
        try files.write("watch.yaml", text + "\n")
        #expect {
            _ = try PipelineDirectory(files.path).watch()
        } throws: { error in
            "\(error)".contains(expected)
        }
    }
}
