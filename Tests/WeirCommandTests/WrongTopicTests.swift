import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import EventLog
import Foundation
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Publishing to the wrong topic")
struct WrongTopicTests {
    private static let sampleNames = allStreams.map { $0.streamName }.filter { name in
        FileManager.default.fileExists(atPath: Repository.path("examples/\(name).ndjson"))
    }

    /// A directory without a configuration, for a log.
    private struct Workspace {
        let files: TemporaryDirectory
        var log: String { files.path + "/data/log.sqlite" }
        var hasLog: Bool { FileManager.default.fileExists(atPath: log) }

        init() throws { files = try TemporaryDirectory() }

        /// Runs `weir publish --topic`, then what follows, in a shell.
        func publish(_ line: String, from pipe: String = "") throws -> Program {
            try Program.shell(
                "cd \(files.path) && \(pipe) weir publish --topics \(Repository.path("topics")) "
                    + "--data data --topic \(line)")
        }

        func count(_ topic: String) throws -> Int {
            try EmbeddedLog(path: log, mode: .existing).records(of: topic).count
        }
    }

    /// A sample's lines without headers.
    private static func bare(_ name: String) throws -> [String] {
        try Repository.text("examples/\(name).ndjson").split(separator: "\n").map { line in
            var record = try jsonObject(String(line))
            record["headers"] = nil
            let json = try JSONSerialization.data(withJSONObject: record, options: .sortedKeys)
            return String(decoding: json, as: UTF8.self)
        }
    }

