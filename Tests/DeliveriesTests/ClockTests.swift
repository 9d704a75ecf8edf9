import EmbeddedLog
import EventLog
import Foundation
import JSON
import Logging
import Program
import TestKit
import Testing

@testable import Deliveries

@Suite("A clock that was ahead", .serialized)
struct ClockTests {
    private static let days: Int64 = 86_400_000

    /// A loop by the place's clock that is given no partition: what is delivered is taken over by the test.
    private func loop(_ place: DeliveryPlace) throws -> DeliveryLoop {
        let log = try EmbeddedLog(path: place.files.path + "/log.sqlite", mode: .create)
        try log.createTopic("partner-postbacks", partitionCount: 1)
        let reader = try log.reader(topic: "partner-postbacks", group: nil)
        return DeliveryLoop(
            store: place.store, reader: reader, dispatcher: place.dispatcher,
            partners: KnownPartners(try place.files.partners()), parser: try #require(JSONParser()),
            clock: place.clock,
            settings: .init(
                assignment: .partitions([]), untilEnd: false, batchRecords: 10,
                maxRecordBytes: 1 << 20,
                waitMilliseconds: 1), stop: StopSignal(), logger: Logger(label: "test"),
            openReader: { try log.lookingReader(topic: "partner-postbacks") })
    }

    private func turn(_ loop: DeliveryLoop, until isSo: () throws -> Bool) throws {
        let isInTime = try Wait.until {
            _ = try loop.turn()
            return try isSo()
        }
        try #require(isInTime, "what was waited for did not come to be")
    }

    @Test(
        "what it set is due once it is right again, at the next start and while the program runs",
        arguments: [30 * days, days / 4], [true, false])
    func deliveries(ahead: Int64, isRunning: Bool) throws {
        let partner = try ScriptedPartner { _, number in .answer(number < 2 ? 500 : 200) }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        let now = place.clock.nowMilliseconds
        place.clock.set(now + ahead)
        var loop = try loop(place)
        try place.ingest((0..<2).map { Documents.install(id: Documents.id($0)) })
        try turn(loop) { partner.requests.count == 2 && place.dispatcher.inFlightCount == 0 }
        // Taken over by the wrong clock, and not sent yet.
        try place.ingest(Documents.install(id: Documents.id(2)))
        place.clock.set(now)
        let misplaced = try place.store.misplaced(nowMilliseconds: now)
        #expect(misplaced.map(\.partner) == ["acme"])
        #expect(misplaced.first?.count == 3)
        #expect((misplaced.first?.untilMilliseconds ?? 0) >= now + ahead)
        if !isRunning { loop = try self.loop(place) }
        try turn(loop) { try place.states(partner: "acme") == [.delivered: 3] }
        #expect(partner.requests.count == 5)
        #expect(try place.store.misplaced(nowMilliseconds: now).isEmpty)
    }

    @Test(
        "what was brought back is put off by the right clock from then on, however often the program starts"
    )
    func onceOnly() throws {
        let partner = try ScriptedPartner { _, _ in .answer(500) }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        let now = place.clock.nowMilliseconds
        place.clock.set(now + 30 * Self.days)
        try place.ingest(Documents.install())
        var loop = try loop(place)
        try turn(loop) { partner.requests.count == 1 && place.dispatcher.inFlightCount == 0 }
        place.clock.set(now)
        try turn(loop) { partner.requests.count == 2 && place.dispatcher.inFlightCount == 0 }
        let next = try place.delivery().nextAttemptMilliseconds
        for _ in 0..<3 {
            #expect(try place.store.misplaced(nowMilliseconds: now).isEmpty)
            loop = try self.loop(place)
            for _ in 0..<3 { _ = try loop.turn() }
        }
        #expect(partner.requests.count == 2)
        #expect(try place.delivery().nextAttemptMilliseconds == next)
    }

    @Test("what the schedule has put off is not touched, a day of Retry-After included")
    func schedule() throws {
        let partner = try ScriptedPartner { _, _ in .answer(500, ["Retry-After: 86400"]) }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(Documents.install())
        let loop = try loop(place)
        let now = place.clock.nowMilliseconds
        try turn(loop) { partner.requests.count == 1 && place.dispatcher.inFlightCount == 0 }
        #expect(try place.delivery().nextAttemptMilliseconds == now + Self.days)
        // Clocks are set by seconds every day.
        for back: Int64 in [0, 5000, 59_000] {
            place.clock.set(now - back)
            #expect(try place.store.misplaced(nowMilliseconds: now - back).isEmpty)
            #expect(try place.store.bringBack(nowMilliseconds: now - back) == 0)
        }
        #expect(RetrySchedule.longestPauseMilliseconds >= 86_400_000 / 10 * 11)
    }

    @Test("a partner rests for no longer than its pause, and a rate holds nothing up")
    func rests() throws {
        let partner = try ScriptedPartner { _, number in
            number == 0 ? .answer(429, ["Retry-After: 60"]) : .answer(200)
        }
        let place = try DeliveryPlace([
            "acme": "url: \(partner.url)/\nallow_private: true\nrate_per_second: 1\nconcurrency: 1"
        ])
        let now = place.clock.nowMilliseconds
        place.clock.set(now + 30 * Self.days)
        try place.ingest((0..<3).map { Documents.install(id: Documents.id($0)) })
        let loop = try loop(place)
        try turn(loop) { partner.requests.count == 1 && place.dispatcher.inFlightCount == 0 }
        #expect(try place.store.restingPartners()["acme"] != nil)
        place.clock.set(now)
        try turn(loop) { partner.requests.count >= 2 }
        place.clock.set(now + 1000)
        try turn(loop) { partner.requests.count >= 3 }
        #expect(try place.store.bringBack(nowMilliseconds: now) == 0)
    }
}
