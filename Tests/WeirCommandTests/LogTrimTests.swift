import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import History
import Program
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Trimming the embedded log", .serialized)
struct LogTrimTests {
    private static let day: Int64 = 86_400_000
    private static let now: Int64 = 100 * day
    private let workspace: TemporaryDirectory
    private let log: EmbeddedLog
    private var data: String { workspace.path + "/data" }

    /// A topic with a record of each of the last ten days in each of two partitions.
    init() throws {
        workspace = try TemporaryDirectory()
        log = try EmbeddedLog(path: workspace.path + "/data/log.sqlite", mode: .create)
        try log.createTopic("bids", partitionCount: 2)
        try append("bids")
    }

    private func append(_ topic: String) throws {
        try log.writer().append(
            (0..<20).map { (number: Int) in
                let daysAgo = Int64(10 - number / 2)
                return OutgoingRecord(
                    topic: topic, partition: Int32(number % 2),
                    timestampMilliseconds: Self.now - daysAgo * Self.day + 1000,
                    key: nil, value: Array(repeating: 1, count: 100))
            })
    }

    private func makeStore(_ directory: String, _ offsets: [Int32: Int64]) throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let identity = try #require(try log.topics().first { $0.name == "bids" }).identity
        let store = try AggregateStore(
            path: "\(directory)/bids.sqlite", fold: BidsFold.self, topic: "bids",
            logIdentity: identity, partitionCount: 2)
        for (partition, offset) in offsets {
            try store.beginPartition(partition, at: offset, emitFrom: 0)
        }
    }

    private func trim(
        _ settings: [String: String], topic: String = "bids", directories: [String]? = nil,
        archive: String? = nil, beyondStores: Bool = false
    ) throws -> LogTrim {
        LogTrim(
            log,
            [
                DescribedTopic(
                    name: topic, partitionCount: 2, replicaCount: nil, settings: settings,
                    file: "topics/\(topic).yaml")
            ],
            needs: beyondStores
                ? nil
                : try LogNeeds(
                    of: log, directories: directories ?? [data], archivePath: archive,
                    pipelines: PipelineDirectory(workspace.path + "/none")),
            nowMilliseconds: Self.now)
    }

    private func weeks(_ count: Int64) -> [String: String] {
        ["cleanup.policy": "delete", "retention.ms": "\(count * 7 * Self.day)"]
    }

    @Test("what is past the retention goes, and only what every store has folded")
    func stores() throws {
        try makeStore(data, [0: 10, 1: 2])
        let trim = try trim(weeks(1))
        let rows = try trim.plan()
        #expect(rows.map(\.target) == [3, 2])
        #expect(rows[0].reason == "within 7 days")
        #expect(rows[1].reason == "1 more are past 7 days, but \(data)/bids.sqlite continues at 2")
        try trim.run(rows)
        let bounds = try log.reader(topic: "bids", group: nil).bounds()
        #expect(bounds.map(\.earliestOffset) == [3, 2])
        #expect(bounds.map(\.endOffset) == [10, 10])
        #expect(try trim.plan().map(\.count) == [0, 0])
    }

    @Test("the copy of a store that is behind counts, and so does a consumer group")
    func whoIsBehind() throws {
        try makeStore(data, [0: 10, 1: 10])
        try makeStore(workspace.path + "/b", [0: 1])
        let both = [data, workspace.path + "/b"]
        #expect(try trim(weeks(1), directories: both).plan().map(\.target) == [1, 3])
        #expect(try trim(weeks(1)).plan().map(\.target) == [3, 3])
        try log.reader(topic: "bids", group: "weir-bids").commit([0: 9, 1: 1])
        let rows = try trim(weeks(1)).plan()
        #expect(rows.map(\.target) == [3, 1])
        #expect(rows[1].holder == "consumer group weir-bids")
        #expect(try trim(weeks(1), beyondStores: true).plan().map(\.target) == [3, 3])
    }

    @Test("a topic that nobody has folded yet stays, unless nobody is asked")
    func unfolded() throws {
        try makeStore(data, [0: 10])
        let rows = try trim(weeks(1)).plan()
        #expect(rows.map(\.target) == [3, 0])
        #expect(rows[1].holder?.contains("weir-bids") == true)
        #expect(try trim(weeks(1), beyondStores: true).plan().map(\.target) == [3, 3])
        #expect(throws: CommandError.self) {
            try trim(weeks(1), directories: [workspace.path + "/gone"])
        }
    }

    @Test("a replay that is under way, and one that is about to begin, keep what they read")
    func replays() throws {
        try makeStore(data, [0: 10, 1: 10])
        let replay = "\(data)/again"
        let order = ReplayOrder(
            source: ReplaySource(
                log: .sqlite(path: "\(data)/log.sqlite"), archivePath: nil,
                pipelines: PipelineDirectory("x")),
            dataDirectories: [data], directory: replay, threadCount: 1)
        try ReplayManifest(order, topics: ["bids"]).begin(in: replay)
        #expect(try trim(weeks(1)).plan().map(\.target) == [0, 0])
        try makeStore(replay, [0: 2])
        #expect(try trim(weeks(1)).plan().map(\.target) == [2, 0])
        try makeStore(replay, [1: 9])
        let rows = try trim(weeks(1)).plan()
        #expect(rows.map(\.target) == [2, 3])
        #expect(rows[0].holder == "replay \(replay)/bids.sqlite")
    }

    @Test("a replay anywhere below a data directory keeps what it reads, until its set was left")
    func replaysBelow() throws {
        try makeStore(data, [0: 10, 1: 10])
        let order = ReplayOrder(
            source: ReplaySource(
                log: .sqlite(path: "\(data)/log.sqlite"), archivePath: nil,
                pipelines: PipelineDirectory("x")),
            dataDirectories: [data], directory: "x", threadCount: 1)
        func begin(_ directory: String, _ offsets: [Int32: Int64]) throws {
            try ReplayManifest(order, topics: ["bids"]).begin(in: directory)
            try makeStore(directory, offsets)
        }
        let (fixed, deep) = ("\(data)/sets/fixed", "\(data)/sets/2026/11/again")
        try begin(fixed, [0: 2, 1: 9])
        #expect(try trim(weeks(1)).plan().map(\.target) == [2, 3])
        try begin(deep, [0: 1, 1: 9])
        #expect(try trim(weeks(1)).plan().first?.holder == "replay \(deep)/bids.sqlite")
        try FileManager.default.removeItem(atPath: deep)
        // A link that leads back is not followed, and a backup reads nothing.
        try FileManager.default.createSymbolicLink(
            atPath: "\(data)/sets/loop", withDestinationPath: data)
        try begin("\(data)/copies/monday/sets/fixed", [0: 1, 1: 1])
        try workspace.write("{}", to: "data/copies/monday/\(BackupManifest.fileName)")
        let rows = try trim(weeks(1)).plan()
        #expect(rows.map(\.target) == [2, 3])
        #expect(rows[0].holder == "replay \(fixed)/bids.sqlite")

        var sets = try PromotionJournal(directory: data)
        for (time, kind) in [(1, .promote), (2, .rollback)] as [(Int64, StorePromotion.Kind)] {
            let inForce = sets.set(of: "bids")
            let other = inForce == "." ? "sets/fixed" : "."
            try sets.append(
                StorePromotion(
                    atMilliseconds: time, kind: kind,
                    streams: ["bids": .init(to: other, from: inForce)]))
        }
        #expect(try trim(weeks(1)).plan().map(\.target) == [3, 3])
    }

    @Test("an archive that is being written keeps what it has not copied yet")
    func archives() throws {
        try makeStore(data, [0: 10, 1: 10])
        let path = workspace.path + "/archive.sqlite"
        let copy = try ArchiveCopy(
            from: log.reader(topic: "bids", group: nil),
            to: EmbeddedLog(path: path, mode: .create), partitions: nil, start: .earliest)
        try copy.copyToEnd()
        try append("bids")
        #expect(try trim(weeks(0), archive: path).plan().map(\.target) == [10, 10])
        #expect(try trim(weeks(0)).plan().map(\.target) == [10, 10])
    }

    @Test("sizes, endless and compacted topics, and those that nobody describes, are as described")
    func rules() throws {
        try log.createTopic("other", partitionCount: 2)
        try append("other")
        func rows(_ settings: [String: String]) throws -> [LogTrim.Row] {
            try trim(settings, topic: "other").plan(topics: ["other"])
        }
        #expect(try rows(["retention.bytes": "350"]).map(\.target) == [7, 7])
        #expect(
            try rows(["retention.bytes": "350", "retention.ms": "\(Self.day * 2)"]).map(\.target)
                == [8, 8])
        #expect(try rows(["retention.bytes": "10"]).map(\.target) == [10, 10])
        for (settings, words) in [
            (["retention.ms": "-1"], "kept without a limit"), ([:], "kept without a limit"),
            (["cleanup.policy": "compact", "retention.ms": "1"], "compact"),
        ] {
            let rows = try rows(settings)
            #expect(rows.map(\.count) == [0, 0])
            #expect(rows[0].reason.contains(words))
        }
        #expect(
            try rows(["cleanup.policy": "compact,delete", "retention.ms": "1"]).map(\.target)
                == [10, 10])
        let undescribed = try trim(weeks(1)).plan(topics: ["other"])
        #expect(undescribed[0].reason.contains("without a description"))
        #expect(throws: CommandError.self) { try rows(["retention.ms": "soon"]) }
    }

    @Test("the command tries dry, deletes, gives the room back to the log, and says no to Kafka")
    func command() throws {
        try makeStore(data, [0: 10, 1: 10])
        let up = try UpWorkspace()
        let at = ["--data", data, "--topics", Repository.path("topics")]
        let dry = try up.weir(["log", "trim", "--dry-run", "--format", "json"] + at)
        #expect(dry.status == 0, "\(dry.error)")
        let rows = try JSONSerialization.jsonObject(with: Data(dry.output.utf8))
        #expect((rows as? [[String: Any]])?.compactMap { $0["would_trim"] as? Int } == [10, 10])
        #expect(dry.error.contains("would trim 20 records"))
        let done = try up.weir(["log", "trim"] + at)
        #expect(done.error.contains("trimmed 20 records"), "\(done.error)")
        #expect(done.output.contains("nothing remains"))
        let bounds = try log.reader(topic: "bids", group: nil).bounds()
        #expect(bounds.map(\.earliestOffset) == [10, 10])
        let lost = try up.weir("read", "--topic", "bids", "--data", data)
        #expect(lost.status == 0 && lost.output.isEmpty)

        let kafka = try up.weir(["log", "trim", "--log", "kafka://127.0.0.1:1"] + at)
        #expect(kafka.status == 1 && kafka.error.contains("itself"), "\(kafka.error)")
        let unknown = try up.weir(["log", "trim", "--topic", "none"] + at)
        #expect(unknown.status == 1 && unknown.error.contains("no topic 'none'"))
    }

    @Test("weir up trims by itself what its workers have folded, and says so")
    func up() throws {
        let workspace = try UpWorkspace()
        let log = try EmbeddedLog(path: workspace.log, mode: .create)
        for topic in ["bids", "postbacks"] {
            try log.createTopic(topic, partitionCount: 4)
            try log.writer().append(
                (0..<8).map {
                    OutgoingRecord(
                        topic: topic, partition: Int32($0 % 4), timestampMilliseconds: 1000,
                        key: nil, value: Array("{".utf8))
                })
        }
        let up = try workspace.start("--trim-seconds", "1")
        func earliest(_ topic: String) throws -> [Int64] {
            try log.reader(topic: topic, group: nil).bounds().map(\.earliestOffset)
        }
        #expect(try Wait.until { try earliest("bids") == [2, 2, 2, 2] }, "\(up.said)")
        #expect(Wait.until { up.said.contains("trimmed") }, "\(up.said)")
        // Kept for ever.
        #expect(try earliest("postbacks") == [0, 0, 0, 0])
        #expect(up.stop() == 0, "\(up.said)")
        #expect(workspace.outcome("rejected", of: "bids") == 8)
    }
}
