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
    private func makePlace() throws -> Workplace {
        let place = try Workplace()
        let bids = Samples.bids(600, seed: 31)
        let postbacks = try Samples.postbacks(240, seed: 32)
        let configurations = [
            ("", Samples.partner), ("dedupe_window_seconds: 60\n", Samples.partner),
            ("dedupe_window_seconds: 7200\n", ""),
        ]
        for (index, (bidsFile, partner)) in configurations.enumerated() {
            try place.write("bids.yaml", "batch_records: 37\n" + bidsFile)
            try place.write("postbacks.yaml", "batch_records: 37\n" + Samples.trustedKeys)
            try place.write(Samples.modelFile, Samples.model)
            try place.write(
                "partners/acme.yaml",
                partner.isEmpty
                    ? Samples.partner.replacingOccurrences(of: "[valid]", with: "[valid, invalid]")
                    : partner)
            if index < 2 {
                try place.publish("bids", Array(bids[index * 300..<(index + 1) * 300]))
                try place.publish("postbacks", Array(postbacks[index * 120..<(index + 1) * 120]))
            }
            try place.foldBids()
            try place.foldPostbacks()
        }
        return place
    }

    private func expectLive(_ set: String, _ place: Workplace) throws {
        for stream in ["bids", "postbacks"] {
            #expect(try place.contents(stream) == place.contents(stream, data: set), "\(stream)")
        }
    }

    @Test(
        "Under the recorded configurations the stores are the live ones, whatever batches and threads"
    )
    func recorded() throws {
        let place = try makePlace()
        for (batch, threads) in [(1, 1), (7, 4), (10_000, 2)] {
            let order = place.order(into: "set-\(batch)", batchRecords: batch, threadCount: threads)
            let replayed = try place.replay(["bids", "postbacks"], order)
            #expect(replayed.isDone)
            try expectLive("set-\(batch)", place)
        }
        let epochs = try place.integer(
            "SELECT count(DISTINCT configuration_hash) FROM epochs", stream: "bids", data: "set-7")
        #expect(epochs == 3)
    }

    @Test("Under the present configuration everything is folded as a fresh worker folds it")
    func present() throws {
        let place = try makePlace()
        try place.replay(["bids", "postbacks"], place.order(mode: .present))
        try place.foldBids(data: "fresh")
        try place.foldPostbacks(data: "fresh")
        for stream in ["bids", "postbacks"] {
            #expect(
                try place.contents(stream, data: "set") == place.contents(stream, data: "fresh"))
            #expect(try place.contents(stream) != place.contents(stream, data: "set"))
        }
    }

    @Test("Nothing is published, and no group is told anything")
    func silent() throws {
        let place = try makePlace()
        let topics = ["partner-postbacks", "postbacks.dlq", "bids.dlq"]
        let before = try topics.map { try place.records($0).count }
        let group = { try place.openLog().reader(topic: "bids", group: $0).committedOffsets() }
        let offsets = try group("weir-bids")
        try place.replay(["bids", "postbacks"], place.order(mode: .present))
        #expect(try topics.map { try place.records($0).count } == before)
        #expect(try group("weir-bids") == offsets)
        #expect(try group("weir-replay").isEmpty)
    }

    @Test("Interrupted at any instant, it goes on where it was")
    func interrupted() throws {
        let place = try makePlace()
        var generator = SeededGenerator(seed: 33)
        let order = place.order(batchRecords: 5)
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
        try place.replay(["bids", "postbacks"], order)
        try expectLive("set", place)
    }

    @Test("A process that is killed comes to the same stores at its next start")
    func killed() throws {
        let place = try makePlace()
        let replay = try place.startWeir("replay", ["--into", place.path + "/set"])
        Wait.until { place.folded("bids", data: "set") ?? 0 > 0 }
        replay.kill()
        let last = try place.startWeir("replay", ["--into", place.path + "/set"])
        try last.waitForExit()
        #expect(last.status == 0)
        try expectLive("set", place)
    }

    @Test("A range by offsets holds these records and no other")
    func offsets() throws {
        let place = try makePlace()
        let range = ReplayRange(fromOffset: 10, toOffset: 25)
        let replayed = try place.replay(["bids"], place.order(mode: .present, range: range))
        let states = try #require(replayed.streams.first).partitions
        #expect(states.map(\.firstOffset) == [10, 10, 10, 10])
        #expect(states.map(\.nextOffset) == [25, 25, 25, 25])
        #expect(states.map(\.records) == [15, 15, 15, 15])
    }

    @Test("A range that holds no record is refused, and nothing is written")
    func emptyRange() throws {
        let place = try makePlace()
        for range in [ReplayRange(fromOffset: 1_000_000), ReplayRange(toOffset: 0)] {
            #expect(throws: ReplayError.emptyRange(topics: ["bids"])) {
                try place.replay(["bids"], place.order(mode: .present, range: range))
            }
        }
        #expect(!FileManager.default.fileExists(atPath: place.path + "/set"))
    }

    @Test("A range by times begins and ends with the first record of each time or later")
    func times() throws {
        let place = try Workplace()
        try place.publish(
            "bids",
            (0..<10).map { number in
                Samples.record(
                    "bids", Samples.auction("a\(number)"), key: "a\(number)", partition: 1,
                    at: Samples.start + Int64(number) * 1000)
            })
        let range = ReplayRange(
            fromMilliseconds: Samples.start + 2500, toMilliseconds: Samples.start + 7000)
        let replayed = try place.replay(["bids"], place.order(mode: .present, range: range))
        let states = try #require(replayed.streams.first).partitions
        #expect(states.map(\.firstOffset) == [0, 3, 0, 0])
        #expect(states.map(\.nextOffset) == [0, 7, 0, 0])
    }

    @Test("From an archive and from what is left of its log, the stores are those of the whole log")
    func archive() throws {
        let place = try makePlace()
        let log = try place.openLog()
        let copy = try ArchiveCopy(
            from: log.reader(topic: "bids"),
            to: EmbeddedLog(path: place.path + "/archive.sqlite", mode: .create))
        try copy.copyToEnd()
        for range in copy.ranges {
            try log.trim(topic: "bids", partition: range.partition, before: range.endOffset - 3)
        }
        let plan = try #require(try ReplayRun(place.order(), topics: ["bids"]).plan().first)
        #expect(plan.partitions.allSatisfy { $0.gone != nil && $0.archive == nil })
        let order = place.order(archive: "archive.sqlite")
        let whole = try #require(try ReplayRun(order, topics: ["bids"]).plan().first)
        #expect(whole.partitions.allSatisfy { $0.gone == nil && $0.archive != nil })
        #expect(whole.records == 600)
        // Postbacks are not in the archive, and are read from the log.
        try place.replay(["bids", "postbacks"], order)
        try expectLive("set", place)
        let alone = place.order(into: "alone", log: .sqlite(path: place.path + "/archive.sqlite"))
        try place.replay(["bids"], alone)
        #expect(try place.contents("bids") == place.contents("bids", data: "alone"))
    }

    @Test("What a trimmed log no longer has is named, with where the log begins now")
    func trimmed() throws {
        let place = try makePlace()
        let log = try place.openLog()
        let bounds = try log.reader(topic: "bids", group: nil).bounds()
        func lost(
            _ range: ReplayRange = ReplayRange(), archive: String? = nil
        ) throws -> [LostHistory] {
            try ReplayRun(
                place.order(into: "lost", range: range, archive: archive),
                topics: ["bids", "postbacks"]
            ).lostHistory()
        }
        #expect(try lost().isEmpty)
        let copy = try ArchiveCopy(
            from: log.reader(topic: "bids"),
            to: EmbeddedLog(path: place.path + "/archive.sqlite", mode: .create))
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
        try place.replay(["bids"], place.order())
        #expect { try place.promote() } throws: {
            guard case PromotionError.lessHistory(_, 1, first: earliest, wanted: 0) = $0 else {
                return false
            }
            return true
        }
        try FileManager.default.removeItem(atPath: place.path + "/data/bids.sqlite")
        #expect { try place.promote() } throws: {
            guard case PromotionError.lostBeginning(_, 1, first: earliest) = $0 else {
                return false
            }
            return true
        }
    }

    @Test("A replay that stopped where the log no longer reaches does not go on")
    func trimmedMeanwhile() throws {
        let place = try makePlace()
        try place.replay(["bids"], place.order(range: ReplayRange(toOffset: 3)))
        let log = try place.openLog()
        for bounds in try log.reader(topic: "bids", group: nil).bounds() {
            try log.trim(topic: "bids", partition: bounds.partition, before: bounds.endOffset - 3)
        }
        let before = try place.contents("bids", data: "set")
        #expect {
            try place.promote()
        } throws: { "\($0)".contains("--data") || "\($0)".contains("no longer") }
        #expect(try place.contents("bids", data: "set") == before)
        #expect(try place.inForce("bids") == "data")
    }

    @Test("A plan says what there is and writes nothing")
    func plan() throws {
        let place = try makePlace()
        let plans = try ReplayRun(place.order(), topics: []).plan()
        #expect(plans.map(\.topic) == ["bids", "postbacks"])
        #expect(plans.map(\.records) == [600, 240])
        #expect(plans.allSatisfy { $0.mode == .recorded && ($0.recordsPerSecond ?? 0) > 0 })
        #expect(!FileManager.default.fileExists(atPath: place.path + "/set"))
        let other = try ReplayRun(place.order(data: "none"), topics: ["bids"]).plan()
        #expect(other.map(\.lacksStore) == [true])
        #expect(other.map(\.mode) == [.present])
    }

    @Test("A directory of something else, of the live stores or of another replay is refused")
    func refusals() throws {
        let place = try makePlace()
        func error(_ order: ReplayOrder) -> ReplayError? {
            #expect(throws: ReplayError.self) { try place.replay(["bids"], order) }
        }
        #expect(error(place.order(into: "data")) == .isLive(directory: place.path + "/data"))
        guard case .notEmpty? = error(place.order(into: "pipelines")) else {
            Issue.record("a directory with other files is refused")
            return
        }
        let range = ReplayRange(toOffset: 10)
        try place.replay(["bids"], place.order(mode: .present, range: range))
        guard case .otherSettings(_, "the range", _, _)? = error(place.order(mode: .present)),
            case .otherSettings(_, "--configuration", _, _)? = error(place.order(range: range))
        else {
            Issue.record("other settings are refused")
            return
        }
        try place.write("bids.yaml", "dedupe_window_seconds: 5\n")
        guard case .otherConfiguration? = error(place.order(mode: .present, range: range)) else {
            Issue.record("another present configuration is refused")
            return
        }
        let topics = ["bids", "impressions", "overlay-clicks", "postbacks", "conversion-updates"]
        #expect(throws: ReplayError.unknownTopic("sales", known: topics)) {
            try place.replay(["sales"], place.order(into: "other"))
        }
    }

    @Test("A replay that follows is never under another configuration than the live store")
    func follows() throws {
        let place = try makePlace()
        let stop = StopSignal()
        let order = place.order()
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
            try place.write("bids.yaml", "dedupe_window_seconds: \(window)\n")
            try place.publish("bids", Samples.bids(200, seed: UInt64(40 + round)))
            try place.publish("postbacks", try Samples.postbacks(40, seed: UInt64(50 + round)))
            usleep(300_000)
            try place.foldBids()
            try place.foldPostbacks()
        }
        for stream in ["bids", "postbacks"] {
            let wanted = try #require(place.folded(stream))
            try place.waitUntilFolded(wanted, stream, data: "set")
        }
        stop.request()
        #expect(done.wait(timeout: .now() + 60) == .success)
        #expect(failure.withLock { $0 } == nil)
        try place.replay(["bids", "postbacks"], order)
        try expectLive("set", place)
    }
}

