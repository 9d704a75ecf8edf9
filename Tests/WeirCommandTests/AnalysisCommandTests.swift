import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import Program
import Reports
import Streams
import TestKit
import Testing

@testable import weir

@Suite("The commands that compare")
struct AnalysisCommandTests {
    private func parsed<Command: ParsableCommand>(
        _ type: Command.Type, _ arguments: String...
    ) throws -> Command { try #require(try WeirCommand.parseAsRoot(arguments) as? Command) }

    @Test("the options of a comparison become its question")
    func comparison() throws {
        let command = try parsed(
            DiffCommand.self, "diff", "a", "b", "bids", "--by", "day", "--since", "1795318668500",
            "--measure", "bids", "--measure", "wins", "--all", "--limit", "3", "--exit-code")
        let question = command.comparison.question(
            try command.request(
                try #require(command.name), ReportConfiguration(catalog: Catalog())))
        #expect([command.first, command.second, question.request.name] == ["a", "b", "bids"])
        #expect(question.request.grouping == .columns(["day"]))
        #expect(question.request.sinceMilliseconds == 1_795_318_668_500)
        #expect(question.request.measures == ["bids", "wins"])
        #expect(question.showsEqual && command.exitCode)
        #expect(question.limit == 3)
    }

    @Test(
        "what cannot be asked is bad usage",
        arguments: [
            ["diff", "a", "b", "--by", "day"], ["diff", "a", "b", "bids", "--limit", "-1"],
            ["reconcile", "--all"], ["changes", "bids", "--from", "noon", "--to", "7"],
            ["dump", "bids", "--estimate"], ["dump", "bids", "--as-of", "someday"],
            ["dump", "bids", "--as-of", "2999-01-01"],
            ["replay", "--into", "x", "--from-offset", "-1"],
            ["replay", "--into", "x", "--from-offset", "3", "--to-offset", "3"],
            ["replay", "--into", "x", "--from-time", "2026-01-02", "--to-time", "2026-01-01"],
            ["changes", "bids", "--from", "today", "--to", "now", "--archive", "kafka://a:1"],
        ])
    func badUsage(_ arguments: [String]) throws {
        let workspace = try TemporaryDirectory()
        let isOfData = arguments[0] != "diff"
        #expect {
            var command = try WeirCommand.parseAsRoot(
                arguments + (isOfData ? ["--data", workspace.path] : []))
            try command.run()
        } throws: { error in
            let found = CommandError(error)
            return found == nil || found?.exitCode == 64
        }
    }

    @Test("candidate models are the files of a directory, or of its folder conversion-models")
    func candidates() throws {
        let workspace = try TemporaryDirectory()
        let model = try String(
            contentsOfFile: Repository.path("pipelines/conversion-models/525463029.yaml"),
            encoding: .utf8)
        try workspace.write(model, to: "flat/525463029.yaml")
        try workspace.write(model, to: "pipelines/conversion-models/525463029.yaml")
        try workspace.write("", to: "empty/readme.txt")
        func apps(_ name: String) throws -> [Int64] {
            try PipelineDirectory("\(workspace.path)/\(name)").candidateModels().map(\.app)
        }
        #expect(try apps("flat") == [525_463_029])
        #expect(try apps("pipelines") == [525_463_029])
        #expect(throws: ConfigurationError.self) { try apps("empty") }
    }

    @Test("an explanation that does not add up says so on standard error, in JSON too")
    func unexplained() throws {
        let workspace = try TemporaryDirectory()
        let log = try EmbeddedLog(path: "\(workspace.path)/log.sqlite", mode: .create)
        try log.createTopic("bids", partitionCount: 4)
        try log.writer().append(try ExampleDay.records(of: "bids"))
        let options = WorkerOptions(
            log: .sqlite(path: "\(workspace.path)/log.sqlite"), data: workspace.path,
            pipelines: Repository.path("pipelines"), untilEnd: true)
        try BidsFold.work(options, stop: StopSignal())
        for partition in 0..<4 as Range<Int32> {
            try log.trim(topic: "bids", partition: partition, before: 50)
        }
        for format in ["json", "ndjson"] {
            let explained = try Program.run(
                "weir",
                [
                    "explain", "bids", "--where", "currency=USD", "--measure", "bids", "--data",
                    workspace.path, "--format", format,
                ])
            #expect(explained.status == 1)
            #expect(explained.output.contains("does not add up"))
            #expect(explained.error.hasPrefix("weir: the records do not add up to the number"))
        }
    }
}
