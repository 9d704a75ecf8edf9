import Foundation
import GRDB
import Store
import Synchronization
import TestKit
import Testing

@testable import Deliveries

@Suite("Partners that ask for a pause", .serialized)
struct RestTests {
    /// What a partner answers, for as long as it is not told otherwise.
    private final class Mood: Sendable {
        private let reaction: Mutex<ScriptedPartner.Reaction>

        init(_ reaction: ScriptedPartner.Reaction) { self.reaction = Mutex(reaction) }

        func set(_ new: ScriptedPartner.Reaction) { reaction.withLock { $0 = new } }
        var current: ScriptedPartner.Reaction { reaction.withLock { $0 } }
    }

    private func documents(_ count: Int, partner: String = "acme", from: Int = 0) -> [String] {
        (from..<from + count).map { Documents.install(id: Documents.id($0), partner: partner) }
    }

    private func attempts(_ place: DeliveryPlace, _ count: Int) throws -> [Int] {
        try (0..<count).map { try place.delivery(Documents.id($0)).attempts }
    }

    @Test(
        "nothing more is sent until then, one probe decides, and no document that was not sent has lost an attempt",
        arguments: [
            (429, "Retry-After: 7200", 7_200_000), (503, "Retry-After: 7200", 7_200_000),
            (429, "X: y", 5000),
        ] as [(Int, String, Int64)])
    func pause(status: Int, header: String, milliseconds: Int64) throws {
        let mood = Mood(.answer(status, [header]))
        let partner = try ScriptedPartner { _, _ in mood.current }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(documents(40))
        try place.sendDue()
        let start = place.clock.nowMilliseconds
        #expect(partner.requests.count == 4, "those that were on their way at once")
        #expect(try place.dispatcher.nextDueMilliseconds() == start + milliseconds)

        place.clock.set(start + milliseconds - 1)
        try place.sendDue()
        #expect(partner.requests.count == 4)
        #expect(try attempts(place, 40).reduce(0, +) == 4)

        place.clock.set(start + milliseconds)
        try place.sendDue()
        #expect(partner.requests.count == 5, "one probe, which was told to wait again")
        let next = try #require(try place.dispatcher.nextDueMilliseconds())
        #expect(next == start + milliseconds + max(milliseconds, min(milliseconds * 2, 1_800_000)))

        mood.set(.answer(200))
        place.clock.set(next)
        try place.sendAll()
        #expect(try place.states(partner: "acme") == [.delivered: 40])
        #expect(try attempts(place, 40).reduce(0, +) == 45)
        #expect(try place.store.restingPartners().isEmpty)
    }

    @Test("a 503 that names no time, and a 500, let the other documents go on")
    func failures() throws {
        let partner = try ScriptedPartner { _, number in
            .answer(number == 0 ? 503 : number == 1 ? 500 : 200)
        }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(documents(20))
        try place.sendDue()
        #expect(partner.requests.count == 20)
        #expect(try place.states(partner: "acme") == [.delivered: 18, .pending: 2])
    }

    @Test("the others are sent theirs meanwhile")
    func others() throws {
        let busy = try ScriptedPartner { _, _ in .answer(429, ["Retry-After: 7200"]) }
        let well = try ScriptedPartner()
        let place = try DeliveryPlace([
            "busy": "url: \(busy.url)/\nallow_private: true",
            "well": "url: \(well.url)/\nallow_private: true",
        ])
        try place.ingest(documents(30, partner: "busy") + documents(30, partner: "well", from: 30))
        try place.sendDue()
        #expect(busy.requests.count == 4)
        #expect(try place.states(partner: "well") == [.delivered: 30])
    }

