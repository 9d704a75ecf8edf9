import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import GRDB
import History
import Store
import Streams
import TestKit
import Testing

@testable import Reports
@testable import weir

@Suite("Lag")
struct LagTests {
    private let workspace: TemporaryDirectory
    private let log: EmbeddedLog

    /// A topic with records of second 100 on, one a second, in each of three partitions.
    init() throws {
        workspace = try TemporaryDirectory()
        log = try workspace.log("bids", partitions: 3)
        try log.writer().append(
            (0..<30).map {
                OutgoingRecord(
                    topic: "bids", partition: Int32($0 % 3),
                    timestampMilliseconds: 100_000 + Int64($0 / 3) * 1000, key: nil, value: [1])
            })
    }

    /// A store of bids that goes on at these offsets.
    ///
    /// - Parameter logStart: where the log started when the store began.
    private func makeStore(
        _ directory: String, _ offsets: [Int32: Int64], identity: String? = nil, logStart: Int64 = 0
    ) throws {
        let identity = try identity ?? log.topics()[0].identity
        try FileManager.default.createDirectory(
            atPath: "\(workspace.path)/\(directory)", withIntermediateDirectories: true)
        let store = try AggregateStore(
            path: "\(workspace.path)/\(directory)/bids.sqlite", fold: BidsFold.self, topic: "bids",
            logIdentity: identity, partitionCount: 3)
        for (partition, offset) in offsets {
            try store.beginPartition(partition, at: offset, logStart: logStart, emitFrom: 0)
        }
    }

    private func report(_ directories: String..., log: (any LogBackend)? = nil) throws -> LagReport
    {
        try LagReport(
            directories: directories.map { "\(workspace.path)/\($0)" }, log: log ?? self.log,
            nowMilliseconds: 120_500)
    }

    @Test("is the records between the store and the log's end, and the age of the first of them")
    func numbers() throws {
        try makeStore("a", [0: 4, 1: 10])
        try log.reader(topic: "bids", group: "weir-bids").commit([0: 3])
        let stream = try #require(try report("a").streams.first)
        #expect(stream.lag == 16)
        #expect(stream.lagSeconds == 20)
        let partitions = stream.partitions
        #expect(partitions.map(\.partition) == [0, 1, 2])
        #expect(partitions.map(\.nextOffset) == [4, 10, nil])
        #expect(partitions.map(\.earliestOffset) == [0, 0, 0])
        #expect(partitions.map(\.endOffset) == [10, 10, 10])
        #expect(partitions.map(\.lag) == [6, 0, 10])
        #expect(partitions.map(\.lagSeconds) == [16, 0, 20])
        #expect(partitions.map(\.committedOffset) == [3, nil, nil])
        #expect(partitions.map(\.note) == [nil, nil, "not folded by any store"])
    }

