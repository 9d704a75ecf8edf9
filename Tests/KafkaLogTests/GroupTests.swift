import CRdKafka
import EventLog
import Foundation
import KafkaLog
import Synchronization
import TestKit
import Testing

@Suite("A consumer group")
struct GroupTests {
    /// How members share out: librdkafka's names.
    private static let strategies = ["cooperative-sticky", "range"]
    private static let count: Int64 = 200

    private static let clusters = TestCluster.Kind.available

    @Test(
        "shares partitions out while members join, leave and vanish: one owner each, no record lost",
        arguments: clusters, strategies)
    func joinsAndLeaves(kind: TestCluster.Kind, strategy: String) async throws {
        try await onThread {
            let workspace = try Workspace(kind)
            let settings = workspace.hasty(strategy)
            let first = workspace.join(settings)
            try workspace.expectShared([first])
            try workspace.append()
            let second = workspace.join(settings)
            try workspace.append()
            // One more than there are partitions.
            let others = (0..<3).map { _ in workspace.join(settings) }
            try workspace.expectShared([first, second] + others)
            try workspace.append()
            second.leave()
            try workspace.expectShared([first] + others)
            others[0].vanish()
            try workspace.append()
            try workspace.expectShared([first] + others[1...])
            try workspace.expectAllRead(by: [first, second] + others)
            #expect(([first, second] + others).allSatisfy { $0.seen.failure == nil })
            ([first] + others[1...]).forEach { $0.leave() }
        }
    }

    @Test(
        "takes the partitions of a member that hangs, and has it back once it goes on",
        arguments: clusters, strategies)
    func hangingMember(kind: TestCluster.Kind, strategy: String) async throws {
        try await onThread {
            let workspace = try Workspace(kind)
            let members = (0..<2).map { _ in workspace.join(workspace.hasty(strategy)) }
            try workspace.expectShared(members)
            try workspace.append()
            members[0].halt()
            try workspace.append()
            #expect(Wait.until { members[1].seen.owned == [0, 1, 2, 3] })
            try workspace.append()
            members[0].goOn()
            try workspace.expectShared(members)
            try workspace.append()
            try workspace.expectAllRead(by: members)
            #expect(members.allSatisfy { $0.seen.failure == nil })
            members.forEach { $0.leave() }
        }
    }

    @Test(
        "goes on after faults of every request that a group makes",
        arguments: ClusterFault.ofGroupRequests, strategies)
    func requestErrors(fault: ClusterFault, strategy: String) async throws {
        try await onThread {
            let workspace = try Workspace(.mock)
            try fault.strike(workspace.mock, workspace.topic)
            let members = (0..<2).map { _ in workspace.join(workspace.hasty(strategy)) }
            try workspace.append()
            try workspace.expectShared(members)
            try fault.strike(workspace.mock, workspace.topic)
            try workspace.append()
            try workspace.expectShared(members)
            try workspace.expectAllRead(by: members)
            #expect(members.allSatisfy { $0.seen.failure == nil })
            members.forEach { $0.leave() }
        }
    }

    @Test("loses nothing of what arrives while it shares out anew", arguments: clusters, strategies)
    func flow(kind: TestCluster.Kind, strategy: String) async throws {
        try await onThread {
            let workspace = try Workspace(kind)
            // Records are fetched as fast as they come.
            var settings = workspace.hasty(strategy)
            settings["queued.min.messages"] = nil
            settings["fetch.message.max.bytes"] = nil
            let first = workspace.join(settings)
            try workspace.expectShared([first])
            let flow = try workspace.startFlow()
            let second = workspace.join(settings)
            try workspace.expectShared([first, second])
            second.leave()
            try workspace.expectShared([first])
            try workspace.end(flow)
            try workspace.expectAllRead(by: [first, second])
            first.leave()
        }
    }

    @Test("goes on after its coordinator moved, and after all brokers were gone")
    func coordinator() async throws {
        try await onThread {
            let workspace = try Workspace(.mock)
            try workspace.mock.setCoordinator(1, ofGroup: "group")
            let members = (0..<2).map { _ in workspace.join(workspace.hasty()) }
            try workspace.expectShared(members)
            try workspace.mock.setCoordinator(2, ofGroup: "group")
            try workspace.append()
            try workspace.expectAllRead(by: members)
            try workspace.mock.setBroker(-1, isUp: false)
            Thread.sleep(forTimeInterval: 3)
            try workspace.mock.setBroker(-1, isUp: true)
            try workspace.append()
            try workspace.expectShared(members)
            try workspace.expectAllRead(by: members)
            #expect(members.allSatisfy { $0.seen.failure == nil })
            members.forEach { $0.leave() }
        }
    }

