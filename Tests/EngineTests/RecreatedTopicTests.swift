import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import History
import Logging
import Program
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import Engine
@testable import weir

@Suite("A topic that is made anew, or that lost its end and was written on")
struct RecreatedTopicTests {
    private let workspace: Workspace
    private let topic: SwitchedTopic

    init() throws {
        workspace = try Workspace()
        topic = try SwitchedTopic("bids", in: workspace)
        try topic.publish(Self.records(0..<3000))
    }

    /// Records of two partitions, all within one hour unless they are apart.
    private static func records(
        _ numbers: Range<Int>, _ generation: String = "a", from time: Int64 = Samples.start,
        apart milliseconds: Int64 = 1
    ) -> [OutgoingRecord] {
        numbers.map {
            Samples.bid(
                "\(generation)\($0)", partition: Int32($0 % 2), at: time + Int64($0) * milliseconds)
        }
    }

    private var folded: Int64 { workspace.folded("bids") ?? 0 }

    private var records: Int64 {
        get throws { try workspace.states("bids").reduce(0) { $0 + $1.records } }
    }

    private func fold(publishes log: (any LogBackend)? = nil) throws {
        try workspace.foldBids(
            topic.reader(), untilEnd: true, publishes: log, openReader: topic.reader)
    }

    /// Folds, and makes the topic anew once all of it is folded.
    ///
    /// - Parameter start: below which the new topic is trimmed at once.
    private func foldWhileRecreated(
        with records: [OutgoingRecord], from start: Int64 = 0,
        every interval: Duration = .seconds(3600), until end: Int64 = .max
    ) throws {
        let deadline = ContinuousClock.now + .seconds(Wait.seconds)
        let generation = topic.generation
        let wanted = try topic.reader().bounds().reduce(0) { $0 + $1.endOffset }
        try workspace.foldBids(
            topic.reader(), every: interval, openReader: topic.reader,
            isDone: {
                if folded == wanted, topic.generation == generation {
                    do {
                        try topic.recreate(with: records)
                        for partition in 0..<topic.partitionCount where start > 0 {
                            _ = try topic.log.trim(
                                topic: topic.name, partition: partition, before: start)
                        }
                    } catch { Issue.record(error) }
                }
                return folded >= end || ContinuousClock.now > deadline
            })
    }

    private func refusal(_ body: () throws -> Void) throws -> String {
        let error = #expect(throws: (any Error).self) { try body() }
        let words = "\(try #require(error))"
        #expect(!words.contains("\n"))
        return words
    }

    @Test(
        "is noticed within its interval by the last record that was folded of the old one, however soon it is trimmed"
    )
    func noticedByOneRecord() throws {
        let words = try refusal {
            try foldWhileRecreated(
                with: Self.records(0..<6000, "b"), from: 1499, every: .seconds(1))
        }
        #expect(words.contains("contains another record at offset 1499"))
        #expect(words.contains("move the store away and fold again"))
    }

    @Test(
        "is noticed at a sign of it before any of its records is folded, and refused for ever",
        arguments: [
            // The client has seen that the topic was away.
            (true, 6000, 0, "contains another record at offset"),
            (true, 100, 0, "ends at offset 50, but"),
            // Times jump back.
            (false, 6000, -2 * 86_400_000, "contains another record at offset"),
        ])
    func noticedAtSign(isHeard: Bool, count: Int, later: Int64, words: String) throws {
        topic.isHeard = isHeard
        let records = Self.records(0..<count, "b", from: Samples.start + later)
        #expect(try refusal { try foldWhileRecreated(with: records) }.contains(words))
        #expect(folded == 3000)
        topic.isHeard = false
        #expect(try refusal { try fold() }.contains(words))
    }

    @Test(
        "that nobody noticed is refused ever after, within one hour too: by start, check, lag and explain"
    )
    func foldedOn() throws {
        try foldWhileRecreated(with: Self.records(0..<6000, "b"), until: 6000)
        #expect(folded == 6000)
        try expectRefusals()
    }

