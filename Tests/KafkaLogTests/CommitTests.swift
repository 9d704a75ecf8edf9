import EventLog
import Foundation
import MockKafka
import Testing

@testable import KafkaLog

@Suite("Offsets of a group")
struct CommitTests {
    @Test("that do not change are committed again after a while, since brokers forget old ones")
    func repeated() async throws {
        try await onThread {
            let test = try TestLog(.preferred)
            let topic = try test.makeTopic(1)
            let log = try #require(test.log as? KafkaLog)
            let group = "group-of-\(topic)"
            let commits = KafkaCommits(
                of: try log.openConsumer(group: group), topic: topic, repetition: .seconds(8))
            try commits.commit([0: 5])
            // As a broker that forgets it would, another one changes what it knows.
            let other = KafkaCommits(of: try log.openConsumer(group: group), topic: topic)
            try other.commit([0: 3])
            let reader = try log.reader(topic: topic, group: group)
            defer { reader.close() }
            try commits.commit([0: 5])
            #expect(try reader.committedOffsets() == [0: 3])
            Thread.sleep(forTimeInterval: 8.1)
            try commits.commit([0: 5])
            try commits.settle(.seconds(60))
            #expect(try reader.committedOffsets() == [0: 5])
        }
    }
}
