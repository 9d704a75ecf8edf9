import CRdKafka
import EventLog
import Foundation
import TestKit
import Testing

@Suite("A writer to a cluster with faults")
struct WriterFaultTests {
    private static let hasty = [
        "message.timeout.ms": "6500", "reconnect.backoff.max.ms": "300", "linger.ms": "0",
    ]

    @Test(
        "appends every record once and in order, whatever passes meanwhile",
        arguments: ClusterFault.ofBrokers
            + [
                RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
                RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
                RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR__TRANSPORT,
            ].map { ClusterFault.errors($0, at: .produce) })
    func appendsOnce(fault: ClusterFault) async throws {
        try await onThread {
            let log = try TestLog(.mock, settings: ["reconnect.backoff.max.ms": "500"])
            let cluster = try #require(log.cluster)
            let topic = try log.makeTopic(3)
            for partition in 0..<3 as Range<Int32> {
                cluster.setLeader(1 + partition, of: topic, partition)
            }
            let writer = try log.log.writer()
            var positions: [RecordPosition] = []
            for round in 0..<20 {
                if round == 1 { fault.strike(cluster, topic) }
                positions += try writer.append(
                    (0..<30).map {
                        record("\(round * 30 + $0)", topic: topic, partition: Int32($0 % 3))
                    })
            }
            #expect(positions.map(\.offset) == (0..<600).map { Int64($0 / 3) })
            cluster.setBroker(-1, isUp: true)
            cluster.setDelay(0, ofBroker: -1)
            let texts = try log.records(of: topic).compactMap(\.text)
            #expect(texts == (0..<3).flatMap { stride(from: $0, to: 600, by: 3).map { "\($0)" } })
        }
    }

    @Test("gives up after message.timeout.ms in words, and appends again once the brokers are back")
    func timesOut() async throws {
        try await onThread {
            let log = try TestLog(.mock, settings: Self.hasty)
            let cluster = try #require(log.cluster)
            let topic = try log.makeTopic(1)
            let writer = try log.log.writer()
            try writer.append([record("first", topic: topic)])
            cluster.setBroker(-1, isUp: false)
            let rest = (0..<50).map { record("\($0)", topic: topic) }
            let stopwatch = Stopwatch()
            for _ in 0..<2 {
                let failure = #expect(throws: LogError.self) { try writer.append(rest) }
                #expect(failure?.description.contains("cannot append to kafka://") == true)
                #expect(failure?.description.contains("timed out") == true)
            }
            // 6.5 s each, where an append without a setting may take minutes.
            #expect(stopwatch.seconds < 40)
            cluster.setBroker(-1, isUp: true)
            try writer.append(rest)
            #expect(
                try log.records(of: topic).compactMap(\.text) == ["first"]
                    + (0..<50).map { "\($0)" })
        }
    }

    @Test("an append that is no longer wanted ends soon, names its topic, and can be made again")
    func givenUp() async throws {
        try await onThread {
            let log = try TestLog(.mock)
            let cluster = try #require(log.cluster)
            let topic = try log.makeTopic(1)
            let writer = try log.log.writer()
            try writer.append([record("first", topic: topic)])
            cluster.setLeader(-1, of: topic, 0)
            let start = ContinuousClock.now
            let failure = #expect(throws: LogError.self) {
                try writer.append(
                    [record("second", topic: topic)],
                    while: { ContinuousClock.now - start < .milliseconds(500) })
            }
            // Its own time-out is two minutes.
            #expect(ContinuousClock.now - start < .seconds(40))
            guard case .unavailable(_, _, let detail) = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(detail.hasPrefix("topic \(topic): not acknowledged"))
            cluster.setLeader(1, of: topic, 0)
            try writer.append([record("second", topic: topic)])
            #expect(try log.records(of: topic).compactMap(\.text) == ["first", "second"])
        }
    }

    @Test("an append that failed in part and is made again leaves no gap and no other order")
    func partialFailure() async throws {
        try await onThread {
            let log = try TestLog(.mock, settings: Self.hasty)
            let cluster = try #require(log.cluster)
            let topic = try log.makeTopic(2)
            cluster.setLeader(1, of: topic, 0)
            cluster.setLeader(2, of: topic, 1)
            let writer = try log.log.writer()
            let all = (0..<100).map { record("\($0)", topic: topic, partition: Int32($0 % 2)) }
            try writer.append(Array(all[..<2]))
            cluster.setBroker(2, isUp: false)
            #expect(throws: LogError.self) { try writer.append(Array(all[2...])) }
            cluster.setBroker(2, isUp: true)
            // What the emitter does: everything that was not acknowledged, from its first record on.
            try writer.append(Array(all[2...]))
            for partition in 0..<2 {
                let texts = try log.records(of: topic).filter { $0.partition == partition }
                    .compactMap(\.text)
                var seen: Set<String> = []
                #expect(
                    texts.filter { seen.insert($0).inserted }
                        == stride(from: partition, to: 100, by: 2).map { "\($0)" })
                #expect(
                    texts.suffix(49) == stride(from: partition + 2, to: 100, by: 2).map { "\($0)" })
            }
        }
    }

    @Test(
        "says at once what a broker refuses for good, and is not stuck then",
        arguments: [
            RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
            RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS, RD_KAFKA_RESP_ERR_POLICY_VIOLATION,
            RD_KAFKA_RESP_ERR_UNKNOWN,
        ])
    func refused(code: rd_kafka_resp_err_t) async throws {
        let name = String(cString: rd_kafka_err2str(code))
        try await onThread {
            let log = try TestLog(.mock)
            let topic = try log.makeTopic(1)
            let writer = try log.log.writer()
            try writer.append([record("before", topic: topic)])
            log.cluster?.fail(.produce, with: [code])
            let start = ContinuousClock.now
            let failure = #expect(throws: LogError.self) {
                try writer.append((0..<10).map { record("\($0)", topic: topic) })
            }
            #expect(failure?.description.contains(name) == true)
            // Its own time-out is two minutes.
            #expect(ContinuousClock.now - start < .seconds(40))
            try log.log.writer().append([record("after", topic: topic)])
            #expect(try log.records(of: topic).compactMap(\.text) == ["before", "after"])
        }
    }

    @Test("a record that is too large for its client is refused, and those before it stay in order")
    func tooLarge() async throws {
        try await onThread {
            let log = try TestLog(.mock, settings: ["message.max.bytes": "10000"])
            let topic = try log.makeTopic(1)
            let writer = try log.log.writer()
            let large = OutgoingRecord(
                topic: topic, key: nil, value: [UInt8](repeating: 7, count: 20_000))
            let failure = #expect(throws: LogError.self) {
                try writer.append([record("a", topic: topic), large, record("b", topic: topic)])
            }
            #expect(failure?.description.contains("too large") == true)
            try writer.append([record("c", topic: topic)])
            let texts = try log.records(of: topic).compactMap(\.text)
            #expect(texts == ["a", "c"] || texts == ["c"])
        }
    }
}
