import EventLog
import Foundation
import KafkaLog
import Program
import Streams
import TestKit
import Testing

@testable import Engine

@Suite("Workers on a Kafka cluster")
struct KafkaProcessTests {
    @Test(
        "killed while it folds and brokers come and go: every partner postback and dead letter is on its topic, in order and without a gap",
        arguments: TestCluster.Kind.available)
    func killedPostbacks(kind: TestCluster.Kind) async throws {
        try await onThread {
            let place = try ClusterPlace(kind)
            let cluster = kind == .mock ? try place.cluster : nil
            try place.makeTopic("postbacks")
            try place.place.configurePostbacks()
            try place.configure("postbacks", more: Samples.trustedKeys)
            try place.publish(try Samples.postbacks(1200, seed: 23))
            for folded in [0, 400] as [Int64] {
                let worker = try place.worker("weir-postbacks", data: "killed", ["--until-end"])
                Wait.until { place.place.folded("postbacks", data: "killed") ?? 0 > folded }
                cluster?.setBroker(2, isUp: false)
                worker.kill()
                after(0.5) { cluster?.setBroker(2, isUp: true) }
            }
            cluster?.setBroker(-1, isUp: true)
            try place.foldAll("weir-postbacks", data: "killed")
            let embedded = try place.embeddedContents(of: "postbacks")
            #expect(try place.contents("postbacks", data: "killed") == embedded)
            try place.expectDeadLetters(of: "postbacks", data: "killed")
            try place.expectPartnerPostbacks(data: "killed")
        }
    }

    @Test(
        "stopped beyond the session's time-out, another takes over; woken up, it goes on by itself, and neither counts twice",
        arguments: TestCluster.Kind.available)
    func zombie(kind: TestCluster.Kind) async throws {
        try await onThread {
            let place = try ClusterPlace(kind)
            try place.makeTopic("bids")
            try place.configure("bids")
            let records = Samples.bids(3000, seed: 25)
            try place.publish(Array(records[..<1000]))
            let first = try place.worker("weir-bids", data: "first")
            try place.waitUntilFolded(1000, "bids", data: ["first"])
            first.signal(SIGSTOP)
            let second = try place.worker("weir-bids", data: "second")
            try place.publish(Array(records[1000..<2000]))
            try place.waitUntilFolded(2000, "bids", data: ["second"])
            first.signal(SIGCONT)
            try place.publish(Array(records[2000...]))
            try place.waitUntilFolded(3000, "bids", data: ["first", "second"])
            for worker in [first, second] {
                #expect(try worker.stop() == 0)
                #expect(worker.process.terminationReason == .exit)
            }
            let embedded = try place.embeddedContents(of: "bids")
            // What each has folded goes on to the same end.
            for data in ["first", "second"] {
                try place.foldAll("weir-bids", data: data, hadMembers: true)
                #expect(try place.contents("bids", data: data) == embedded)
            }
            try place.expectDeadLetters(of: "bids", data: "first")
        }
    }

    @Test(
        "in a group under load, with brokers going, a coordinator moving and a member killed, nothing is lost or counted twice"
    )
    func underLoad() async throws {
        try await onThread {
            let place = try ClusterPlace(.mock)
            let cluster = try place.cluster
            try place.makeTopic("bids")
            try place.configure("bids")
            let records = Samples.bids(4000, seed: 26)
            let workers = try ["first", "second"].map { try place.worker("weir-bids", data: $0) }
            for round in 0..<16 {
                try place.publish(Array(records[(round * 250)..<(round * 250 + 250)]))
                switch round {
                case 5:
                    cluster.setBroker(2, isUp: false)
                    after(1.2) { cluster.setBroker(2, isUp: true) }
                case 9: cluster.setCoordinator(1, ofGroup: "weir-bids")
                case 11: workers[0].kill()
                case 13:
                    cluster.setBroker(-1, isUp: false)
                    after(1) { cluster.setBroker(-1, isUp: true) }
                default: break
                }
                usleep(600_000)
            }
            try place.waitUntilFolded(4000, "bids", data: ["second"])
            #expect(try workers[1].stop() == 0)
            #expect(workers[1].process.terminationReason == .exit)
            let embedded = try place.embeddedContents(of: "bids")
            for data in ["first", "second"] {
                try place.foldAll("weir-bids", data: data, hadMembers: true)
                #expect(try place.contents("bids", data: data) == embedded)
            }
            try place.expectDeadLetters(of: "bids", data: "second")
        }
    }
}