    @Test(
        "that lost its end and was written on is refused ever after: by start, check, lag and explain"
    )
    func writtenOn() throws {
        // Ten hours; of seven that are folded the log loses three.
        let gap: Int64 = 6000
        try topic.recreate(with: Self.records(0..<4200, apart: gap))
        try foldWhileRecreated(
            with: Self.records(0..<2400, apart: gap) + Self.records(2400..<6000, "b", apart: gap),
            until: 6000)
        #expect(folded == 6000)
        try expectRefusals()
    }

    private func expectRefusals() throws {
        #expect(try refusal { try fold() }.contains("contains another record at offset"))
        let log = IdentifiedLog(topic)
        #expect(try workspace.states("bids").count == 2)
        var report = CheckReport()
        let check = try #require(try StoreCheck("bids", in: workspace.path + "/data"))
        check.run(log, topic: "bids", into: &report)
        #expect(report.wrongCount == 2 && report.text.contains("contains another record at offset"))
        let lag = try LagReport(
            directories: [workspace.path + "/data"], log: log, nowMilliseconds: Samples.start)
        #expect(lag.streams.first?.partitions.allSatisfy { $0.lag == nil } == true)
        #expect(lag.text(.table).contains("has changed: the topic was recreated"))
        let explainer = Explainer(
            stores: try workspace.stores(), openReader: { _ in try topic.reader() },
            address: log.address, rules: .pipelines(PipelineDirectory(workspace.pipelines)))
        let words = try refusal {
            _ = try explainer.explain(
                DumpFigure(ReportRequest(name: "outcomes", grouping: .total, conditions: []))
            ) { _ in }
        }
        #expect(words.contains("contains another record at offset"))
    }

    /// Trims all that there is of the topic, so that a store begins behind it and has nothing to fold.
    private func trimAll() throws {
        for bounds in try topic.reader().bounds() {
            _ = try topic.log.trim(
                topic: "bids", partition: bounds.partition, before: bounds.endOffset)
        }
    }

    @Test("A topic made anew before anything of it was folded is folded from its new beginning")
    func nothingFolded() throws {
        try trimAll()
        try fold()
        #expect(try records == 0 && folded == 3000)
        try topic.recreate(with: Self.records(0..<4000, "b"))
        try fold()
        #expect(try records == 4000)
    }

    @Test("and one made anew under a worker that has folded nothing stops it before it folds")
    func nothingFoldedYet() throws {
        try trimAll()
        let deadline = ContinuousClock.now + .seconds(Wait.seconds)
        var isRecreated = false
        let words = try refusal {
            try workspace.foldBids(
                topic.reader(), openReader: topic.reader,
                isDone: {
                    if !isRecreated, folded == 3000 {
                        isRecreated = true
                        do { try topic.recreate(with: Self.records(0..<4000, "b")) } catch {
                            Issue.record(error)
                        }
                    }
                    return ContinuousClock.now > deadline
                })
        }
        #expect(words.contains("starts at offset 0, but started at 1500 when"), "\(words)")
        #expect(try records == 0)
        try fold()
        #expect(try records == 4000)
    }