@Suite("Replaying from Kafka", .serialized)
struct KafkaReplayTests {
    @Test("The stores are those of the live worker, and the group knows of nothing")
    func cluster() throws {
        let cluster = try ClusterPlace(.mock)
        try cluster.makeTopic("bids")
        try cluster.configure("bids")
        try cluster.publish(Samples.bids(500, seed: 61))
        try cluster.foldAll("weir-bids", data: "data")
        let topic = cluster.topic("bids")
        let before = try cluster.log.reader(topic: topic, group: "weir-bids").committedOffsets()
        let order = cluster.place.order(batchRecords: 33, log: try LogAddress(cluster.address))
        let replayed = try cluster.place.replay([topic], order)
        #expect(replayed.isDone)
        #expect(try cluster.contents("bids", data: "data") == cluster.contents("bids", data: "set"))
        #expect(
            try cluster.log.reader(topic: topic, group: "weir-bids").committedOffsets() == before)
    }

    @Test("A member of a group gives its store up for a promotion, and goes on with the new one")
    func promotion() throws {
        let cluster = try ClusterPlace(.mock)
        let records = Samples.bids(600, seed: 62)
        try cluster.makeTopic("bids")
        try cluster.configure("bids")
        try cluster.publish(Array(records.prefix(300)))
        let worker = try cluster.worker("weir-bids", data: "data")
        try cluster.waitUntilFolded(300, "bids", data: ["data"])
        let topic = cluster.topic("bids")
        let log = try LogAddress(cluster.address)
        try cluster.place.replay([topic], cluster.place.order(log: log))
        try cluster.publish(Array(records[300..<450]))
        let order = PromotionOrder(
            data: cluster.place.path + "/data", target: .directory(cluster.place.path + "/set"),
            source: cluster.place.source(log: log), threadCount: 1)
        _ = try Promotion(order).run(stop: StopSignal())
        try cluster.publish(Array(records.dropFirst(450)))
        try cluster.waitUntilFolded(600, "bids", data: ["set"])
        #expect(try worker.stop() == 0)
        try cluster.place.replay(
            [topic], cluster.place.order(into: "fresh", mode: .present, log: log))
        #expect(
            try cluster.contents("bids", data: "set") == cluster.contents("bids", data: "fresh"))
    }
}