    @Test(
        "a member that stays within the group while nothing comes keeps its partitions",
        arguments: clusters)
    func idleMember(kind: TestCluster.Kind) async throws {
        try await onThread {
            let workspace = try Workspace(kind)
            // Long enough that a machine which stands still for some seconds does not pass for a
            // member that is away.
            var settings = workspace.hasty()
            settings["session.timeout.ms"] = "9000"
            settings["max.poll.interval.ms"] = "9500"
            let member = workspace.join(settings)
            try workspace.expectShared([member])
            Thread.sleep(forTimeInterval: 12)
            #expect(member.seen.owned == [0, 1, 2, 3])
            try workspace.append()
            try workspace.expectAllRead(by: [member])
            // Exactly once: nothing was taken from it meanwhile.
            #expect(member.seen.records.values.allSatisfy { $0 == Array(0..<50) })
            member.leave()
        }
    }

    @Test(
        "a member that comes back under its name has its partitions again, and reads on",
        arguments: clusters)
    func namedMember(kind: TestCluster.Kind) async throws {
        try await onThread {
            let workspace = try Workspace(kind)
            let member = workspace.join(workspace.hasty(), name: "a")
            let other = workspace.join(workspace.hasty(), name: "b")
            try workspace.expectShared([member, other])
            try workspace.append()
            member.vanish()
            let again = workspace.join(workspace.hasty(), name: "a")
            try workspace.append()
            try workspace.expectShared([again, other])
            try workspace.expectAllRead(by: [member, again, other])
            #expect([member, again, other].allSatisfy { $0.seen.failure == nil })
            [again, other].forEach { $0.leave() }
        }
    }

    @Test("a member whose name another one took ends in words")
    func fenced() async throws {
        try await onThread {
            let workspace = try Workspace(.mock)
            let member = workspace.join(workspace.hasty(), name: "a")
            try workspace.expectShared([member])
            try workspace.mock.fail(.heartbeat, with: [RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID])
            #expect(Wait.until { member.seen.hasEnded })
            guard case .fenced(let address, _) = member.seen.failure else {
                Issue.record("it ended with \(String(describing: member.seen.failure))")
                return
            }
            #expect(address == workspace.cluster.address)
            #expect(member.seen.failure?.description.contains("--member") == true)
        }
    }

    @Test(
        "of two members of one name the first ends in words",
        .enabled(if: TestCluster.realBrokers != nil, "the mock cluster fences nobody"))
    func fencedByAnother() async throws {
        try await onThread {
            let workspace = try Workspace(.real)
            let member = workspace.join(workspace.hasty(), name: "a")
            try workspace.expectShared([member])
            let other = workspace.join(workspace.hasty(), name: "a")
            #expect(Wait.until { member.seen.hasEnded })
            guard case .fenced = member.seen.failure else {
                Issue.record("it ended with \(String(describing: member.seen.failure))")
                return
            }
            try workspace.append()
            try workspace.expectShared([other])
            try workspace.expectAllRead(by: [member, other])
            other.leave()
        }
    }

    @Test(
        "a member that closes before it took what it was given is not waited for",
        arguments: clusters, strategies)
    func closesWhileRebalancing(kind: TestCluster.Kind, strategy: String) async throws {
        try await onThread {
            let workspace = try Workspace(kind)
            let batch = RecordBatch()
            // Given, and not taken.
            let given = try workspace.reader(workspace.hasty(strategy))
            #expect(try given.readOn(into: batch) == .assigned([0, 1, 2, 3]))
            try Self.expectQuick { given.close() }
            // Told that it loses some, and not given up.
            let first = try workspace.reader(workspace.hasty(strategy))
            #expect(try first.readOn(into: batch) == .assigned([0, 1, 2, 3]))
            let second = workspace.join(workspace.hasty(strategy))
            guard case .revoked(let partitions) = try first.readOn(into: batch) else {
                Issue.record("nothing was revoked")
                return
            }
            #expect(!partitions.isEmpty)
            // Until then it may still commit.
            try first.commit([partitions[0]: 0])
            try Self.expectQuick { first.close() }
            try workspace.expectShared([second])
            second.leave()
        }
    }