    @Test("a store that goes on before what its group has committed is named, by check too")
    func setBack() throws {
        try makeStore("a", [0: 4, 1: 10])
        try log.reader(topic: "bids", group: "weir-bids").commit([0: 7, 1: 10])
        let stream = try #require(try report("a").streams.first)
        #expect(stream.partitions.map(\.lag) == [6, 0, 10])
        #expect(
            stream.partitions[0].note?.hasPrefix("continues at 4, but its group has committed 7: ")
                == true)
        #expect(stream.partitions[1].note == nil)
        var report = CheckReport()
        try #require(try StoreCheck("bids", in: "\(workspace.path)/a")).run(
            log, topic: "bids", into: &report)
        #expect(
            report.text.contains(
                "warning: \(workspace.path)/a/bids.sqlite: bids/0 continues at 4, but its group has"
            ))
        #expect(!report.text.contains("bids/1 continues"))
    }

    @Test("of several stores, each has its lines, and the one that is furthest counts")
    func severalStores() throws {
        try makeStore("a", [0: 4, 1: 10])
        try makeStore("b", [0: 9, 2: 10])
        let report = try report("a", "b")
        let stream = try #require(report.streams.first)
        #expect(stream.partitions.map(\.partition) == [0, 0, 1, 2])
        #expect(stream.partitions.map(\.lag) == [6, 1, 0, 0])
        #expect(stream.lag == 1)
        #expect(
            report.text(.table).hasSuffix(
                "\n\nbids: 1 record behind in 3 partitions, the oldest for 11 s\n"))
    }

    @Test("a topic that was made anew before anything of it was folded is no fault, for check too")
    func recreatedBeforeFolding() throws {
        try makeStore("a", [0: 11, 1: 11], logStart: 11)
        let partitions = try report("a").streams[0].partitions
        #expect(partitions.map(\.lag) == [10, 10, 10])
        #expect(
            partitions[1].note
                == "the topic was recreated before any record was folded: its worker starts at 0"
        )
        var report = CheckReport()
        try #require(try StoreCheck("bids", in: "\(workspace.path)/a"))
            .run(log, topic: "bids", into: &report)
        #expect(report.wrongCount == 0, "\(report.text)")
    }

    @Test("a group's offset of another log is wrong for check")
    func groupOfOther() throws {
        try makeStore("a", [0: 4])
        try log.reader(topic: "bids", group: "weir-bids").commit([0: 11])
        var report = CheckReport()
        try #require(try StoreCheck("bids", in: "\(workspace.path)/a"))
            .run(log, topic: "bids", into: &report)
        #expect(
            report.text.contains("bids/0 ends at offset 10, but the group's offset is 11"),
            "\(report.text)")
    }

    @Test("a store without a folded record is behind one with records, wherever it began")
    func unfoldedIsBehind() throws {
        try makeStore("a", [0: 4])
        try makeStore("b", [0: 9])
        try DatabaseQueue(path: "\(workspace.path)/a/bids.sqlite").write {
            try $0.execute(sql: "UPDATE partitions SET records = 4")
        }
        #expect(try report("a", "b").streams[0].furthest[0].nextOffset == 4)
        #expect(try report("b", "a").streams[0].furthest[0].nextOffset == 4)
    }

    @Test("a store that cannot go on says why")
    func standing() throws {
        try log.trim(topic: "bids", partition: 0, before: 5)
        try makeStore("a", [0: 4, 1: 11, 2: 10])
        let report = try report("a")
        let notes = report.streams[0].partitions.map { $0.note ?? "" }
        #expect(notes[0].hasPrefix("the log now starts later: up to 1 record was deleted"))
        #expect(notes[1].hasPrefix("the log ends earlier"))
        #expect(notes[2].isEmpty)
        #expect(report.streams[0].partitions.map(\.lag) == [nil, nil, 0])
        #expect(
            report.text(.table).hasSuffix(
                "bids: 0 records behind in 1 of 3 partitions; 2 cannot continue: see the note\n"))
        try makeStore("b", [0: 4, 1: 11, 2: 12])
        #expect(
            try self.report("b").text(.table).hasSuffix(
                "\n\nbids: 3 cannot continue: see the note\n"))
    }

    @Test("a store of another log is not compared with this one")
    func otherLogs() throws {
        try makeStore("a", [0: 4], identity: "other")
        let stream = try report("a").streams[0]
        #expect(stream.partitions.count == 4)
        #expect(stream.partitions[0].note?.hasPrefix("folded from another log than") == true)
        #expect(stream.partitions[0].lag == nil)
        let other = try TemporaryDirectory()
        let missing = try report("a", log: other.log("other")).streams[0]
        #expect(
            missing.partitions.map(\.note).allSatisfy {
                $0?.hasPrefix("topic 'bids' does not exist") == true
            })
    }

    @Test("as JSON, every number has its name, and what is not known is null")
    func json() throws {
        try makeStore("a", [0: 4, 1: 10, 2: 10])
        #expect(
            try report("a").text(.json).hasPrefix(
                #"{"streams":[{"stream":"bids","topic":"bids","lag":6,"lag_seconds":16,"partitions":"#
                    + #"[{"partition":0,"next_offset":4,"earliest":0,"end":10,"lag":6,"#
                    + #""lag_seconds":16,"committed_offset":null,"store":"#))
        #expect(try report("none").text(.json) == "{\"streams\":[]}\n")
        #expect(try report("none").text(.table) == "no stores\n")
    }

    @Test("is told of a cluster too")
    func cluster() throws {
        let cluster = try MockCluster(brokerCount: 1)
        try cluster.createTopic("bids", partitionCount: 3)
        let log = try PipelineDirectory(Repository.path("pipelines")).openLog(
            LogAddress(cluster.address), .existing)
        try log.writer().append(
            (0..<30).map {
                OutgoingRecord(topic: "bids", partition: Int32($0 % 3), key: nil, value: [1])
            })
        let identity = try #require(try log.topics().first?.identity)
        try makeStore("k", [0: 4, 1: 10], identity: identity)
        let now = Int64(Date().timeIntervalSince1970 * 1000) + 60_000
        let report = try LagReport(
            directories: ["\(workspace.path)/k"], log: log, nowMilliseconds: now)
        let partitions = report.streams[0].partitions
        #expect(partitions.map(\.lag) == [6, 0, 10])
        #expect((60...600).contains(partitions[0].lagSeconds ?? 0))
        #expect(partitions[1].lagSeconds == 0)
    }

    @Test("of a partition without a leader is not known, and that of the others is")
    func absentLeader() throws {
        let cluster = try MockCluster(brokerCount: 1)
        try cluster.createTopic("bids", partitionCount: 3)
        let log = try PipelineDirectory(Repository.path("pipelines")).openLog(
            LogAddress(cluster.address), .existing)
        try log.writer().append(
            (0..<30).map {
                OutgoingRecord(topic: "bids", partition: Int32($0 % 3), key: nil, value: [1])
            })
        let identity = try #require(try log.topics().first?.identity)
        try makeStore("k", [0: 4, 1: 10], identity: identity)
        cluster.setLeader(-1, of: "bids", 0)
        let report = try LagReport(
            directories: ["\(workspace.path)/k"], log: log, nowMilliseconds: 120_500)
        let partitions = report.streams[0].partitions
        #expect(partitions.map(\.partition) == [0, 1, 2])
        #expect(partitions.map(\.lag) == [nil, 0, 10])
        #expect(partitions[0].note?.contains("bids/0: Broker: Leader not available") == true)
        #expect(
            report.text(.table).hasSuffix(
                "1 not folded by any store; 1 unknown now: see the note\n"))
        // Topics are listed all the same.
        let topics = try TopicsReport(log, [])
        #expect(topics.entries.map(\.records) == [nil])
        #expect(topics.notices.first?.contains("cannot read the records of bids: ") == true)
    }

    @Test("of several stores on a cluster has an age for each")
    func severalOfACluster() throws {
        let cluster = try MockCluster(brokerCount: 1)
        try cluster.createTopic("bids", partitionCount: 3)
        let log = try PipelineDirectory(Repository.path("pipelines")).openLog(
            LogAddress(cluster.address), .existing)
        try log.writer().append(
            (0..<30).map {
                OutgoingRecord(topic: "bids", partition: Int32($0 % 3), key: nil, value: [1])
            })
        let identity = try #require(try log.topics().first?.identity)
        for name in ["a", "b", "c"] { try makeStore(name, [0: 4, 1: 3, 2: 5], identity: identity) }
        let start = ContinuousClock.now
        let report = try LagReport(
            directories: ["a", "b", "c"].map { "\(workspace.path)/\($0)" }, log: log,
            nowMilliseconds: Int64(Date().timeIntervalSince1970 * 1000) + 60_000)
        #expect(report.streams[0].partitions.count == 9)
        #expect(report.streams[0].partitions.allSatisfy { ($0.lagSeconds ?? 0) >= 60 })
        #expect(ContinuousClock.now - start < .seconds(9))
    }
}
