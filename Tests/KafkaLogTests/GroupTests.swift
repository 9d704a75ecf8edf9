import CRdKafka
import EventLog
import Foundation
import KafkaLog
import MockKafka
import Synchronization
import Testing

@Suite("A consumer group")
struct GroupTests {
    /// How members share out: librdkafka's names.
    private static let strategies = ["cooperative-sticky", "range"]
    private static let count: Int64 = 200

    private let hasty = [
        "session.timeout.ms": "4000", "heartbeat.interval.ms": "200",
        "max.poll.interval.ms": "4500", "reconnect.backoff.max.ms": "300",
        "queued.min.messages": "20", "fetch.message.max.bytes": "500",
    ]

    private func settings(_ strategy: String) -> [String: String] {
        hasty.merging(["partition.assignment.strategy": strategy]) { _, new in new }
    }

    @Test(
        "shares partitions out while members join, leave and vanish: one owner each, no record lost",
        arguments: strategies)
    func joinsAndLeaves(strategy: String) async throws {
        try await onThread { [self] in
            let place = try Place()
            let settings = settings(strategy)
            let first = place.join(settings)
            try place.expectShared([first])
            try place.append()
            let second = place.join(settings)
            try place.append()
            // One more than there are partitions.
            let others = (0..<3).map { _ in place.join(settings) }
            try place.expectShared([first, second] + others)
            try place.append()
            second.leave()
            try place.expectShared([first] + others)
            others[0].vanish()
            try place.append()
            try place.expectShared([first] + others[1...])
            try place.expectAllRead(by: [first, second] + others)
            #expect(([first, second] + others).allSatisfy { $0.seen.failure == nil })
            ([first] + others[1...]).forEach { $0.leave() }
        }
    }

    @Test(
        "takes the partitions of a member that hangs, and has it back once it goes on",
        arguments: strategies)
    func hangingMember(strategy: String) async throws {
        try await onThread { [self] in
            let place = try Place()
            let members = (0..<2).map { _ in place.join(settings(strategy)) }
            try place.expectShared(members)
            try place.append()
            members[0].halt()
            try place.append()
            #expect(wait(seconds: 20) { members[1].seen.owned == [0, 1, 2, 3] })
            try place.append()
            members[0].goOn()
            try place.expectShared(members)
            try place.append()
            try place.expectAllRead(by: members)
            #expect(members.allSatisfy { $0.seen.failure == nil })
            members.forEach { $0.leave() }
        }
    }

    @Test(
        "goes on after faults of every request that a group makes",
        arguments: ClusterFault.ofGroupRequests, strategies)
    func requestErrors(fault: ClusterFault, strategy: String) async throws {
        try await onThread { [self] in
            let place = try Place()
            fault.strike(place.cluster, place.topic)
            let members = (0..<2).map { _ in place.join(settings(strategy)) }
            try place.append()
            try place.expectShared(members)
            fault.strike(place.cluster, place.topic)
            try place.append()
            try place.expectShared(members)
            try place.expectAllRead(by: members)
            #expect(members.allSatisfy { $0.seen.failure == nil })
            members.forEach { $0.leave() }
        }
    }

    @Test("loses nothing of what arrives while it shares out anew", arguments: strategies)
    func flow(strategy: String) async throws {
        try await onThread { [self] in
            let place = try Place()
            // Records are fetched as fast as they come.
            var settings = settings(strategy)
            settings["queued.min.messages"] = nil
            settings["fetch.message.max.bytes"] = nil
            let first = place.join(settings)
            try place.expectShared([first])
            let flow = try place.startFlow()
            let second = place.join(settings)
            try place.expectShared([first, second])
            second.leave()
            try place.expectShared([first])
            try place.end(flow)
            try place.expectAllRead(by: [first, second])
            first.leave()
        }
    }

    @Test("goes on after its coordinator moved, and after all brokers were gone")
    func coordinator() async throws {
        try await onThread { [self] in
            let place = try Place()
            place.cluster.setCoordinator(1, ofGroup: "group")
            let members = (0..<2).map { _ in place.join(hasty) }
            try place.expectShared(members)
            place.cluster.setCoordinator(2, ofGroup: "group")
            try place.append()
            try place.expectAllRead(by: members)
            place.cluster.setBroker(-1, isUp: false)
            Thread.sleep(forTimeInterval: 3)
            place.cluster.setBroker(-1, isUp: true)
            try place.append()
            try place.expectShared(members)
            try place.expectAllRead(by: members)
            #expect(members.allSatisfy { $0.seen.failure == nil })
            members.forEach { $0.leave() }
        }
    }

