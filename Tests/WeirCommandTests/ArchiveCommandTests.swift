import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import History
import Program
import Reports
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Archives and workers")
struct ArchiveCommandTests {
    private let workspace: TemporaryDirectory
    private let cluster: MockCluster

    init() throws {
        workspace = try TemporaryDirectory()
        cluster = try MockCluster(brokerCount: 1)
        for topic in ["bids", "bids.dlq"] { try cluster.createTopic(topic, partitionCount: 4) }
        try workspace.write("batch_records: 50\n", to: "pipelines/bids.yaml")
    }

    private var archive: String { "sqlite:\(workspace.path)/archive.sqlite" }

    /// Publishes auctions, a third of them repeated and some broken.
    private func publish(_ numbers: Range<Int>) throws {
        let log = try PipelineDirectory(Repository.path("pipelines")).openLog(
            LogAddress(cluster.address), .existing)
        try log.writer().append(
            numbers.map { number in
                let id = "a\(number * 2 / 3)"
                let value =
                    number % 11 == 0
                    ? "{" : #"{"request":{"id":"\#(id)","app":{"bundle":"880047117"}}}"#
                return OutgoingRecord(topic: "bids", key: Array(id.utf8), value: Array(value.utf8))
            })
    }

    private func runArchive(_ arguments: String...) throws {
        var command = try WeirCommand.parseAsRoot(["archive"] + arguments)
        try command.run()
    }

    /// The digest of a fresh store that is folded from a log.
    private func digest(_ data: String, log: String, archive: String? = nil) throws -> String {
        let options = WorkerOptions(
            log: try LogAddress(log), data: "\(workspace.path)/\(data)",
            pipelines: "\(workspace.path)/pipelines", untilEnd: true, archive: archive)
        try BidsFold.work(options, stop: StopSignal())
        return try OpenStores(directories: ["\(workspace.path)/\(data)"]).digest()
    }

    @Test("a store is the same, folded from the cluster, from its archive, or from both")
    func digests() throws {
        try publish(0..<600)
        try runArchive("--topic", "bids", "--from", cluster.address, "--to", archive)
        let early = try digest("kafka-early", log: cluster.address)
        #expect(try digest("archive-early", log: archive) == early)
        try publish(600..<900)
        let late = try digest("kafka", log: cluster.address)
        #expect(late != early)
        #expect(try digest("both", log: cluster.address, archive: archive) == late)
        #expect(try digest("kafka-early", log: cluster.address, archive: archive) == late)
        #expect(try digest("archive-early", log: cluster.address) == late)
        try runArchive("--topic", "bids", "--from", cluster.address, "--to", archive)
        #expect(try digest("archive", log: archive) == late)
        #expect(try digest("both", log: cluster.address, archive: archive) == late)
    }

    @Test("an archive of another cluster is refused, and no store is begun")
    func otherCluster() throws {
        let other = try MockCluster(brokerCount: 1)
        try other.createTopic("bids", partitionCount: 4)
        try publish(0..<10)
        try runArchive("--topic", "bids", "--from", cluster.address, "--to", archive)
        #expect { try digest("data", log: other.address, archive: archive) } throws: {
            "\($0)".contains("belongs to another log")
        }
        #expect(!FileManager.default.fileExists(atPath: "\(workspace.path)/data/bids.sqlite"))
        #expect {
            try runArchive("--topic", "bids", "--from", other.address, "--to", archive)
        } throws: { "\($0)".contains("another log") }
    }

    @Test("options that contradict each other are bad usage")
    func usage() throws {
        func usage(_ arguments: String...) throws -> String {
            var command = try WeirCommand.parseAsRoot(["archive", "--topic", "t"] + arguments)
            do {
                try command.run()
                return ""
            } catch let error as CommandError {
                #expect(error.exitCode == 64)
                return error.explanation ?? ""
            }
        }
        let from = ["--from", "sqlite:\(workspace.path)/a"]
        #expect(try usage().contains("--from is missing"))
        #expect(try usage(from[0], from[1]).contains("--to is missing"))
        #expect(try usage(from[0], from[1], "--to", "kafka://a:1").contains("is not an archive"))
        #expect(
            try usage(
                from[0], from[1], "--to",
                "sqlite:\(workspace.path)/../"
                    + "\((workspace.path as NSString).lastPathComponent)/a"
            ).contains("the same file"))
        #expect(
            try usage(from[0], from[1], "--to", archive, "--follow", "--until-end")
                .contains("--follow and --until-end exclude each other"))
        #expect(
            try usage(
                from[0], from[1], "--to", archive, "--from-offset", "1", "--from-time", "2026-11-21"
            ).contains("exclude each other"))
    }

    @Test("where an archive begins comes from options, else from the environment")
    func start() throws {
        func start(
            _ arguments: [String], _ variables: [String: String] = [:]
        ) throws -> ArchiveStart? {
            try (WeirCommand.parseAsRoot(["archive"] + arguments) as? ArchiveCommand)?
                .start(Environment(variables))
        }
        #expect(try start([]) == .earliest)
        #expect(try start(["--from-offset", "7"], ["WEIR_FROM_OFFSET": "8"]) == .offset(7))
        #expect(try start([], ["WEIR_FROM_OFFSET": "8"]) == .offset(8))
        #expect(try start(["--from-time", "1970-01-02"]) == .time(86_400_000))
        #expect(try start([], ["WEIR_FROM_TIME": "1763701200000"]) == .time(1_763_701_200_000))
        #expect(throws: CommandError.self) { try start([], ["WEIR_FROM_TIME": "5"]) }
        #expect(throws: CommandError.self) { try start([], ["WEIR_FROM_OFFSET": "x"]) }
    }
}