    @Test(
        "leaves within bounds when its coordinator is away, with a commit that is not answered",
        arguments: 0..<6)
    func closesWithoutCoordinator(round: Int) async throws {
        try await onThread {
            let workspace = try Workspace(.mock)
            let batch = RecordBatch()
            let reader = try workspace.reader(workspace.hasty())
            #expect(try reader.readOn(into: batch) == .assigned([0, 1, 2, 3]))
            #expect(
                try reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 100)
                    == .idle)
            try workspace.mock.setBroker(-1, isUp: false)
            let stopwatch = Stopwatch()
            // An answer is waited for for 3 s, and not a second time.
            try reader.commit([0: 1])
            try reader.commit([0: 2])
            #expect(stopwatch.seconds < 5.5)
            reader.close()
            #expect(stopwatch.seconds < 30)
        }
    }

    @Test("tells later what its coordinator did not take, without being asked again")
    func commitsLater() async throws {
        try await onThread {
            let workspace = try Workspace(.mock)
            let batch = RecordBatch()
            // It stays a member though nobody hears of it while the brokers are away.
            var settings = workspace.hasty()
            settings["session.timeout.ms"] = "30000"
            settings["max.poll.interval.ms"] = "31000"
            let reader = try workspace.reader(settings)
            #expect(try reader.readOn(into: batch) == .assigned([0, 1, 2, 3]))
            try reader.commit([0: 1])
            try workspace.mock.fail(
                .offsetCommit,
                with: Array(repeating: RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, count: 1))
            try reader.commit([0: 2, 1: 7])
            try workspace.mock.setBroker(-1, isUp: false)
            try reader.commit([0: 3])
            try workspace.mock.setBroker(-1, isUp: true)
            let other = try workspace.log.reader(topic: workspace.topic, group: workspace.group)
            let isTold = Wait.until {
                _ = try? reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 100)
                return (try? other.committedOffsets()) == [0: 3, 1: 7]
            }
            #expect(isTold)
            other.close()
            reader.close()
        }
    }

    private static func expectQuick(_ body: () -> Void) throws {
        let stopwatch = Stopwatch()
        body()
        // Less than closing waits for a coordinator that is away.
        #expect(stopwatch.seconds < 4.5)
    }
}

/// Records that trickle in, one after the other.
final class Flow: @unchecked Sendable {
    let hasEnded = Atomic<Bool>(false)
    let isOver = DispatchSemaphore(value: 0)
    /// Records of each partition; to be read once it is over.
    var count: Int64 = 0
}

/// A cluster with a topic of four partitions.
final class Workspace {
    let cluster: TestCluster
    let topic: String
    let group: String
    let log: KafkaLog
    private let writer: any LogWriter
    private var appended: Int64 = 0

    init(_ kind: TestCluster.Kind) throws {
        cluster = try TestCluster(kind)
        topic = cluster.name("topic")
        group = cluster.name("group")
        log = try TestLog.kafka(cluster.brokers)
        if let mock = cluster.mock {
            try mock.createTopic(topic, partitionCount: 4)
        } else {
            cluster.own(topic)
            try log.createTopic(topic, partitionCount: 4)
        }
        writer = try log.writer()
    }

    /// The cluster, for faults that only a mock one has.
    var mock: MockCluster { get throws { try #require(cluster.mock) } }

    /// Settings of a member that is soon found to be away, and that fetches little at a time.
    func hasty(_ strategy: String? = nil) -> [String: String] {
        var settings = cluster.hasty
        settings["queued.min.messages"] = "20"
        settings["fetch.message.max.bytes"] = "500"
        settings["partition.assignment.strategy"] = strategy
        return settings
    }

    func join(_ settings: [String: String], name: String? = nil) -> Member {
        Member(cluster.brokers, topic: topic, group: group, settings: settings, name: name)
    }

    func reader(_ settings: [String: String]) throws -> any LogReader {
        let reader = try TestLog.kafka(cluster.brokers, settings).reader(topic: topic, group: group)
        try reader.subscribe(.shared)
        return reader
    }

    /// Appends 50 records to each partition.
    func append() throws {
        try writer.append((0..<200).map { record("\($0)", topic: topic, partition: Int32($0 % 4)) })
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
        try #require(flow.isOver.wait(timeout: .now() + Wait.seconds) == .success)
        appended += flow.count
    }

    /// Each partition comes to have one owner, and each member to have its share.
    func expectShared(_ members: [Member]) throws {
        let fair = 4 / members.count
        let isShared = Wait.until(seconds: 2 * Wait.seconds) {
            let owned = members.map(\.seen.owned)
            return owned.flatMap { $0 }.sorted() == [0, 1, 2, 3]
                && owned.allSatisfy { $0.count >= fair }
        }
        try #require(isShared, "\(members.map(\.seen.owned))")
    }

    /// Every record was read by one of them, and each read on without a gap where it began.
    func expectAllRead(by members: [Member]) throws {
        let isRead = Wait.until(seconds: 2 * Wait.seconds) {
            (0..<4).allSatisfy { partition in
                Set(members.flatMap { $0.seen.records[partition] ?? [] }) == Set(0..<appended)
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
