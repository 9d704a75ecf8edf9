import EmbeddedLog
import Engine
import EventLog
import Foundation
import Program
import Store
import Streams
import Synchronization
import TestKit
import Testing

@testable import History

@Suite("Replaying")
struct ReplayTests {
    /// Bids and postbacks, folded live under three configurations, the last of which has met no record.
    private func makeWorkspace() throws -> Workspace {
        let workspace = try Workspace()
        let bids = Samples.bids(600, seed: 31)
        let postbacks = try Samples.postbacks(240, seed: 32)
        let configurations = [
            ("", Samples.partner), ("dedupe_window_seconds: 60\n", Samples.partner),
            ("dedupe_window_seconds: 7200\n", ""),
        ]
        for (index, (bidsFile, partner)) in configurations.enumerated() {
            try workspace.write("bids.yaml", "batch_records: 37\n" + bidsFile)
            try workspace.write("postbacks.yaml", "batch_records: 37\n" + Samples.trustedKeys)
            try workspace.write(Samples.modelFile, Samples.model)
            try workspace.write(
                "partners/acme.yaml",
                partner.isEmpty
                    ? Samples.partner.replacingOccurrences(of: "[valid]", with: "[valid, invalid]")
                    : partner)
            if index < 2 {
                try workspace.publish("bids", Array(bids[index * 300..<(index + 1) * 300]))
                try workspace.publish(
                    "postbacks", Array(postbacks[index * 120..<(index + 1) * 120]))
            }
            try workspace.foldBids()
            try workspace.foldPostbacks()
        }
        return workspace
    }

