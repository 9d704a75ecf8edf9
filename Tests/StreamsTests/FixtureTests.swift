import EventLog
import Streams
import Testing

@Suite("Fixtures")
struct FixtureTests {
    private static let counts = [
        "bids": 5, "impressions": 5, "overlay-clicks": 4, "conversion-updates": 3, "postbacks": 3,
        "store-notifications": 8, "costs": 2,
    ]

    @Test(
        "the records of a fixture give its rows",
        arguments: counts.keys.sorted().flatMap { Fixture.all(of: $0) })
    func fixture(_ fixture: Fixture) throws {
        let document = try fixture.document()
        let records = try Fixture.records(of: document)
        let result =
            switch fixture.stream {
            case "postbacks": try foldPostbacks(records)
            case "store-notifications": try foldNotifications(records)
            case "bids": try foldBids(records)
            case "costs": try foldCosts(records)
            default:
                try #require(WindowedStream(rawValue: fixture.stream))
                    .fold(records, windowMilliseconds: 604_800_000)
            }
        Fixture.check(result, against: document["expected"] ?? [:])
    }

    @Test("the fixtures are there", arguments: counts)
    func present(_ stream: String, _ count: Int) { #expect(Fixture.all(of: stream).count >= count) }

    @Test(
        "notifications that are repeated change no number",
        arguments: Fixture.all(of: "store-notifications"))
    func repeated(_ fixture: Fixture) throws {
        let records = try Fixture.records(of: fixture.document())
        let result = try foldNotifications(records)
        let again = try foldNotifications(records + records)
        #expect(again.rows("store-notifications") == result.rows("store-notifications"))
        #expect(again.outcome(.accepted) == result.outcome(.accepted))
    }

    @Test("among them, those of notifications use every measure")
    func everyMeasure() throws {
        var used: Set<String> = []
        for fixture in Fixture.all(of: "store-notifications") {
            let rows = try fixture.document()["expected.store-notifications"]?.elements ?? []
            used.formUnion(rows.flatMap { $0.members.map(\.name) })
        }
        #expect(used.isSuperset(of: StoreNotificationsKey.table.measures))
    }
}

@Suite("What is known of an event before it is appended")
struct EventCheckTests {
    @Test(
        "is what the worker says of it: the same reason and words, or none",
        arguments: producedStreams.flatMap { Fixture.all(of: $0.streamName) })
    func sameAsWorker(_ fixture: Fixture) throws {
        let reader = try #require(RecordKeyReader())
        let stream = try #require(producedStreams.first { $0.streamName == fixture.stream })
        let windowed = WindowedStream(rawValue: fixture.stream)
        func fold(_ record: TestRecord) throws -> FoldResult {
            try windowed?.fold([record]) ?? foldCosts([record])
        }
        for record in try Fixture.records(of: fixture.document()) {
            // What no producer can send: no value, or another envelope.
            guard let value = record.value, record.headers.allSatisfy({ $0.name == "ce_type" })
            else { continue }
            let type = record.headers.first?.value.map { String(decoding: $0, as: UTF8.self) }
            let refused = try fold(record).refused.first
            let events: [KeyedEvent]
            do throws(Rejection) {
                events = try reader.events(
                    value, stream: stream, type: type ?? stream.defaultType,
                    at: record.timestamp)
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
                #expect(try fold(part).refused.isEmpty, "\(record)")
            }
        }
    }
}