    @Test(
        "records of another topic's type are refused before anything is written, and --force takes them"
    )
    func types() throws {
        let workspace = try Workspace()
        let file = Repository.path("examples/postbacks.ndjson")
        let refused = try workspace.publish("bids \(file)")
        #expect(refused.status == 1)
        #expect(
            refused.error.contains(
                "14 of 14 records do not belong to topic bids: 13 with type skadnetwork.postback "
                    + "(first in line 1, of topic postbacks), 1 with type adattributionkit.postback"
            ),
            "\(refused.error)")
        #expect(refused.error.contains("Nothing was published. Give --topic postbacks, or "))
        #expect(!workspace.hasLog)
        #expect(try workspace.publish("bids < \(file)").status == 1)
        #expect(!workspace.hasLog)
        #expect(try workspace.publish("postbacks \(file)").status == 0)
        #expect(try workspace.publish("bids --force \(file)").status == 0)
        #expect(try workspace.publish("bids \(file)", from: "WEIR_FORCE=1").status == 0)
        #expect(try workspace.count("postbacks") == 14 && workspace.count("bids") == 28)
    }

    @Test(
        "records without a type are refused where only another topic's worker takes them",
        arguments: [
            ("postbacks", "bids"), ("costs", "postbacks"), ("store-notifications", "costs"),
        ])
    func values(_ sample: String, _ topic: String) throws {
        let workspace = try Workspace()
        let file = try workspace.files.write(
            Self.bare(sample).joined(separator: "\n"), to: "lines.ndjson")
        let refused = try workspace.publish("\(topic) \(file)")
        #expect(refused.status == 1 && refused.error.contains("of topic \(sample)"))
        #expect(!workspace.hasLog)
    }

    @Test("one record of another topic among others is found, with its line")
    func oneOfMany() throws {
        let workspace = try Workspace()
        let own = try Repository.text("examples/bids.ndjson")
        let other = try Repository.text("examples/impressions.ndjson").split(separator: "\n")[0]
        let file = try workspace.files.write(own + other + "\n", to: "lines.ndjson")
        let refused = try workspace.publish("bids \(file)")
        #expect(refused.status == 1)
        #expect(
            refused.error.contains("1 of 24 records does not belong to topic bids")
                && refused.error.contains("first in line 24, of topic impressions"),
            "\(refused.error)")
        #expect(!workspace.hasLog)
    }

    @Test("of a pipe the batch with the record is not written")
    func pipe() throws {
        let workspace = try Workspace()
        let file = Repository.path("examples/postbacks.ndjson")
        let refused = try workspace.publish("bids", from: "cat \(file) |")
        #expect(refused.status == 1 && refused.error.contains("Nothing was published"))
        #expect(try workspace.count("bids") == 0)
        let own = #"{"key":"k","headers":{"ce_type":"openrtb.win"},"value":1}"#
        let lines = try workspace.files.write(
            String(repeating: own + "\n", count: 10_000), to: "lines.ndjson")
        let later = try workspace.publish("bids -", from: "cat \(lines) \(file) |")
        #expect(later.status == 1 && later.error.contains("10000 records before them are in"))
        #expect(try workspace.count("bids") == 10_000)
        #expect(try workspace.publish("postbacks -", from: "cat \(file) |").status == 0)
        #expect(try workspace.count("postbacks") == 14)
    }

    @Test("a sample belongs to its own topic and to no other", arguments: sampleNames)
    func samples(_ name: String) throws {
        for topic in Self.sampleNames {
            var check = try #require(
                try TopicCheck(topic: topic, pipelines: PipelineDirectory("none")))
            try check.read(
                LineReader(path: Repository.path("examples/\(name).ndjson"))
            ) { _ in }
            #expect((check.fault(in: "", outcome: "") == nil) == (topic == name), "\(topic)")
        }
    }

    @Test("records that no stream recognises are left to the worker, and so are topics of others")
    func unknown() throws {
        let workspace = try Workspace()
        let file = try workspace.files.write(
            "{\"value\":1}\n{\"value\":{}}\n{}\n", to: "lines.ndjson")
        #expect(try workspace.publish("bids \(file)").status == 0)
        #expect(
            try TopicCheck(topic: "partner-postbacks", pipelines: PipelineDirectory("none")) == nil)
    }

    @Test(
        "records of a type that no topic has are refused where all are such, and warned of where some are"
    )
    func unknownTypes() throws {
        let workspace = try Workspace()
        let typo = #"{"key":"k","headers":{"ce_type":"openrtb.wins"},"value":{}}"#
        let alone = try workspace.files.write("\(typo)\n\(typo)\n", to: "alone.ndjson")
        let refused = try workspace.publish("bids \(alone)")
        #expect(
            refused.error.contains(
                "2 of 2 records do not belong to topic bids: 2 with type openrtb.wins"),
            "\(refused.error)")
        #expect(refused.status == 1 && !workspace.hasLog)
        let own = #"{"key":"k","headers":{"ce_type":"openrtb.win"},"value":{}}"#
        let mixed = try workspace.files.write("\(own)\n\(typo)\n", to: "mixed.ndjson")
        for program in [
            try workspace.publish("bids \(mixed)"),
            try workspace.publish("bids", from: "cat \(mixed) |"),
        ] {
            #expect(program.status == 0)
            #expect(
                program.error.contains(
                    "no topic has the type of 1 record, which the worker of bids will reject: "
                        + "1 with type openrtb.wins (first in line 2)"), "\(program.error)")
        }
        #expect(try workspace.count("bids") == 4)
    }

    @Test("a topic has the name that the configuration gives it")
    func renamed() throws {
        let files = try TemporaryDirectory()
        try files.write("topic: auctions\n", to: "bids.yaml")
        let pipelines = PipelineDirectory(files.path)
        #expect(try TopicCheck(topic: "bids", pipelines: pipelines) == nil)
        var check = try #require(try TopicCheck(topic: "postbacks", pipelines: pipelines))
        try check.read(LineReader(path: Repository.path("examples/bids.ndjson"))) { _ in }
        let fault = try #require(check.fault(in: "f", outcome: "o")?.explanation)
        #expect(fault.contains("of topic auctions") && fault.contains("Give --topic auctions"))
    }
}