    /// A group's offset as a worker tells it that has folded a record.
    private func offset(_ next: Int64, after record: Int64) throws -> GroupOffset {
        let reader = try topic.reader()
        defer { reader.close() }
        let batch = RecordBatch()
        try reader.subscribe(.partitions([0]))
        _ = try reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        try reader.seek(partition: 0, to: record)
        _ = try reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 100)
        #expect(batch.count > 0 && batch[0].offset == record)
        return GroupOffset(next, metadata: "weir \(record) \(batch[0].fingerprint)")
    }

    @Test(
        "A group's offset of a topic that is gone keeps nothing from being published",
        arguments: [false, true])
    func oldOffsets(isStoreEmpty: Bool) throws {
        let old = try offset(1500, after: 1480)
        if isStoreEmpty {
            try trimAll()
            try fold()
        }
        try topic.recreate(with: Self.records(0..<4000, "b"))
        topic.groupOffsets = [0: old]
        for _ in 0..<2 {
            let words = try refusal { try fold() }
            #expect(
                words.contains(
                    "bids/0 contains another record at offset 1480 than the one read by the worker that committed the group's offset 1500"
                ), "\(words)")
        }
        topic.groupOffsets = [1: 2001]
        #expect(
            try refusal { try fold() }
                .contains("bids/1 ends at offset 2000, but the group's offset is 2001"))
        topic.groupOffsets = [:]
        try fold()
        #expect(try records == 4000)
        #expect(try workspace.states("bids").map(\.emitFrom) == [0, 0])
    }

    @Test("and nothing that is made anew between taking its partitions and their first record")
    func oldOffsetsOfTaken() throws {
        topic.groupOffsets = [0: try offset(1500, after: 1480)]
        let words = try refusal {
            try workspace.foldBids(
                topic.reader(), untilEnd: true,
                openReader: {
                    guard topic.generation == 0 else { return try topic.reader() }
                    // The look at the group's offset still sees the old topic.
                    let reader = try topic.log.reader(topic: topic.name)
                    try topic.recreate(with: Self.records(0..<4000, "b"))
                    return reader
                })
        }
        #expect(words.contains("bids/0 contains another record at offset 1480"), "\(words)")
        #expect(try records == 0)
        topic.groupOffsets = [:]
        try fold()
        #expect(try records == 4000)
        #expect(try workspace.states("bids").map(\.emitFrom) == [0, 0])
    }

    @Test("A group's offset of this topic counts, and one that another program has set")
    func offsetsOfAnother() throws {
        try trimAll()
        try fold()
        try topic.recreate(with: Self.records(0..<4000, "b"))
        topic.groupOffsets = [
            0: try offset(1200, after: 1100), 1: GroupOffset(7, metadata: "3 another program's"),
        ]
        try fold()
        #expect(try workspace.states("bids").map(\.emitFrom) == [1200, 7])
    }

    @Test("A worker tells its group what it has folded, with a record of it, and of nothing else")
    func told() throws {
        try trimAll()
        try fold(publishes: IdentifiedLog(topic))
        #expect(topic.groupOffsets.isEmpty)
        try topic.publish([Samples.bid("one", partition: 0, at: Samples.start)])
        try fold(publishes: IdentifiedLog(topic))
        #expect(topic.groupOffsets == [0: try offset(1501, after: 1500)])
    }

    @Test("A store that a replay was told to begin late goes on there, though nothing is folded")
    func chosenBeginning() throws {
        do {
            let store = try AggregateStore(
                path: workspace.path + "/data/bids.sqlite", fold: BidsFold.self, topic: "bids",
                logIdentity: "the cluster's", partitionCount: 2)
            for partition: Int32 in [0, 1] {
                try store.beginPartition(partition, at: 1000, logStart: 500, emitFrom: 0)
            }
        }
        try fold()
        #expect(try records == 1000)
    }

    @Test(
        "An embedded log's topic that is made anew under a worker stops it, and none of it is folded"
    )
    func embedded() throws {
        try workspace.publish("bids", Self.records(0..<3000))
        let log = try workspace.openLog()
        let identity = try #require(try log.topics().first?.identity)
        let deadline = ContinuousClock.now + .seconds(Wait.seconds)
        var isRecreated = false
        let words = try refusal {
            try workspace.foldBids(
                log.reader(topic: "bids"), identity: identity,
                openReader: { try log.lookingReader(topic: "bids") },
                isDone: {
                    if folded == 3000, !isRecreated {
                        isRecreated = true
                        do {
                            _ = try workspace.openLog().deleteTopic("bids")
                            try workspace.publish("bids", Self.records(0..<6000, "b"))
                        } catch { Issue.record(error) }
                    }
                    return ContinuousClock.now > deadline
                })
        }
        #expect(words.contains("topic 'bids' was recreated"))
        #expect(folded == 3000)
    }

    @Test(
        "A Kafka topic that is made anew under a worker stops it, and the store is refused ever after",
        .enabled(if: TestCluster.realBrokers != nil), .timeLimit(.minutes(3)))
    func realCluster() async throws {
        try await onThread {
            let cluster = try ClusterWorkspace(.real)
            try cluster.makeTopic("bids", partitionCount: 2)
            try cluster.configure("bids")
            try cluster.publish(Self.records(0..<3000))
            let worker = try cluster.worker("weir-bids", data: "data", ["--partitions", "all"])
            try cluster.workspace.waitUntilFolded(3000, "bids")
            try cluster.recreate("bids", partitionCount: 2)
            try cluster.publish(Self.records(0..<6000, "b"))
            try worker.waitForExit(seconds: 90)
            #expect(worker.status == 1)
            let again = try cluster.workspace.run("weir-bids", log: cluster.address)
            #expect(again.status == 1)
            #expect(again.error.contains("contains another record at offset"), "\(again.error)")
        }
    }
}

