import ConfigurationFiles
import ConfigurationValues
import Engine
import EventLog
import Foundation
import Logging
import Program
import Reports
import Store
import Streams
import Synchronization
import TestKit
import Testing

@testable import History

@Suite("Promoting")
struct PromotionTests {
    /// A place whose postbacks were folded and published under one model, and another one in its files.
    func makePlace(_ records: [OutgoingRecord]) throws -> Workplace {
        let place = try Workplace()
        try place.write("postbacks.yaml", "batch_records: 10\n" + Samples.trustedKeys)
        try place.write(Samples.modelFile, Samples.model)
        try place.write("partners/acme.yaml", Samples.trusting("[valid, invalid]"))
        try place.publish("postbacks", records)
        try place.foldPostbacks()
        try place.write(Samples.modelFile, Samples.correctedModel)
        return place
    }

    func postback(
        _ id: String, value: Int? = 4, forged: Bool = false
    ) throws -> OutgoingRecord {
        try Samples.signed(
            id, value: value, forged: forged, key: id,
            partition: Int32(id.utf8.reduce(0) { $0 + Int($1) } % 4))
    }

    /// Half of them mean something else under the other model.
    func postbacks(_ count: Int) throws -> [OutgoingRecord] {
        try (0..<count).map { try postback("t\($0)", value: $0 % 2 == 0 ? 4 : 1) }
    }

    func documents(_ place: Workplace) throws -> [[String: Any]] {
        try place.records("partner-postbacks").map { try jsonObject(try #require($0.text)) }
    }

    @Test("Stopped behind any step, the old set is in force or the new one, and everybody goes on")
    func crashes() throws {
        for step in PromotionStep.allCases {
            let place = try makePlace(postbacks(40))
            try place.replay(["postbacks"], place.order(mode: .present))
            let promotion = try place.promotion(.directory(place.path + "/set"))
            #expect(throws: Crash.self) {
                try promotion.run(stop: StopSignal(), onStep: { if $0 == step { throw Crash() } })
            }
            let isIn = step == .switched
            #expect(try place.inForce("postbacks") == (isIn ? "set" : "data"), "\(step)")
            #expect(!PromotionRequest.isMade(in: place.path + "/data"))
            // The old set goes on with its own model only.
            if !isIn { try place.write(Samples.modelFile, Samples.model) }
            try place.publish("postbacks", postback("later", value: 4))
            try place.foldPostbacks()
            try place.write(Samples.modelFile, Samples.correctedModel)
            if !isIn { try place.promote() }
            #expect(try place.corrections().count == (isIn ? 20 : 21), "\(step)")
            try place.foldPostbacks(data: "fresh")
            #expect(
                try place.contents("postbacks", data: "set")
                    == place.contents("postbacks", data: "fresh"), "\(step)")
        }
    }

    @Test(
        "Killed right after the switch, it leaves whole sets, and sends the rest at its next start")
    func killed() throws {
        let place = try makePlace(postbacks(60))
        try place.publish("bids", Samples.bids(100, seed: 71))
        try place.foldBids()
        try place.replay(["bids", "postbacks"], place.order(mode: .present))
        let promote = try place.startWeir("promote", [place.path + "/set", "--emit"])
        try Wait.until { try place.inForce("bids") == "set" }
        promote.kill()
        #expect(try place.inForce("postbacks") == "set", "never a mixture")
        try place.foldBids()
        let last = try place.startWeir("promote", [place.path + "/set", "--emit"])
        try last.waitForExit()
        #expect(last.status == 0, "\(last.error)")
        #expect(try place.inForce("bids") == "set")
        let sent = try place.records("partner-postbacks").compactMap { $0.headers["ce_id"] }
            .filter { $0.hasSuffix(":2") }
        #expect(Set(sent) == Set(try place.corrections().map { "\($0.postback.id):2" }))
        #expect(Set(sent).count == 30)
    }

