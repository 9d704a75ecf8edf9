import Testing
import Worker

@testable import weir

@Suite("Topics that workers create")
struct EmittedTopicTests {
    @Test("have the settings that the shipped topics describe, so that there is no drift")
    func settings() throws {
        let described = try TopicDirectory(Repository.path("topics")).topics()
        let streams = ["bids", "impressions", "overlay-clicks", "postbacks", "store-notifications"]
        let emitted =
            [EmittedTopic.partnerPostbacks(named: "partner-postbacks")]
            + streams.map { EmittedTopic.deadLetters(ofTopic: $0, stream: $0) }
        for topic in emitted {
            let found = try #require(described.first { $0.name == topic.name }, "\(topic.name)")
            #expect(found.creationSettings == topic.settings, "\(topic.name)")
        }
    }
}
