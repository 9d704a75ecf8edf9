import EventLog
import TestKit
import Testing

@Suite("Topics of a cluster", .enabled(if: TestCluster.realBrokers != nil))
struct KafkaTopicsTests {
    @Test("are created with the settings that are asked for, and tell them")
    func settings() throws {
        let log = try TestLog(.real)
        let name = try log.makeTopic(1) + "-settings"
        log.own(name)
        let wanted = [
            "cleanup.policy": "compact,delete", "retention.ms": "604800000",
            "max.message.bytes": "2097152",
        ]
        let settings = wanted.merging(["replicas": "1"]) { left, _ in left }
        #expect(try log.log.createTopic(name, partitionCount: 3, settings: settings))
        #expect(try !log.log.createTopic(name, partitionCount: 3, settings: settings))
        let topic = try #require(try log.log.topics().first { $0.name == name })
        #expect(topic.partitionCount == 3)
        #expect(topic.replicaCount == 1)
        let found = try #require(try log.log.settings(ofTopic: name))
        for (key, value) in wanted { #expect(found[key] == value) }
        #expect(found["message.timestamp.type"] == "LogAppendTime")
        #expect(throws: LogError.self) {
            try log.log.createTopic(
                name + "-bad", partitionCount: 1, settings: ["no.such.setting": "1"])
        }
    }
}