    private func expectLive(_ set: String, _ workspace: Workspace) throws {
        for stream in ["bids", "postbacks"] {
            #expect(
                try workspace.contents(stream) == workspace.contents(stream, data: set), "\(stream)"
            )
        }
    }

    @Test(
        "Under the recorded configurations the stores are the live ones, whatever batches and threads"
    )
    func recorded() throws {
        let workspace = try makeWorkspace()
        for (batch, threads) in [(1, 1), (7, 4), (10_000, 2)] {
            let order = workspace.order(
                into: "set-\(batch)", batchRecords: batch, threadCount: threads)
            let replayed = try workspace.replay(["bids", "postbacks"], order)
            #expect(replayed.isDone)
            try expectLive("set-\(batch)", workspace)
        }
        let epochs = try workspace.integer(
            "SELECT count(DISTINCT configuration_hash) FROM epochs", stream: "bids", data: "set-7")
        #expect(epochs == 3)
    }

    @Test("Under the present configuration everything is folded as a fresh worker folds it")
    func present() throws {
        let workspace = try makeWorkspace()
        try workspace.replay(["bids", "postbacks"], workspace.order(mode: .present))
        try workspace.foldBids(data: "fresh")
        try workspace.foldPostbacks(data: "fresh")
        for stream in ["bids", "postbacks"] {
            #expect(
                try workspace.contents(stream, data: "set")
                    == workspace.contents(stream, data: "fresh"))
            #expect(try workspace.contents(stream) != workspace.contents(stream, data: "set"))
        }
    }

    @Test("Nothing is published, and no group is told anything")
    func silent() throws {
        let workspace = try makeWorkspace()
        let topics = ["partner-postbacks", "postbacks.dlq", "bids.dlq"]
        let before = try topics.map { try workspace.records($0).count }
        let group = { try workspace.openLog().reader(topic: "bids", group: $0).committedOffsets() }
        let offsets = try group("weir-bids")
        try workspace.replay(["bids", "postbacks"], workspace.order(mode: .present))
        #expect(try topics.map { try workspace.records($0).count } == before)
        #expect(try group("weir-bids") == offsets)
        #expect(try group("weir-replay").isEmpty)
    }

    @Test("Interrupted at any instant, it goes on where it was")
    func interrupted() throws {
        let workspace = try makeWorkspace()
        var generator = SeededGenerator(seed: 33)
        let order = workspace.order(batchRecords: 5)
        try ReplayManifest(order, topics: ["bids", "postbacks"]).begin(in: order.directory)
        var runs = 0
        for program in [BidsFold.self, PostbacksFold.self] as [any StreamFold.Type] {
            while true {
                var looks = Int.random(in: 0...3, using: &generator)
                let replayed = try program.replay(
                    order, stop: StopSignal(),
                    isWanted: {
                        looks -= 1
                        return looks < 0
                    })
                runs += 1
                if replayed.isComplete || runs > 200 { break }
            }
        }
        try workspace.replay(["bids", "postbacks"], order)
        try expectLive("set", workspace)
    }

    @Test("A process that is killed comes to the same stores at its next start")
    func killed() throws {
        let workspace = try makeWorkspace()
        let replay = try workspace.startWeir("replay", ["--into", workspace.path + "/set"])
        Wait.until { workspace.folded("bids", data: "set") ?? 0 > 0 }
        replay.kill()
        let last = try workspace.startWeir("replay", ["--into", workspace.path + "/set"])
        try last.waitForExit()
        #expect(last.status == 0)
        try expectLive("set", workspace)
    }

    @Test("A range by offsets holds these records and no other")
    func offsets() throws {
        let workspace = try makeWorkspace()
        let range = ReplayRange(fromOffset: 10, toOffset: 25)
        let replayed = try workspace.replay(["bids"], workspace.order(mode: .present, range: range))
        let states = try #require(replayed.streams.first).partitions
        #expect(states.map(\.firstOffset) == [10, 10, 10, 10])
        #expect(states.map(\.nextOffset) == [25, 25, 25, 25])
        #expect(states.map(\.records) == [15, 15, 15, 15])
    }

    @Test("A range that holds no record is refused, and nothing is written")
    func emptyRange() throws {
        let workspace = try makeWorkspace()
        for range in [ReplayRange(fromOffset: 1_000_000), ReplayRange(toOffset: 0)] {
            #expect(throws: ReplayError.emptyRange(topics: ["bids"])) {
                try workspace.replay(["bids"], workspace.order(mode: .present, range: range))
            }
        }
        #expect(!FileManager.default.fileExists(atPath: workspace.path + "/set"))
    }

    @Test("A range by times begins and ends with the first record of each time or later")
    func times() throws {
        let workspace = try Workspace()
        try workspace.publish(
            "bids",
            (0..<10).map { number in
                Samples.record(
                    "bids", Samples.auction("a\(number)"), key: "a\(number)", partition: 1,
                    at: Samples.start + Int64(number) * 1000)
            })
        let range = ReplayRange(
            fromMilliseconds: Samples.start + 2500, toMilliseconds: Samples.start + 7000)
        let replayed = try workspace.replay(["bids"], workspace.order(mode: .present, range: range))
        let states = try #require(replayed.streams.first).partitions
        #expect(states.map(\.firstOffset) == [0, 3, 0, 0])
        #expect(states.map(\.nextOffset) == [0, 7, 0, 0])
    }

    @Test("From an archive and from what is left of its log, the stores are those of the whole log")
    func archive() throws {
        let workspace = try makeWorkspace()
        let log = try workspace.openLog()
        let copy = try ArchiveCopy(
            from: log.reader(topic: "bids"),
            to: EmbeddedLog(path: workspace.path + "/archive.sqlite", mode: .create))
        try copy.copyToEnd()
        for range in copy.ranges {
            try log.trim(topic: "bids", partition: range.partition, before: range.endOffset - 3)
        }
        let plan = try #require(try ReplayRun(workspace.order(), topics: ["bids"]).plan().first)
        #expect(plan.partitions.allSatisfy { $0.gone != nil && $0.archive == nil })
        let order = workspace.order(archive: "archive.sqlite")
        let whole = try #require(try ReplayRun(order, topics: ["bids"]).plan().first)
        #expect(whole.partitions.allSatisfy { $0.gone == nil && $0.archive != nil })
        #expect(whole.records == 600)
        // Postbacks are not in the archive, and are read from the log.
        try workspace.replay(["bids", "postbacks"], order)
        try expectLive("set", workspace)
        let alone = workspace.order(
            into: "alone", log: .sqlite(path: workspace.path + "/archive.sqlite"))
        try workspace.replay(["bids"], alone)
        #expect(try workspace.contents("bids") == workspace.contents("bids", data: "alone"))
    }

    @Test("What a trimmed log no longer has is named, with where the log begins now")
    func trimmed() throws {
        let workspace = try makeWorkspace()
        let log = try workspace.openLog()
        let bounds = try log.reader(topic: "bids", group: nil).bounds()
        func lost(
            _ range: ReplayRange = ReplayRange(), archive: String? = nil
        ) throws -> [LostHistory] {
            try ReplayRun(
                workspace.order(into: "lost", range: range, archive: archive),
                topics: ["bids", "postbacks"]
            ).lostHistory()
        }
        #expect(try lost().isEmpty)
        let copy = try ArchiveCopy(
            from: log.reader(topic: "bids"),
            to: EmbeddedLog(path: workspace.path + "/archive.sqlite", mode: .create))
        try copy.copyToEnd()
        let earliest = try log.trim(topic: "bids", partition: 1, before: bounds[1].endOffset - 3)
        #expect(earliest > 5)
        let reader = try log.reader(topic: "bids", group: nil)
        let first = try #require(try FirstRecords(at: [1: earliest], of: reader).timestamps[1])
        #expect(
            try lost() == [
                LostHistory(
                    topic: "bids", partition: 1, offsets: 0..<earliest, firstMilliseconds: first)
            ])
        #expect(try lost(archive: "archive.sqlite").isEmpty)
        #expect(try lost(ReplayRange(fromOffset: 2, toOffset: 5)).map(\.offsets) == [2..<5])
        #expect(try lost(ReplayRange(fromOffset: earliest)).isEmpty)
        #expect(try lost(ReplayRange(fromMilliseconds: 0)).map(\.offsets) == [0..<earliest])
        #expect(try lost(ReplayRange(fromMilliseconds: first + 1)).isEmpty)
        // What such a replay folds begins where the log begins, and takes the place of no whole store.
        try workspace.replay(["bids"], workspace.order())
        #expect { try workspace.promote() } throws: {
            guard case PromotionError.lessHistory(_, 1, first: earliest, wanted: 0) = $0 else {
                return false
            }
            return true
        }
        try FileManager.default.removeItem(atPath: workspace.path + "/data/bids.sqlite")
        #expect { try workspace.promote() } throws: {
            guard case PromotionError.lostBeginning(_, 1, first: earliest) = $0 else {
                return false
            }
            return true
        }
    }

    @Test("A replay that stopped where the log no longer reaches does not go on")
    func trimmedMeanwhile() throws {
        let workspace = try makeWorkspace()
        try workspace.replay(["bids"], workspace.order(range: ReplayRange(toOffset: 3)))
        let log = try workspace.openLog()
        for bounds in try log.reader(topic: "bids", group: nil).bounds() {
            try log.trim(topic: "bids", partition: bounds.partition, before: bounds.endOffset - 3)
        }
        let before = try workspace.contents("bids", data: "set")
        #expect {
            try workspace.promote()
        } throws: { "\($0)".contains("--data") || "\($0)".contains("no longer") }
        #expect(try workspace.contents("bids", data: "set") == before)
        #expect(try workspace.inForce("bids") == "data")
    }

    @Test("A plan says what there is and writes nothing")
    func plan() throws {
        let workspace = try makeWorkspace()
        let plans = try ReplayRun(workspace.order(), topics: []).plan()
        #expect(plans.map(\.topic) == ["bids", "postbacks"])
        #expect(plans.map(\.records) == [600, 240])
        #expect(plans.allSatisfy { $0.mode == .recorded && ($0.recordsPerSecond ?? 0) > 0 })
        #expect(!FileManager.default.fileExists(atPath: workspace.path + "/set"))
        let other = try ReplayRun(workspace.order(data: "none"), topics: ["bids"]).plan()
        #expect(other.map(\.lacksStore) == [true])
        #expect(other.map(\.mode) == [.present])
    }

    @Test("A directory that cannot be created is named, with the remedy")
    func directory() throws {
        let workspace = try makeWorkspace()
        let path = workspace.path + "/pipelines/bids.yaml/set"
        let error = try #require(throws: StoreError.self) {
            try workspace.replay(["bids"], workspace.order(into: "pipelines/bids.yaml/set"))
        }
        #expect(error.description.hasPrefix("cannot create the directory \(path): "))
        #expect(error.description.hasSuffix("(or name another directory)"))
        #expect(!error.description.contains("Domain="))
    }

    @Test("A directory of something else, of the live stores or of another replay is refused")
    func refusals() throws {
        let workspace = try makeWorkspace()
        func error(_ order: ReplayOrder) -> ReplayError? {
            #expect(throws: ReplayError.self) { try workspace.replay(["bids"], order) }
        }
        #expect(
            error(workspace.order(into: "data")) == .isLive(directory: workspace.path + "/data"))
        guard case .notEmpty? = error(workspace.order(into: "pipelines")) else {
            Issue.record("a directory with other files is refused")
            return
        }
        let range = ReplayRange(toOffset: 10)
        try workspace.replay(["bids"], workspace.order(mode: .present, range: range))
        guard case .otherSettings(_, "the range", _, _)? = error(workspace.order(mode: .present)),
            case .otherSettings(_, "--configuration", _, _)? = error(workspace.order(range: range))
        else {
            Issue.record("other settings are refused")
            return
        }
        try workspace.write("bids.yaml", "dedupe_window_seconds: 5\n")
        guard case .otherConfiguration? = error(workspace.order(mode: .present, range: range))
        else {
            Issue.record("another present configuration is refused")
            return
        }
        let topics = ["bids", "impressions", "overlay-clicks", "postbacks", "conversion-updates"]
        #expect(throws: ReplayError.unknownTopic("sales", valid: topics)) {
            try workspace.replay(["sales"], workspace.order(into: "other"))
        }
    }

    @Test("A replay that follows is never under another configuration than the live store")
    func follows() throws {
        let workspace = try makeWorkspace()
        let stop = StopSignal()
        let order = workspace.order()
        let failure = Mutex<String?>(nil)
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            do {
                _ = try ReplayRun(order, topics: ["bids", "postbacks"]).replay(
                    follows: true, stop: stop)
            } catch {
                failure.withLock { $0 = "\(error)" }
            }
            done.signal()
        }
        thread.stackSize = 8 << 20
        thread.start()
        for (round, window) in [100, 200, 300].enumerated() {
            try workspace.write("bids.yaml", "dedupe_window_seconds: \(window)\n")
            try workspace.publish("bids", Samples.bids(200, seed: UInt64(40 + round)))
            try workspace.publish("postbacks", try Samples.postbacks(40, seed: UInt64(50 + round)))
            usleep(300_000)
            try workspace.foldBids()
            try workspace.foldPostbacks()
        }
        for stream in ["bids", "postbacks"] {
            let wanted = try #require(workspace.folded(stream))
            try workspace.waitUntilFolded(wanted, stream, data: "set")
        }
        stop.request()
        #expect(done.wait(timeout: .now() + 60) == .success)
        #expect(failure.withLock { $0 } == nil)
        try workspace.replay(["bids", "postbacks"], order)
        try expectLive("set", workspace)
    }
}

