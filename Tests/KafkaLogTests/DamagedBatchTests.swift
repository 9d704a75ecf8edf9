import EventLog
import Foundation
import MockKafka
import Testing

@Suite("A damaged batch of records")
struct DamagedBatchTests {
    private func log(_ settings: [String: String] = [:]) throws -> (log: TestLog, topic: String) {
        let log = try TestLog(.mock, settings: settings)
        let topic = try log.makeTopic(1)
        let cluster = try #require(log.cluster)
        cluster.setLeader(1, of: topic, 0)
        let writer = try log.log.writer()
        try writer.append([record("a", topic: topic), record("b", topic: topic)])
        try DamagedBatch(topic: topic, partition: 0).append(to: cluster.brokers[0])
        try writer.append([record("c", topic: topic)])
        return (log, topic)
    }

    @Test("is never taken for records: reading fails, and says where it lies")
    func refused() async throws {
        try await onThread {
            let (log, topic) = try log()
            let failure = #expect(throws: LogError.self) { try log.records(of: topic) }
            let place = TopicPartition(topic: topic, partition: 0)
            #expect(failure == .corrupt(place, offset: 2, address: log.log.address))
            #expect(
                failure?.description.hasPrefix(
                    "\(topic)/0 holds a damaged batch of records at offset 2") == true)
        }
    }

    @Test("is read where kafka.yaml says that checksums are not looked at")
    func unchecked() async throws {
        try await onThread {
            let (log, topic) = try log(["check.crcs": "false"])
            #expect(try log.records(of: topic).map(\.text) == ["a", "b", "v", "v", "c"])
        }
    }
}
