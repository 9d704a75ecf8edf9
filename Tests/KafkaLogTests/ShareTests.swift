import CRdKafka
import EventLog
import Foundation
import TestKit
import Testing

@testable import KafkaLog

@Suite("A member's share of the partitions")
struct ShareTests {
    private let hasty = [
        "session.timeout.ms": "4000", "heartbeat.interval.ms": "200",
        "max.poll.interval.ms": "4500", "reconnect.backoff.max.ms": "300",
    ]

    @Test("a member that leaves before it was ever given its share does not end the process")
    func leavesBeforeItsShare() async throws {
        try await onThread { [self] in
            let workspace = try Workspace(.mock)
            try workspace.mock.fail(
                .syncGroup,
                with: Array(repeating: RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, count: 100))
            let reader = try workspace.reader(hasty)
            let batch = RecordBatch()
            let hasShare = Wait.until(seconds: 5) {
                let reading = try? reader.read(
                    into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 100)
                return reading != .idle
            }
            #expect(!hasShare)
            reader.close()
        }
    }

    @Test("a member whose name was taken ends at once, with a commit that is not answered")
    func fencedWithoutCoordinator() async throws {
        try await onThread { [self] in
            let workspace = try Workspace(.mock)
            let reader = try workspace.reader(hasty)
            let batch = RecordBatch()
            #expect(try reader.readOn(into: batch) == .assigned([0, 1, 2, 3]))
            try workspace.mock.fail(.heartbeat, with: [RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID])
            var isFenced = false
            Wait.until {
                guard !isFenced else { return true }
                do {
                    _ = try reader.read(
                        into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 100)
                } catch {
                    isFenced = true
                }
                return isFenced
            }
            #expect(isFenced)
            try workspace.mock.setBroker(-1, isUp: false)
            try? reader.commit([0: 1])
            let stopwatch = Stopwatch()
            reader.close()
            // Less than closing waits for a coordinator that is away.
            #expect(stopwatch.seconds < 4.5)
        }
    }

    @Test("a member that keeps partitions while others come and go reads them without a gap")
    func keptPartitions() async throws {
        try await onThread { [self] in
            let workspace = try Workspace(.mock)
            var settings = hasty
            // So that there are always some which were taken out of the queue and not handed out yet.
            settings["fetch.wait.max.ms"] = "5"
            let reader = try workspace.reader(settings)
            let flow = try workspace.startFlow()
            var kept = KeptPartitions()
            try kept.read(reader, seconds: Wait.seconds) { $0.owned == [0, 1, 2, 3] }
            for round in 0..<3 {
                let other = workspace.join(settings)
                try kept.read(reader, seconds: Wait.seconds) { $0.owned.count == 2 }
                #expect(kept.owned.count == 2, "round \(round)")
                // In the background: its partitions come back while this one reads.
                after(0) { other.leave() }
                try kept.read(reader, seconds: Wait.seconds) { $0.owned.count == 4 }
                #expect(kept.owned.count == 4, "round \(round)")
            }
            try workspace.end(flow)
            #expect(kept.keptCount > 0)
            #expect(kept.gaps == [])
            reader.close()
        }
    }
}

/// What a member reads that commits nothing, so that the group never takes all from it.
private struct KeptPartitions {
    private(set) var owned: Set<Int32> = []
    /// How often a partition was kept while others came or went.
    private(set) var keptCount = 0
    private(set) var gaps: [String] = []
    private var next: [Int32: Int64] = [:]
    private let batch = RecordBatch()

    /// Reads until something is so, or the time is up.
    mutating func read(
        _ reader: any LogReader, seconds: Double, until isSo: (KeptPartitions) -> Bool
    ) throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while !isSo(self), ContinuousClock.now < deadline {
            switch try reader.read(
                into: batch, maxRecords: 1000, maxBytes: 1 << 20, waitMilliseconds: 50)
            {
            case .assigned(let partitions):
                keptCount += owned.count
                owned.formUnion(partitions)
                for partition in partitions { next[partition] = nil }
            case .revoked(let partitions):
                owned.subtract(partitions)
                keptCount += owned.count
            case .records:
                for index in 0..<batch.count {
                    let (partition, offset) = batch.position(index)
                    if let wanted = next[partition], offset != wanted {
                        gaps.append("\(partition): \(offset) after \(wanted - 1)")
                    }
                    next[partition] = offset + 1
                }
            case .idle: break
            }
        }
    }
}

@Suite("Offsets of a group")
struct CommitTests {
    @Test("that do not change are committed again after a while, since brokers forget old ones")
    func repeated() async throws {
        try await onThread {
            let test = try TestLog(.preferred)
            let topic = try test.makeTopic(1)
            let log = try #require(test.log as? KafkaLog)
            let group = "group-of-\(topic)"
            let other = KafkaCommits(of: try log.openConsumer(group: group), topic: topic)
            let reader = try log.reader(topic: topic, group: group)
            defer { reader.close() }
            for (repetition, expected) in [(Duration.seconds(3600), 3), (.milliseconds(100), 5)]
                as [(Duration, Int64)]
            {
                let commits = KafkaCommits(
                    of: try log.openConsumer(group: group), topic: topic, repetition: repetition)
                try commits.commit([0: 5])
                // As a broker that forgets it would, another one changes what it knows.
                try other.commit([0: 3])
                Thread.sleep(forTimeInterval: 0.2)
                try commits.commit([0: 5])
                try commits.awaitAcceptance(.seconds(60))
                #expect(try reader.committedOffsets() == [0: GroupOffset(expected)])
                try other.commit([0: 4])
            }
        }
    }
}