    @Test("Under live load nothing is lost and nothing doubled, to a set and back")
    func liveLoad() throws {
        let place = try makePlace(postbacks(50))
        try place.write(Samples.modelFile, Samples.model)
        try place.publish("bids", Samples.bids(200, seed: 81))
        try place.foldBids()
        let live = try LiveWorkers(place)
        try place.replay(["bids", "postbacks"], place.order())
        for round in 0..<24 {
            try place.publish("bids", Samples.bids(30, seed: UInt64(90 + round)))
            try place.publish(
                "postbacks", try (0..<10).map { try postback("r\(round)-\($0)", value: 4) })
            if round == 8 { try place.promote() }
            if round == 16 { _ = try place.promotion(.back).run(stop: StopSignal()) }
        }
        try place.promote()
        try live.waitUntilFolded(["bids": 920, "postbacks": 290])
        try live.stop()
        try place.foldBids(data: "fresh")
        try place.foldPostbacks(data: "fresh")
        for stream in ["bids", "postbacks"] {
            #expect(
                try place.contents(stream, data: "set") == place.contents(stream, data: "fresh"))
        }
        #expect(try place.corrections().isEmpty)
        let ids = try place.records("partner-postbacks").compactMap { $0.headers["ce_id"] }
        #expect(ids.count == 290)
        #expect(Set(ids).count == 290)
        let refused = try place.refused("bids", data: "fresh")
        #expect(
            try place.records("bids.dlq").count
                == refused.count { !["conflict", "untrusted"].contains($0.reason) })
    }

    @Test("Of copies that are folded equally far the one that was promoted last counts")
    func promotedOfSeveral() throws {
        let place = try makePlace(postbacks(40))
        try place.write(Samples.modelFile, Samples.model)
        try place.foldPostbacks(data: "other")
        try place.write(Samples.modelFile, Samples.correctedModel)
        try place.replay(["postbacks"], place.order(mode: .present))
        func digest(_ directories: String...) throws -> String {
            try OpenStores(directories: directories.map { "\(place.path)/\($0)" }).digest()
        }
        let before = try digest("other")
        #expect(try digest("data", "other") == before)
        try place.promote()
        let promoted = try digest("set")
        #expect(promoted != before)
        #expect(try digest("data", "other") == promoted)
        #expect(try digest("other", "data") == promoted)
        _ = try place.promotion(.back).run(stop: StopSignal())
        #expect(try digest("other", "data") == before)
    }

    @Test(
        "Of two promotions of one set the second changes nothing; going back means the set that it found"
    )
    func twice() throws {
        let place = try makePlace(postbacks(8))
        try place.replay(["postbacks"], place.order(mode: .present))
        let second = try place.promotion(.directory(place.path + "/set"))
        try place.promote()
        let back = try place.promotion(.back)
        #expect(try second.run(stop: StopSignal()).isEmpty)
        #expect(try PromotionJournal(directory: place.path + "/data").promotions.count == 1)
        _ = try place.promotion(.back).run(stop: StopSignal())
        #expect(throws: PromotionError.changedMeanwhile(data: place.path + "/data")) {
            try back.run(stop: StopSignal())
        }
        #expect(try place.inForce("postbacks") == "data")
    }

    @Test("No worker takes a store while a promotion is running, though its lock is free")
    func notTaken() throws {
        let place = try makePlace(postbacks(8))
        try place.write(Samples.modelFile, Samples.model)
        let options = place.options()
        let configuration = try PostbacksFold.readConfiguration(PipelineDirectory(place.pipelines))
        let log = try place.openLog()
        let reader = try log.reader(topic: "postbacks", group: "weir-postbacks")
        defer { reader.close() }
        func makeWorker() throws -> Worker<PostbacksFold>? {
            try PostbacksFold.makeWorker(
                options, configuration, lanes: 1, in: place.path + "/data", log: log,
                reader: reader, stop: StopSignal(), logger: Logger(label: "test"))
        }
        do {
            let request = try PromotionRequest(directory: place.path + "/data")
            defer { withExtendedLifetime(request) {} }
            let worker = try makeWorker()
            #expect(worker == nil)
        }
        let worker = try makeWorker()
        #expect(worker != nil)
    }

    @Test("A set that is in force for one data directory is refused for another one")
    func setOfOther() throws {
        let place = try makePlace(postbacks(8))
        try place.foldPostbacks(data: "other")
        try place.replay(["postbacks"], place.order(mode: .present))
        let set = PromotionOrder.Target.directory(place.path + "/set")
        // Interrupted before the switch, it is not in force.
        #expect(throws: Crash.self) {
            try place.promotion(set).run(
                stop: StopSignal(), onStep: { if $0 == .takenOver { throw Crash() } })
        }
        _ = try place.promotion(set, data: "other")
        try place.promote()
        #expect(
            throws: PromotionError.ofOther(place.path + "/set", data: place.path + "/data")
        ) { try place.promotion(set, data: "other") }
        _ = try place.promotion(set)
    }

    @Test("Going back twice is refused in words; with emit it sends what going back corrects")
    func backTwice() throws {
        let place = try makePlace(postbacks(40))
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        try place.sendCorrections()
        _ = try place.promotion(.back).run(stop: StopSignal())
        #expect(
            throws: PromotionError.alreadyBack(
                inForce: place.path + "/data", other: place.path + "/set")
        ) { try place.promotion(.back) }
        let again = try place.promotion(.back, sendsCorrections: true)
        #expect(again.streams.isEmpty)
        #expect(again.correctionsDirectory == place.path + "/data")
        #expect(try place.sendCorrections("data") == 20)
        #expect(try place.inForce("postbacks") == "data")
        // Forth by name, and back again.
        try place.promote()
        _ = try place.promotion(.back).run(stop: StopSignal())
        #expect(try place.inForce("postbacks") == "data")
    }

    @Test("A replay that follows gives way, and ends once its stores are in force")
    func followed() throws {
        let place = try makePlace(postbacks(50))
        try place.write(Samples.modelFile, Samples.model)
        let live = try LiveWorkers(place)
        // What is replayed follows from the stores that there are.
        try live.waitUntilFolded(["bids": 0, "postbacks": 50])
        let follow = try place.startWeir("replay", ["--into", place.path + "/set", "--follow"])
        try place.waitUntilFolded(50, "postbacks", data: "set")
        try place.publish("postbacks", (0..<20).map { try postback("more\($0)") })
        try place.promote()
        try follow.waitForExit()
        #expect(follow.status == 0, "\(follow.error)")
        try live.waitUntilFolded(["postbacks": 70])
        try live.stop()
        #expect(try place.records("partner-postbacks").count == 70)
    }

    @Test("A promoted store that is gone stops its worker, which does not begin anew")
    func goneStore() throws {
        let place = try makePlace(postbacks(10))
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        try FileManager.default.moveItem(
            atPath: place.path + "/set", toPath: place.path + "/unmounted")
        let error = #expect(throws: StoreError.self) { try place.foldPostbacks() }
        guard case .promotedStoreGone? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!FileManager.default.fileExists(atPath: place.path + "/set"))
        #expect(throws: PromotionError.self) {
            try place.promotion(.back).run(stop: StopSignal())
        }
        _ = try place.promotion(.back, acceptsLostHistory: true).run(stop: StopSignal())
        #expect(try place.inForce("postbacks") == "data")
    }

    @Test("A promoted store that was emptied stops its worker, which does not begin anew")
    func emptiedStore() throws {
        let place = try makePlace(postbacks(10))
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        let path = place.path + "/set/postbacks.sqlite"
        for end in ["-wal", "-shm"] { unlink(path + end) }
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(throws: StoreError.emptied(path: path)) { try place.foldPostbacks() }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
        // Moved away, it is gone.
        try FileManager.default.removeItem(atPath: path)
        _ = try place.promotion(.back, acceptsLostHistory: true).run(stop: StopSignal())
        #expect(try place.inForce("postbacks") == "data")
    }

    @Test(
        "A set that holds less is refused; where that is accepted, it says nothing of what it does not have"
    )
    func lostHistory() throws {
        let place = try makePlace(postbacks(40))
        let range = ReplayRange(fromOffset: 2)
        try place.replay(["postbacks"], place.order(mode: .present, range: range))
        #expect(throws: PromotionError.self) { try place.promote() }
        #expect(try place.inForce("postbacks") == "data")
        _ = try place.promotion(.directory(place.path + "/set"), acceptsLostHistory: true)
            .run(stop: StopSignal())
        #expect(try place.inForce("postbacks") == "set")
        let corrections = try place.corrections()
        #expect(corrections.count { $0.kind == .notCompared } == 8)
        #expect(Set(corrections.map(\.kind)) == [.notCompared, .changed])
        #expect(corrections.allSatisfy { $0.kind != .changed || $0.postback.originOffset >= 2 })
    }

    @Test("A set whose replay was killed between two topics is refused until that has gone on")
    func unfinished() throws {
        let place = try makePlace(postbacks(10))
        try place.publish("bids", Samples.bids(0..<10))
        try place.foldBids()
        // A topic without records has its store too.
        try place.publish("impressions", [])
        let topics = ["bids", "impressions", "postbacks"]
        let order = place.order(mode: .present)
        try ReplayManifest(order, topics: topics).begin(in: order.directory)
        _ = try BidsFold.replay(order, stop: StopSignal())
        #expect(
            throws: PromotionError.unfinished(
                order.directory, missing: ["impressions", "postbacks"])
        ) { try place.promote() }
        #expect(try place.inForce("bids") == "data")
        try place.replay(topics, order)
        #expect(try Set(place.promote().map(\.stream)) == Set(topics))
        #expect(try place.inForce("bids") == "set")
    }

    @Test("A set behind what is left of a trimmed log is refused with where the log begins now")
    func trimmedLog() throws {
        let place = try makePlace(postbacks(40))
        let range = ReplayRange(toOffset: 2)
        try place.replay(["postbacks"], place.order(mode: .present, range: range))
        let states = try place.states("postbacks")
        let log = try place.openLog()
        for state in states {
            try log.trim(topic: "postbacks", partition: state.partition, before: state.nextOffset)
        }
        let end = try #require(states.first { $0.partition == 0 }).nextOffset
        let error = PromotionError.behind(
            store: place.path + "/set/postbacks.sqlite", partition: 0, next: 2, wanted: end,
            earliest: end)
        #expect(throws: error) { try place.promote() }
        #expect(error.description.contains("the log now starts at offset \(end)"))
        #expect(try place.inForce("postbacks") == "data")
    }

    @Test("What is no set, or of another log, is refused; and so is a store that nobody gives up")
    func refusals() throws {
        let place = try makePlace(postbacks(10))
        #expect(throws: PromotionError.nothingToGoBackTo(data: place.path + "/data")) {
            try place.promotion(.back)
        }
        #expect(throws: PromotionError.self) { try place.promote("pipelines") }
        #expect(throws: PromotionError.self) { try place.promote("nowhere") }
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.execute("UPDATE store SET log_identity = 'x'", stream: "postbacks", data: "set")
        #expect(throws: PromotionError.self) { try place.promote() }
        try place.replay(["postbacks"], place.order(into: "second", mode: .present))
        let lock = try StoreLock(storePath: place.path + "/data/postbacks.sqlite")
        let promotion = try place.promotion(.directory(place.path + "/second"), patienceSeconds: 0)
        let error = #expect(throws: PromotionError.self) { try promotion.run(stop: StopSignal()) }
        #expect("\(try #require(error))".contains("was not released within 0 s"))
        #expect(try place.inForce("postbacks") == "data")
        withExtendedLifetime(lock) {}
    }
}