extension ClusterPlace {
    /// Every rejected record is among the dead letters, and nothing else is.
    func expectDeadLetters(of stream: String, data: String) throws {
        let letters = try records("\(topic(stream)).dlq").map {
            "\($0.headers["weir_partition"] ?? "")/\($0.headers["weir_offset"] ?? "")"
        }
        let wanted = try place.refused(stream, data: data)
            .filter { !["conflict", "untrusted"].contains($0.reason) }
            .map { "\($0.partition)/\($0.offset)" }
        #expect(!wanted.isEmpty)
        #expect(Set(letters) == Set(wanted))
    }

    /// Every outbox row is published, and those of one partition first appear in its order.
    func expectPartnerPostbacks(data: String) throws {
        // In a cluster that stays, those of other tests are there too.
        let origin = "\"\(topic("postbacks"))\""
        let published = try records("partner-postbacks").filter {
            $0.text?.contains(origin) == true
        }
        var seen: Set<String> = []
        let first = published.filter { seen.insert($0.headers["ce_id"] ?? "").inserted }
        for partition in 0..<4 {
            let outbox = try place.texts(
                """
                SELECT id || ':' || revision FROM outbox WHERE partition = \(partition)
                ORDER BY sequence
                """, stream: "postbacks", data: data)
            #expect(!outbox.isEmpty)
            #expect(Set(outbox).isSubset(of: seen))
            for target in 0..<4 {
                let ids = first.filter { $0.partition == target }
                    .compactMap { $0.headers["ce_id"] }.filter(outbox.contains)
                #expect(ids == outbox.filter(ids.contains), "partition \(partition) in \(target)")
            }
        }
    }
}

@Suite("--until-end beside members of the group")
struct MembersBesideTests {
    @Test(
        "folds and publishes everything, and fails in words when the group takes no offsets of it")
    func notTaken() async throws {
        try await onThread {
            let place = try ClusterPlace(.mock, isHasty: false)
            try place.makeTopic("bids")
            try place.configure("bids")
            try place.publish(Samples.bids(300, seed: 51))
            let member = try place.worker("weir-bids", data: "member")
            defer { member.kill() }
            try place.waitUntilFolded(300, "bids", data: ["member"])
            let worker = try place.place.run("weir-bids", data: "beside", log: place.address)
            #expect(worker.status == 1)
            let last = worker.error.split(separator: "\n").last.map(String.init) ?? ""
            #expect(last.contains("the group's offsets of 'bids'"), "\(worker.error)")
            #expect(last.contains("stop the members of the group"), "\(worker.error)")
            #expect(
                try place.contents("bids", data: "beside")
                    == place.contents("bids", data: "member"))
        }
    }
}

@Suite("Dead letters that no broker takes")
struct AbsentLeaderTests {
    @Test(
        "are waited for, which /readyz says; SIGTERM ends within seconds, and the next start publishes them"
    )
    func waits() async throws {
        try await onThread {
            let place = try ClusterPlace(.mock)
            try place.makeTopic("bids")
            try place.makeTopic("bids.dlq")
            try place.configure("bids")
            try place.publish(Samples.bids(300, seed: 41))
            for partition in 0..<4 as Range<Int32> {
                try place.cluster.setLeader(-1, of: "bids.dlq", partition)
            }
            let worker = try place.worker(
                "weir-bids", data: "data", ["--partitions", "0-3", "--metrics", "127.0.0.1:0"])
            let requests = Requests(port: try worker.port(after: "http://127.0.0.1:"))
            var unready: Answer?
            Wait.until {
                unready = try? requests.get("/readyz")
                return unready?.status == 503 && unready?.text.contains("does not accept") == true
            }
            #expect(unready?.status == 503 && unready?.text.contains(place.address) == true)
            #expect(try requests.get("/livez").status == 200)
            #expect(worker.process.isRunning)

            worker.signal(SIGTERM)
            // Far less than the log is waited for when nobody asks to stop.
            try worker.waitForExit(seconds: Wait.seconds)
            #expect(worker.process.terminationReason == .exit)
            #expect(worker.status == 0)
            for partition in 0..<4 as Range<Int32> {
                try place.cluster.setLeader(1, of: "bids.dlq", partition)
            }
            #expect(try place.records("bids.dlq").isEmpty)
            try place.foldAll("weir-bids", data: "data")
            try place.expectDeadLetters(of: "bids", data: "data")
        }
    }
}