    @Test("a member that stays within the group while nothing comes keeps its partitions")
    func idleMember() async throws {
        try await onThread { [self] in
            let place = try Place()
            let member = place.join(hasty)
            try place.expectShared([member])
            Thread.sleep(forTimeInterval: 6)
            #expect(member.seen.owned == [0, 1, 2, 3])
            try place.append()
            try place.expectAllRead(by: [member])
            // Exactly once: nothing was taken from it meanwhile.
            #expect(member.seen.records.values.allSatisfy { $0 == Array(0..<50) })
            member.leave()
        }
    }

    @Test("a member that comes back under its name has its partitions again, and reads on")
    func namedMember() async throws {
        try await onThread { [self] in
            let place = try Place()
            let member = place.join(hasty, name: "a")
            let other = place.join(hasty, name: "b")
            try place.expectShared([member, other])
            try place.append()
            member.vanish()
            let again = place.join(hasty, name: "a")
            try place.append()
            try place.expectShared([again, other])
            try place.expectAllRead(by: [member, again, other])
            #expect([member, again, other].allSatisfy { $0.seen.failure == nil })
            [again, other].forEach { $0.leave() }
        }
    }

    @Test("a member whose name another one took ends in words")
    func fenced() async throws {
        try await onThread { [self] in
            let place = try Place()
            let member = place.join(hasty, name: "a")
            try place.expectShared([member])
            place.cluster.fail(.heartbeat, with: [RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID])
            #expect(wait(seconds: 10) { member.seen.hasEnded })
            guard case .fenced(let address, _) = member.seen.failure else {
                Issue.record("it ended with \(String(describing: member.seen.failure))")
                return
            }
            #expect(address == place.cluster.address)
            #expect(member.seen.failure?.description.contains("--member") == true)
        }
    }

    @Test(
        "a member that closes before it took what it was given is not waited for",
        arguments: strategies)
    func closesWhileRebalancing(strategy: String) async throws {
        try await onThread { [self] in
            let place = try Place()
            let batch = RecordBatch()
            // Given, and not taken.
            let given = try place.reader(settings(strategy))
            #expect(try given.readOn(into: batch) == .assigned([0, 1, 2, 3]))
            try Self.expectQuick { given.close() }
            // Told that it loses some, and not given up.
            let first = try place.reader(settings(strategy))
            #expect(try first.readOn(into: batch) == .assigned([0, 1, 2, 3]))
            let second = place.join(settings(strategy))
            guard case .revoked(let partitions) = try first.readOn(into: batch) else {
                Issue.record("nothing was revoked")
                return
            }
            #expect(!partitions.isEmpty)
            // Until then it may still commit.
            try first.commit([partitions[0]: 0])
            try Self.expectQuick { first.close() }
            try place.expectShared([second])
            second.leave()
        }
    }

    @Test(
        "leaves within bounds when its coordinator is away, with a commit that is not answered",
        arguments: 0..<6)
    func closesWithoutCoordinator(round: Int) async throws {
        try await onThread { [self] in
            let place = try Place()
            let batch = RecordBatch()
            let reader = try place.reader(hasty)
            #expect(try reader.readOn(into: batch) == .assigned([0, 1, 2, 3]))
            #expect(
                try reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 100)
                    == .idle)
            place.cluster.setBroker(-1, isUp: false)
            let start = ContinuousClock.now
            try reader.commit([0: 1])
            #expect(ContinuousClock.now - start < .milliseconds(3500))
            // Does not wait for an answer a second time.
            try reader.commit([0: 2])
            #expect(ContinuousClock.now - start < .milliseconds(3600))
            reader.close()
            #expect(ContinuousClock.now - start < .seconds(10))
        }
    }

    @Test("tells later what its coordinator did not take, without being asked again")
    func commitsLater() async throws {
        try await onThread { [self] in
            let place = try Place()
            let batch = RecordBatch()
            let reader = try place.reader(hasty)
            #expect(try reader.readOn(into: batch) == .assigned([0, 1, 2, 3]))
            try reader.commit([0: 1])
            place.cluster.fail(
                .offsetCommit,
                with: Array(repeating: RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, count: 1))
            try reader.commit([0: 2, 1: 7])
            place.cluster.setBroker(-1, isUp: false)
            try reader.commit([0: 3])
            place.cluster.setBroker(-1, isUp: true)
            let other = try place.log.reader(topic: place.topic, group: "group")
            let isTold = wait(seconds: 15) {
                _ = try? reader.read(
                    into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 100)
                return (try? other.committedOffsets()) == [0: 3, 1: 7]
            }
            #expect(isTold)
            other.close()
            reader.close()
        }
    }

    private static func expectQuick(_ body: () -> Void) throws {
        let start = ContinuousClock.now
        body()
        // Less than closing waits for a coordinator that is away.
        #expect(ContinuousClock.now - start < .seconds(4))
    }
}

