import Pipelines
import Testing

@testable import weir

@Suite("weir token")
struct TokenCommandTests {
    private func place() throws -> TemporaryPlace {
        let place = try TemporaryPlace()
        try place.write(String(repeating: "k", count: 40) + "\n", to: "k1")
        try place.write("token_keys: [{id: k1, file: k1}]\n", to: "collector.yaml")
        return place
    }

    private func make(_ place: TemporaryPlace, _ arguments: [String]) throws -> String {
        let command = try WeirCommand.parseAsRoot(
            ["token", "make", "--pipelines", place.path] + arguments)
        return try #require(command as? TokenMakeCommand).token(nowSeconds: 1000)
    }

    private func read(_ place: TemporaryPlace, _ text: String, now: Int64) throws -> String {
        let command = try WeirCommand.parseAsRoot(
            ["token", "read", text, "--pipelines", place.path])
        return try #require(command as? TokenReadCommand).json(nowSeconds: now)
    }

    @Test(
        "makes tokens that it reads again, alone or within an address, and says when they are over")
    func round() throws {
        let place = try place()
        let text = try make(
            place,
            [
                "--use", "c", "--event", #"{"impression_id":"i"}"#, "--to", "https://a.example/x",
                "--open", "click_id", "--expires-in", "2h",
            ])
        let said =
            #"{"use":"c","type":"skoverlay.click","expires_at":"1970-01-01T02:16:40Z","expired":false,"open":["click_id"],"to":"https://a.example/x","event":{"impression_id":"i","initiated_by":"user"}}"#
        #expect(try read(place, text, now: 8199) == said)
        #expect(try read(place, "https://c.example/c?x=1&t=\(text)#y", now: 8199) == said)
        #expect(try read(place, text, now: 8200).contains(#""expired":true"#))
        #expect(throws: CommandError.self) { try read(place, text + "A", now: 0) }
    }

    @Test(
        "refuses what a worker would reject, and what could be bent",
        arguments: [
            ["--use", "i", "--event", "{}"], ["--use", "i", "--event", "[]"],
            ["--use", "i", "--event", #"{"impression_id":"i"}"#, "--to", "https://a.example"],
            ["--use", "i", "--event", #"{"impression_id":"i"}"#, "--type", "inapp.loaded"],
            ["--use", "c", "--event", #"{"impression_id":"i"}"#],
            ["--use", "c", "--event", #"{"impression_id":"i"}"#, "--to", "//a.example"],
            ["--use", "i", "--event", #"{"impression_id":"i"}"#, "--expires-in", "1w"],
            ["--use", "i", "--event", #"{"impression_id":"i"}"#, "--expires-in", "99999999999d"],
            ["--use", "i", "--event", #"{"impression_id":"i"}"#, "--open", "campaign"],
        ])
    func refusals(_ arguments: [String]) throws {
        let place = try place()
        #expect(throws: CommandError.self) { try make(place, arguments) }
    }

    @Test("makes lines for producers that the configuration takes")
    func producer() throws {
        let command = try WeirCommand.parseAsRoot([
            "token", "new-producer", "--name", "bidder", "--topics", "bids,impressions",
        ])
        let lines = try #require(command as? TokenNewProducerCommand).lines(key: "abc")
        let place = try TemporaryPlace()
        try place.write(lines, to: "collector.yaml")
        let key = try #require(try PipelineDirectory(place.path).collector().keys.first)
        #expect(key.name == "bidder")
        #expect(key.topics == [.bids, .impressions])
        // The digest of "abc", as FIPS 180-2 has it.
        #expect(lines.contains("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        #expect(SecretText.random().count >= 43)
        #expect(SecretText.random() != SecretText.random())
    }
}
