import EventLog
import Streams
import Testing

@Suite("What is known of an event before it is appended")
struct EventCheckTests {
    @Test(
        "is what the worker says of it: the same reason and words, or none",
        arguments: ["bids", "impressions", "overlay-clicks"].flatMap { Fixture.all(of: $0) })
    func sameAsWorker(_ fixture: Fixture) throws {
        let reader = try #require(RecordKeyReader())
        let topic = try #require(ProducerTopic(rawValue: fixture.stream))
        for record in try Fixture.records(of: fixture.document()) {
            // What no producer can send: no value, or another envelope.
            guard let value = record.value, record.headers.allSatisfy({ $0.name == "ce_type" })
            else { continue }
            let type = record.headers.first?.value.map { String(decoding: $0, as: UTF8.self) }
            let refused = try Self.fold(record, topic).refused.first
            let events: [KeyedEvent]
            do throws(Rejection) {
                events = try reader.events(value, topic: topic, type: type ?? topic.defaultType)
            } catch {
                #expect(error.reason.name == refused?.reason, "\(record)")
                // Of several topics, it has to say which has no such type.
                if error.reason != .unknownType {
                    #expect(error.detail == refused?.detail, "\(record)")
                }
                continue
            }
            // The worker has to take each of the parts that are appended.
            for event in events {
                var part = record
                part.value = event.value ?? value
                #expect(try Self.fold(part, topic).refused.isEmpty, "\(record)")
            }
        }
    }

    private static func fold(_ record: TestRecord, _ topic: ProducerTopic) throws -> FoldResult {
        switch topic {
        case .bids: try foldBids([record])
        case .impressions: try foldImpressions([record])
        case .overlayClicks: try foldOverlayClicks([record])
        }
    }
}