/// Records that trickle in, one after the other.
final class Flow: @unchecked Sendable {
    let hasEnded = Atomic<Bool>(false)
    let isOver = DispatchSemaphore(value: 0)
    /// Records of each partition; to be read once it is over.
    var count: Int64 = 0
}

/// A cluster of its own with a topic of four partitions.
final class Place {
    let cluster: MockCluster
    let topic = "topic"
    let log: KafkaLog
    private let writer: any LogWriter
    private var appended: Int64 = 0

    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic(topic, partitionCount: 4)
        log = try TestLog.kafka(cluster.brokers)
        writer = try log.writer()
    }

    func join(_ settings: [String: String], name: String? = nil) -> Member {
        Member(cluster.brokers, topic: topic, settings: settings, name: name)
    }

    func reader(_ settings: [String: String]) throws -> any LogReader {
        let reader = try TestLog.kafka(cluster.brokers, settings)
            .reader(topic: topic, group: "group")
        try reader.subscribe(.shared)
        return reader
    }

    /// Appends 50 records to each partition.
    func append() throws {
        try writer.append(
            (0..<200).map { record("\($0)", topic: topic, partition: Int32($0 % 4)) })
        appended += 50
    }

    /// Appends a record to each partition, again and again, on a thread of its own.
    func startFlow() throws -> Flow {
        let flow = Flow()
        let topic = topic
        let brokers = cluster.brokers
        Thread.detachNewThread {
            let writer = try? TestLog.kafka(brokers, ["linger.ms": "0"]).writer()
            while !flow.hasEnded.load(ordering: .relaxed) {
                let records = (0..<4).map { record("x", topic: topic, partition: Int32($0)) }
                guard (try? writer?.append(records)) != nil else { break }
                flow.count += 1
                usleep(2000)
            }
            flow.isOver.signal()
        }
        return flow
    }

    func end(_ flow: Flow) throws {
        flow.hasEnded.store(true, ordering: .relaxed)
        try #require(flow.isOver.wait(timeout: .now() + 10) == .success)
        appended += flow.count
    }

    /// Each partition comes to have one owner, and each member to have its share.
    func expectShared(_ members: [Member]) throws {
        let fair = 4 / members.count
        let isShared = wait(seconds: 30) {
            let owned = members.map(\.seen.owned)
            return owned.flatMap { $0 }.sorted() == [0, 1, 2, 3]
                && owned.allSatisfy { $0.count >= fair }
        }
        try #require(isShared, "\(members.map(\.seen.owned))")
    }

    /// Every record was read by one of them, and each read on without a gap where it began.
    func expectAllRead(by members: [Member]) throws {
        let isRead = wait(seconds: 30) {
            (0..<4).allSatisfy { partition in
                Set(members.flatMap { $0.seen.records[partition] ?? [] })
                    == Set(0..<appended)
            }
        }
        let missing = (0..<4 as Range<Int32>).map { partition in
            Set(0..<appended).subtracting(members.flatMap { $0.seen.records[partition] ?? [] })
                .sorted().prefix(5)
        }
        try #require(isRead, "not read: \(missing) of \(appended)")
        for member in members {
            for (partition, offsets) in member.seen.records {
                for (one, next) in zip(offsets, offsets.dropFirst()) where next > one + 1 {
                    let taken = members.contains { other in
                        other !== member
                            && other.seen.records[partition]?.contains(next - 1) == true
                    }
                    #expect(taken, "nobody read \(partition)/\(next - 1) before \(next)")
                }
            }
        }
    }
}