    @Test("a pause is kept over a restart, and ended by another address")
    func restart() throws {
        let partner = try ScriptedPartner { _, _ in .answer(429, ["Retry-After: 600"]) }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(documents(10))
        try place.sendDue()
        func restarted(_ url: String) throws -> Dispatcher {
            try place.store.begin(
                KnownPartners(urls: ["acme": url]), nowMilliseconds: place.clock.nowMilliseconds)
            let dispatcher = Dispatcher(
                store: place.store, routes: try place.files.routes(), sender: place.sender,
                clock: place.clock, parser: try #require(.init()), attemptsOnce: false)
            try dispatcher.resume()
            return dispatcher
        }
        #expect(try restarted("\(partner.url)/").turn() == 0)
        #expect(try restarted("https://other.example/").turn() == 4)
    }

    @Test("a partner that could not be reached is tried again by a restart")
    func away() throws {
        let place = try DeliveryPlace([
            "acme": "url: http://127.0.0.1:\(ScriptedPartner.closedPort)/\nallow_private: true"
        ])
        try place.ingest(documents(10))
        try place.sendDue()
        #expect(try place.store.restingPartners()["acme"]?.cause == .away)
        try place.store.begin(KnownPartners(urls: ["acme": "x"]), nowMilliseconds: 0)
        #expect(try place.store.restingPartners().isEmpty)
    }

    @Test(
        "what waits for its next attempt is sent at once when it is retried, by a worker that runs",
        arguments: [DeliverySelection.partner("acme"), .id(Documents.id(0))])
    func retried(_ selection: DeliverySelection) throws {
        let mood = Mood(.answer(429, ["Retry-After: 7200"]))
        let partner = try ScriptedPartner { _, _ in mood.current }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(documents(10))
        try place.sendDue()
        mood.set(.answer(200))
        try place.sendDue()
        #expect(partner.requests.count == 4)

        let operators = try DeliveryStore(existing: place.store.path)
        let retried = try operators.retry(selection, nowMilliseconds: place.clock.nowMilliseconds)
        #expect(retried.awakened == ["acme"])
        #expect(retried.retried == (selection == .partner("acme") ? 10 : 1))
        try place.sendDue()
        // The other three that were told to wait have their own next attempt, two hours later.
        #expect(
            try place.states(partner: "acme")
                == (selection == .partner("acme")
                    ? [.delivered: 10] : [.delivered: 7, .pending: 3]))
    }

    @Test("a breaker that is open is closed by a retry too, and by --all-dead it is not")
    func breaker() throws {
        let place = try DeliveryPlace([
            "acme": "url: http://127.0.0.1:\(ScriptedPartner.closedPort)/\nallow_private: true"
        ])
        try place.ingest(documents(10))
        try place.sendDue()
        let before = try attempts(place, 10).reduce(0, +)
        #expect(try place.store.retry(.allDead, nowMilliseconds: 0).awakened.isEmpty)
        try place.sendDue()
        #expect(try attempts(place, 10).reduce(0, +) == before)
        let retried = try place.store.retry(
            .partner("acme"), nowMilliseconds: place.clock.nowMilliseconds)
        #expect(retried == RetriedDeliveries(retried: 10, left: 0, awakened: ["acme"]))
        #expect(try attempts(place, 10).reduce(0, +) == 0)
        try place.sendDue()
        #expect(try attempts(place, 10).reduce(0, +) > 0)
    }

    @Test("an answer to what was sent before the pause neither ends nor shortens it")
    func earlierAnswers() {
        var breaker = Breaker()
        breaker.note(pauseAskedMilliseconds: 60_000, nowMilliseconds: 0)
        breaker.note(isReached: true, nowMilliseconds: 10)
        breaker.note(isReached: false, nowMilliseconds: 10)
        breaker.note(pauseAskedMilliseconds: 1000, nowMilliseconds: 20)
        #expect(breaker.rest?.untilMilliseconds == 60_000)
        breaker.note(pauseAskedMilliseconds: 90_000, nowMilliseconds: 30)
        #expect(breaker.rest?.untilMilliseconds == 90_030)
        #expect(breaker.admits(nowMilliseconds: 90_030))
        breaker.noteSent()
        breaker.note(isReached: false, nowMilliseconds: 90_040)
        #expect(breaker.rest?.cause == .away)
        #expect(breaker.rest?.untilMilliseconds == 120_040)
        breaker.noteSent()
        breaker.note(isReached: true, nowMilliseconds: 120_050)
        #expect(breaker == Breaker())
    }