extension Samples {
    /// The highest value means more.
    static var correctedModel: String {
        model.replacingOccurrences(of: "max: 100", with: "max: 200")
    }

    static func trusting(_ verdicts: String) -> String {
        partner.replacingOccurrences(of: "[valid]", with: verdicts)
    }
}

/// Workers of bids and postbacks that go on until they are stopped.
private final class LiveWorkers: Sendable {
    private let place: String
    private let signal = StopSignal()
    private let failures = Mutex<[String]>([])
    private let ended = DispatchSemaphore(value: 0)

    init(_ place: Workplace) throws {
        self.place = place.path
        let (log, data, pipelines) = (place.logAddress, place.path + "/data", place.pipelines)
        try place.publish("bids", [])
        let programs: [any StreamFold.Type] = [BidsFold.self, PostbacksFold.self]
        for program in programs {
            let thread = Thread { [self] in
                do {
                    let options = WorkerOptions(
                        log: log, data: data, pipelines: pipelines, untilEnd: false)
                    try program.work(options, stop: signal)
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
                ended.signal()
            }
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    /// Waits until the stores in force have folded so many records.
    func waitUntilFolded(_ records: [String: Int64]) throws {
        let deadline = Date().addingTimeInterval(180)
        for (stream, count) in records {
            while true {
                let folded = try folded(stream)
                if folded == count { break }
                let failures = failures.withLock { $0 }
                try #require(failures.isEmpty, "\(failures)")
                try #require(Date() < deadline, "\(stream) is folded: \(folded ?? -1)")
                usleep(50_000)
            }
        }
    }

    /// Nil while there is no store yet.
    private func folded(_ stream: String) throws -> Int64? {
        let path = try PromotionJournal(directory: place + "/data").path(of: stream)
        guard let reader = try? StoreReader(path: path) else { return nil }
        return try reader.snapshot { snapshot in
            try snapshot.partitionStates().reduce(0) { $0 + $1.records }
        }
    }

    func stop() throws {
        signal.request()
        for _ in 0..<2 { try #require(ended.wait(timeout: .now() + 60) == .success) }
        let failures = failures.withLock { $0 }
        #expect(failures.isEmpty, "\(failures)")
    }
}
