import Streams
import Testing
import Worker

@testable import weir

@Suite("Topics that workers create")
struct EmittedTopicTests {
    @Test("have the settings that the shipped topics describe, so that there is no drift")
    func settings() throws {
        let described = try TopicDirectory(Repository.path("topics")).topics()
        let emitted =
            [EmittedTopic.partnerPostbacks(named: "partner-postbacks")]
            + allStreams.map { .deadLetters(ofTopic: $0.streamName, stream: $0) }
        for topic in emitted {
            let found = try #require(described.first { $0.name == topic.name }, "\(topic.name)")
            #expect(found.creationSettings == topic.settings, "\(topic.name)")
        }
    }
}