    @Test("a pause that is asked for after the clock has gone back is kept")
    func askedAfterClockWentBack() {
        var breaker = Breaker()
        breaker.note(pauseAskedMilliseconds: 60_000, nowMilliseconds: 10_000_000)
        breaker.note(pauseAskedMilliseconds: 60_000, nowMilliseconds: 4_000_000)
        #expect(breaker.rest?.untilMilliseconds == 4_060_000)
        #expect(!breaker.admits(nowMilliseconds: 4_059_999))
        #expect(breaker.admits(nowMilliseconds: 4_060_000))
    }

    @Test("a pause that is asked for after an operator has ended a longer one is kept")
    func askedAfterRetry() throws {
        let isRetried = Mutex(false)
        let partner = try ScriptedPartner { _, number in
            switch number {
            case 0: return .answer(429, ["Retry-After: 7200"])
            case 3:
                Wait.until { isRetried.withLock { $0 } }
                return .answer(429, ["Retry-After: 60"])
            default: return .answer(200)
            }
        }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(documents(10))
        try place.turn(until: { place.dispatcher.inFlightCount == 1 })
        let now = place.clock.nowMilliseconds
        #expect(try place.store.restingPartners()["acme"]?.untilMilliseconds == now + 7_200_000)
        _ = try place.store.retry(.partner("acme"), nowMilliseconds: now)
        isRetried.withLock { $0 = true }
        try place.dispatcher.collect(waitMilliseconds: 10_000)
        try place.sendDue()
        #expect(partner.requests.count == 4)
        #expect(try place.store.restingPartners()["acme"]?.untilMilliseconds == now + 60_000)
    }

    @Test("a pause of no time at all is a second, and doubles while the partner goes on so")
    func shortest() {
        var breaker = Breaker()
        var now: Int64 = 0
        for seconds: Int64 in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1800, 1800] {
            breaker.note(pauseAskedMilliseconds: 0, nowMilliseconds: now)
            #expect(breaker.rest?.pauseMilliseconds == seconds * 1000)
            now += seconds * 1000
            breaker.noteSent()
        }
    }

    @Test("a store of an earlier version is taken on, with what is in it", arguments: [1, 2])
    func migration(version: Int) throws {
        let place = try DeliveryPlace(["acme": "url: https://acme.example/"])
        try place.ingest(documents(3))
        let file = try DatabaseQueue(path: place.store.path)
        try file.write {
            try $0.execute(
                sql: """
                    ALTER TABLE store DROP COLUMN identity; DROP TABLE disabled_partners;
                    ALTER TABLE partitions DROP COLUMN last_record;
                    ALTER TABLE partitions DROP COLUMN known_offset;
                    ALTER TABLE partitions DROP COLUMN known_record;
                    CREATE TABLE disabled_partners (
                      -- Partners that answered 410.
                      name TEXT PRIMARY KEY,
                      disabled_ms INTEGER NOT NULL,
                      url TEXT NOT NULL -- the address in the partner's file
                    ) STRICT, WITHOUT ROWID;
                    INSERT INTO disabled_partners VALUES ('gone', 0, 'x');
                    PRAGMA user_version = \(version)
                    """)
            if version == 1 { try $0.execute(sql: "DROP TABLE resting_partners") }
        }
        for _ in 0..<2 {
            let store = try DeliveryStore(existing: place.store.path)
            #expect(try store.restingPartners().isEmpty)
            #expect(try store.disabledPartners() == [DisabledPartner(name: "gone", status: 410)])
            #expect(try store.deliveries(limit: 10).count == 3)
        }
    }
}