@Suite("Replaying from Kafka", .serialized)
struct KafkaReplayTests {
    @Test("The stores are those of the live worker, and the group knows of nothing")
    func cluster() throws {
        let cluster = try ClusterWorkspace(.mock)
        try cluster.makeTopic("bids")
        try cluster.configure("bids")
        try cluster.publish(Samples.bids(500, seed: 61))
        try cluster.foldAll("weir-bids", data: "data")
        let topic = cluster.topic("bids")
        let before = try cluster.log.reader(topic: topic, group: "weir-bids").committedOffsets()
        let order = cluster.workspace.order(batchRecords: 33, log: try LogAddress(cluster.address))
        let replayed = try cluster.workspace.replay([topic], order)
        #expect(replayed.isDone)
        #expect(try cluster.contents("bids", data: "data") == cluster.contents("bids", data: "set"))
        #expect(
            try cluster.log.reader(topic: topic, group: "weir-bids").committedOffsets() == before)
    }

    @Test("A member of a group gives its store up for a promotion, and goes on with the new one")
    func promotion() throws {
        let cluster = try ClusterWorkspace(.mock)
        let records = Samples.bids(600, seed: 62)
        try cluster.makeTopic("bids")
        try cluster.configure("bids")
        try cluster.publish(Array(records.prefix(300)))
        let worker = try cluster.worker("weir-bids", data: "data")
        try cluster.waitUntilFolded(300, "bids", data: ["data"])
        let topic = cluster.topic("bids")
        let log = try LogAddress(cluster.address)
        try cluster.workspace.replay([topic], cluster.workspace.order(log: log))
        try cluster.publish(Array(records[300..<450]))
        let order = PromotionOrder(
            data: cluster.workspace.path + "/data",
            target: .directory(cluster.workspace.path + "/set"),
            source: cluster.workspace.source(log: log), threadCount: 1)
        _ = try Promotion(order).run(stop: StopSignal())
        try cluster.publish(Array(records.dropFirst(450)))
        try cluster.waitUntilFolded(600, "bids", data: ["set"])
        #expect(try worker.stop() == 0)
        try cluster.workspace.replay(
            [topic], cluster.workspace.order(into: "fresh", mode: .present, log: log))
        #expect(
            try cluster.contents("bids", data: "set") == cluster.contents("bids", data: "fresh"))
    }
}