/// The topic as a log of one.
private final class IdentifiedLog: LogBackend {
    private let topic: SwitchedTopic

    init(_ topic: SwitchedTopic) { self.topic = topic }

    var address: String { "kafka://switched:9092" }
    func topics() throws(LogError) -> [TopicDescription] {
        [
            TopicDescription(
                name: topic.name, partitionCount: topic.partitionCount, identity: "the cluster's")
        ]
    }
    func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool { false }
    func settings(ofTopic name: String) throws(LogError) -> [String: String]? { nil }
    func reader(topic name: String, group: String?) throws(LogError) -> any LogReader {
        try topic.reader()
    }
    func writer() throws(LogError) -> any LogWriter { throw .noLog(address: address) }
}

extension Workspace {
    /// Folds bids with a worker of this process until it fails or `isDone` says that it is enough, which is
    /// asked a few times a second between two batches.
    ///
    /// - Parameters:
    ///   - identity: of the log, for a store that is made.
    ///   - publishes: where dead letters would go; nil for a worker that tells its group nothing either.
    func foldBids(
        _ reader: any LogReader, identity: String = "the cluster's",
        every interval: Duration = .seconds(3600), untilEnd: Bool = false,
        publishes log: (any LogBackend)? = nil,
        openReader: @escaping LogIdentityCheck.OpenReader, isDone: @escaping () -> Bool = { false }
    ) throws {
        defer { reader.close() }
        let directory = PipelineDirectory(pipelines)
        let rules = try BidsFold.rules(in: directory)
        let partitionCount = try reader.partitionCount()
        let store = try AggregateStore(
            path: path + "/data/bids.sqlite", fold: BidsFold.self, topic: "bids",
            logIdentity: identity, partitionCount: partitionCount)
        var settings = WorkerSettings(
            try BidsFold.file(in: directory).settings, assignment: .all,
            partitionCount: partitionCount)
        settings.untilEnd = untilEnd
        settings.batchRecords = 500
        settings.commitIntervalMilliseconds = 20
        settings.showsProgress = false
        settings.lookInterval = interval
        let stop = StopSignal()
        let emitter = log.map { log in
            Emitter(
                store: store, log: log, topic: "bids",
                deadLetters: .deadLetters(ofTopic: "bids", stream: BidsFold.self),
                partitionCount: partitionCount, catalog: Catalog(), partnerTopic: nil,
                corrections: nil,
                patience: EmissionPatience(
                    address: log.address, stop: stop, logger: .quiet, metrics: nil))
        }
        try Worker(
            lanes: [BidsFold.make(rules, topic: "bids", memory: store, threadCount: 1)],
            store: store, reader: reader, emitter: emitter, settings: settings,
            configuration: rules.configuration, stop: stop, logger: .quiet,
            interruption: isDone, openReader: openReader
        ).run()
    }
}
