import ConfigurationFiles
import ConfigurationValues
import Foundation
import JSON
import Program
import Streams
import TestKit
import Testing

@testable import Tokens
@testable import weir

@Suite("weir token")
struct TokenCommandTests {
    private func workspace() throws -> TemporaryDirectory {
        let workspace = try TemporaryDirectory()
        try workspace.write(String(repeating: "k", count: 40) + "\n", to: "k1")
        try workspace.write("token_keys: [{id: k1, file: k1}]\n", to: "collector.yaml")
        return workspace
    }

    private func make(_ workspace: TemporaryDirectory, _ arguments: [String]) throws -> String {
        let command = try WeirCommand.parseAsRoot(
            ["token", "make", "--pipelines", workspace.path] + arguments)
        return try #require(command as? TokenMakeCommand).token(nowSeconds: 1000)
    }

    private func read(_ workspace: TemporaryDirectory, _ text: String, now: Int64) throws -> String
    {
        let command = try WeirCommand.parseAsRoot(
            ["token", "read", text, "--pipelines", workspace.path])
        return try #require(command as? TokenReadCommand).json(nowSeconds: now)
    }

    @Test(
        "makes tokens that it reads again, alone or within an address, and says when they are over")
    func round() throws {
        let workspace = try workspace()
        let text = try make(
            workspace,
            [
                "--use", "c", "--event", #"{"impression_id":"i"}"#, "--to", "https://a.example/x",
                "--open", "zone_id", "--expires-in", "2h",
            ])
        let said =
            #"{"use":"c","type":"skoverlay.click","expires_at":"1970-01-01T02:16:40Z","expired":false,"valid":true,"open":["zone_id"],"to":"https://a.example/x","event":{"impression_id":"i","initiated_by":"user"}}"#
        #expect(try read(workspace, text, now: 8199) == said)
        #expect(try read(workspace, "https://c.example/c?x=1&t=\(text)#y", now: 8199) == said)
        #expect(try read(workspace, text, now: 8200).contains(#""expired":true"#))
        #expect(throws: CommandError.self) { try read(workspace, text + "A", now: 0) }
        let long = try #require(
            #expect(throws: CommandError.self) {
                try read(workspace, String(repeating: "x", count: 9000), now: 0)
            })
        #expect(long.explanation?.contains("too long") == true)
    }

    @Test("reads why the collector or the dashboard would reject a token")
    func faults() throws {
        let workspace = try workspace()
        let keys = TokenKeys(try PipelineDirectory(workspace.path).collector().tokenKeys)
        func click(_ claims: String) -> String {
            #"{"aud":"click","type":"skoverlay.click","to":"https://a.example/",\#(claims),"event":{"impression_id":"i"}}"#
        }
        func said(_ claims: String, header: String? = nil) throws -> String {
            let signed = try #require(try keys.sign(claims))
            guard let header else { return try read(workspace, signed, now: 1000) }
            let rest = signed.drop { $0 != "." }
            return try read(workspace, Base64.url.encode(header.utf8) + rest, now: 1000)
        }
        for (claims, fault) in [
            (#""exp":2000,"nbf":1500"#, "the token is not valid before its nbf"),
            (#""exp":999"#, "the token has expired"),
            (#""exp":9999999"#, "at most 601200 s"),
        ] {
            let text = try said(click(claims))
            #expect(text.contains(#""valid":false,"fault":""#), "\(text)")
            #expect(text.contains(fault), "\(text)")
        }
        #expect(
            try said(#"{"aud":"dashboard","exp":2000,"where":{"campaign":"5239"}}"#)
                == #"{"use":"dashboard","expires_at":"1970-01-01T00:33:20Z","expired":false,"valid":true,"where":{"campaign":"5239"}}"#
        )
        #expect(
            try said(#"{"aud":"dashboard","exp":1000,"where":{}}"#)
                .contains(#""valid":false,"fault":"the token has expired","where":{}"#))
        // Unreadable tokens name the fault of their own use.
        let cases: [(claims: String, header: String?, fault: String)] = [
            (click(#""exp":2000"#), #"{"alg":"HS512","kid":"k1"}"#, "not HS256"),
            (click(#""exp":2000"#), #"{"alg":"HS256","kid":"k1","crit":[]}"#, "has crit"),
            (click(#""exp":2000"#), #"{"alg":"HS256","kid":"k2"}"#, "not signed with a known key"),
            (click(#""exp":"x""#), nil, "exp of the token"),
            (#"{"aud":"dashboard","exp":2000}"#, nil, "where of the token"),
        ]
        for (claims, header, fault) in cases {
            let error = try #require(throws: CommandError.self) {
                try said(claims, header: header)
            }
            #expect(error.explanation?.contains(fault) == true, "\(fault)")
        }
    }

    @Test(
        "makes tokens that hold as long as they may, by the worker's file, and none that hold longer"
    )
    func lifetime() throws {
        let workspace = try workspace()
        let notice = ["--use", "n", "--event", #"{"auction_id":"a","bid_id":"b"}"#]
        #expect(
            try read(workspace, make(workspace, notice), now: 1000).contains(
                #""expires_at":"1970-01-01T01:15:40Z""#))
        // As long as the window, so that only the margin is missing.
        let hour = try #require(throws: CommandError.self) {
            try make(workspace, notice + ["--expires-in", "1h"])
        }
        #expect(hour.explanation?.contains("with a margin; give at most 3540") == true)
        try workspace.write("dedupe_window_seconds: 7200\n", to: "bids.yaml")
        _ = try make(workspace, notice + ["--expires-in", "1h"])
        let long = #"{"impression_id":"i","x":"\#(String(repeating: "x", count: 7000))"}"#
        let refused = try #require(
            #expect(throws: CommandError.self) {
                try make(workspace, ["--use", "i", "--event", long])
            })
        #expect(refused.explanation?.contains("too long") == true)
        try workspace.write("dedupe_window_seconds: 0\n", to: "bids.yaml")
        #expect(throws: CommandError.self) { try make(workspace, notice) }
    }

    @Test("a token for the dashboard has one condition for a column that exists")
    func readConditions() throws {
        let workspace = try workspace()
        for (conditions, words) in [
            (["seat=a", "seat=b"], "--where seat=b: seat is given twice: keep one"),
            (["seats=a"], "--where seats=a: the dumps have no column 'seats'"),
        ] {
            let error = try #require(throws: CommandError.self) {
                try make(workspace, ["--read"] + conditions.flatMap { ["--where", $0] })
            }
            #expect(error.explanation == words)
        }
    }

    @Test("writes a key to a file that only its owner reads, and over no other one")
    func keyFile() throws {
        let workspace = try TemporaryDirectory()
        let file = workspace.path + "/secrets/token-k1"
        func write() throws {
            let command = try WeirCommand.parseAsRoot(["token", "new-key", "--out", file])
            try #require(command as? TokenNewKeyCommand).run()
        }
        try write()
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.utf8.count >= 44)
        for (path, mode) in [(file, 0o600), (workspace.path + "/secrets", 0o700)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == mode)
        }
        #expect(throws: CommandError.self) { try write() }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
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
            ["--use", "i", "--event", #"{"impression_id":"i"}"#, "--expires-in", "7d"],
            ["--use", "n", "--event", #"{"auction_id":"a"}"#],
            [
                "--use", "n", "--event",
                #"{"auction_id":"a","bid_id":"b","campaign":{"app_id":"x"}}"#,
            ],
            [
                "--use", "n", "--type", "openrtb.billing", "--event",
                #"{"auction_id":"a","bid_id":"b","price":-1}"#,
            ],
            ["--use", "i", "--event", #"{"impression_id":"i","test":"yes"}"#],
            [
                "--use", "c", "--to", "https://a.example", "--event",
                #"{"impression_id":"g1","sdk_version":3}"#,
            ],
            [
                "--use", "c", "--to", "https://a.example", "--event",
                #"{"impression_id":"g1","campaign":{"campaign_id":"x"}}"#,
            ],
            ["--use", "i", "--event", #"{"impression_id":"i"}"#, "--open", "campaign"],
        ])
    func refusals(_ arguments: [String]) throws {
        let workspace = try workspace()
        #expect(throws: CommandError.self) { try make(workspace, arguments) }
    }

    @Test(
        "leaves what a notice's query says to that, and what the collector adds to it",
        arguments: [
            ("n", "openrtb.billing", #"{"auction_id":"a","bid_id":"b"}"#),
            ("n", "openrtb.loss", #"{"auction_id":"a","bid_id":"b"}"#),
            ("c", "skoverlay.click", #"{"impression_id":"i","clicked_at_ms":"ever"}"#),
        ])
    func leftOpen(_ use: String, _ type: String, _ event: String) throws {
        let target = use == "c" ? ["--to", "https://a.example"] : []
        let text = try make(workspace(), ["--use", use, "--type", type, "--event", event] + target)
        #expect(
            text.hasPrefix(Base64.url.encode(#"{"alg":"HS256","typ":"JWT","kid":"k1"}"#.utf8) + ".")
        )
    }

    private func producer(named name: String) throws -> String {
        let command = try WeirCommand.parseAsRoot([
            "token", "new-producer", "--name=\(name)", "--topics", "bids",
        ])
        return try #require(command as? TokenNewProducerCommand).lines(key: "abc")
    }

    @Test(
        "makes no lines of a name that would be something else in YAML",
        arguments: [
            "null", "Null", "-", "-a", ".", "a: b", "a # b", "[a]", "a\n  topics: [impressions]",
            "'a'", "\"a", "*a", "caf\u{e9}", "a b", String(repeating: "x", count: 256),
        ])
    func badProducer(_ name: String) throws {
        let fault = try #require(throws: CommandError.self) { try producer(named: name) }
        #expect(fault.exitCode == 64)
        #expect(fault.explanation?.contains("letters, digits") == true)
    }

    @Test("makes lines for producers that the configuration takes")
    func producer() throws {
        let command = try WeirCommand.parseAsRoot([
            "token", "new-producer", "--name", "bidder", "--topics", "bids,impressions",
        ])
        let lines = try #require(command as? TokenNewProducerCommand).lines(key: "abc")
        #expect(!lines.contains("abc"), "the key is no part of the configuration")
        let workspace = try TemporaryDirectory()
        try workspace.write(lines, to: "collector.yaml")
        let key = try #require(try PipelineDirectory(workspace.path).collector().access.keys.first)
        #expect(key.name == "bidder")
        #expect(key.topics == ["bids", "impressions"])
        // The digest of "abc", as FIPS 180-2 has it.
        #expect(lines.contains("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        for name in [
            "true", "1.5", "0x1F", "_a.b-c", "a.", "x" + String(repeating: "y", count: 254),
        ] {
            try workspace.write(try producer(named: name), to: "collector.yaml")
            #expect(
                try PipelineDirectory(workspace.path).collector().access.keys.map(\.name) == [name])
        }
        #expect(SecretText.random().count >= 43)
        #expect(SecretText.random() != SecretText.random())
    }
}
