import Foundation
import Store
import Synchronization
import TestKit
import Testing

@testable import Deliveries

@Suite("Partners that are away", .serialized)
struct OthersNotDelayedTests {
    @Test("one that is silent or down delays nobody else", arguments: [true, false])
    func others(isSilent: Bool) throws {
        let well = try ScriptedPartner()
        let silent = try ScriptedPartner { _, _ in .silence }
        let port = isSilent ? Int(silent.port) : ScriptedPartner.closedPort
        let place = try DeliveryPlace([
            "away": "url: http://127.0.0.1:\(port)/\nallow_private: true\ntimeout_seconds: 60",
            "well": "url: \(well.url)/\nallow_private: true",
        ])
        try place.ingest(
            (0..<60).map {
                Documents.install(id: Documents.id($0), partner: $0 % 2 == 0 ? "away" : "well")
            })
        // Sooner than whoever is silent has not answered in time.
        try place.turn { try place.states(partner: "well") == [.delivered: 30] }
        #expect(well.requests.count == 30)
        #expect(try place.states(partner: "away") == [.pending: 30])
        #expect(silent.requests.count <= 4)
    }

    @Test("after five failures to reach it a partner rests, then gets one probe, and rests longer")
    func breaker() throws {
        var breaker = Breaker()
        for _ in 0..<4 { breaker.note(isReached: false, nowMilliseconds: 0) }
        #expect(breaker.admits(nowMilliseconds: 0))
        breaker.note(isReached: false, nowMilliseconds: 0)
        #expect(breaker.isOpen)
        var now: Int64 = 0
        for pause: Int64 in [30, 60, 120, 240, 480, 960, 1800, 1800] {
            #expect(!breaker.admits(nowMilliseconds: now + pause * 1000 - 1))
            now += pause * 1000
            #expect(breaker.admits(nowMilliseconds: now))
            breaker.noteSent()
            #expect(!breaker.admits(nowMilliseconds: now), "one probe at a time")
            breaker.note(isReached: false, nowMilliseconds: now)
        }
        now += 1_800_000
        breaker.noteSent()
        breaker.note(isReached: true, nowMilliseconds: now)
        #expect(breaker == Breaker())
    }

    @Test(
        "a partner with much waiting is asked little while it is down, and all comes once it is back"
    )
    func recovery() throws {
        let place = try DeliveryPlace([
            "acme":
                "url: http://127.0.0.1:\(ScriptedPartner.closedPort)/\nallow_private: true\nconcurrency: 2"
        ])
        try place.ingest((0..<100).map { Documents.install(id: Documents.id($0)) })
        try place.sendDue()
        let attempts = try (0..<100).reduce(0) {
            $0 + (try place.store.history(of: Documents.id($1)).first?.attempts.count ?? 0)
        }
        #expect((5...6).contains(attempts), "\(attempts)")
        let next = try #require(try place.dispatcher.nextDueMilliseconds())
        #expect(next - place.clock.nowMilliseconds == 30_000)
        #expect(try place.states(partner: "acme") == [.pending: 100])
    }

    @Test(
        "no more requests are on their way than `concurrency`, nor sent in a second than the rate")
    func bounds() throws {
        let silent = try ScriptedPartner { _, _ in .silence }
        let quick = try ScriptedPartner()
        let place = try DeliveryPlace([
            "silent":
                "url: \(silent.url)/\nallow_private: true\nconcurrency: 3\ntimeout_seconds: 60",
            "quick": "url: \(quick.url)/\nallow_private: true\nrate_per_second: 5\nconcurrency: 64",
        ])
        try place.ingest(
            (0..<40).map {
                Documents.install(id: Documents.id($0), partner: $0 % 2 == 0 ? "silent" : "quick")
            })
        func turnOn() throws {
            for _ in 0..<10 { try place.dispatcher.turn(waitMilliseconds: 20) }
        }
        try place.turn { silent.requests.count >= 3 && quick.requests.count >= 5 }
        try turnOn()
        #expect(silent.requests.count == 3)
        #expect(quick.requests.count == 5)
        place.clock.set(place.clock.nowMilliseconds + 999)
        try turnOn()
        #expect(quick.requests.count == 5)
        place.clock.set(place.clock.nowMilliseconds + 1)
        try place.turn { quick.requests.count >= 10 }
        try turnOn()
        #expect(quick.requests.count == 10)
    }

    @Test("410 disables the partner: the others wait, until it is retried or its address changes")
    func gone() throws {
        let partner = try ScriptedPartner { _, number in .answer(number == 0 ? 410 : 200) }
        let place = try DeliveryPlace([
            "acme": "url: \(partner.url)/\nallow_private: true\nconcurrency: 1"
        ])
        try place.ingest((0..<3).map { Documents.install(id: Documents.id($0)) })
        try place.sendAll()
        #expect(partner.requests.count == 1)
        #expect(try place.states(partner: "acme") == [.dead: 1, .pending: 2])
        #expect(try place.store.disabledPartners().map(\.name) == ["acme"])

        try place.store.begin(
            KnownPartners(urls: ["acme": "\(partner.url)/"]),
            nowMilliseconds: place.clock.nowMilliseconds)
        #expect(
            try place.store.disabledPartners().map(\.name) == ["acme"], "the address is the same")
        let retried = try place.store.retry(
            .partner("acme"), nowMilliseconds: place.clock.nowMilliseconds)
        #expect(retried == RetriedDeliveries(retried: 3, left: 0, enabled: ["acme"]))
        try place.sendAll()
        #expect(try place.states(partner: "acme") == [.delivered: 3])
    }

    @Test(
        "401 and 403 disable the partner too: nothing turns dead, no attempt is used up, and one retry sends all",
        arguments: [401, 403])
    func denied(status: Int) throws {
        let isLetIn = Mutex(false)
        let partner = try ScriptedPartner { _, _ in .answer(isLetIn.withLock { $0 } ? 200 : status)
        }
        let place = try DeliveryPlace([
            "acme": "url: \(partner.url)/\nallow_private: true\nconcurrency: 2"
        ])
        try place.ingest((0..<20).map { Documents.install(id: Documents.id($0)) })
        try place.sendAll()
        #expect(partner.requests.count == 2, "those that were on their way at once")
        #expect(try place.states(partner: "acme") == [.pending: 20])
        #expect(try place.store.deliveries(limit: 20).allSatisfy { $0.attempts == 0 })
        #expect(
            try place.store.disabledPartners() == [DisabledPartner(name: "acme", status: status)])
        // Days later nothing has changed.
        place.clock.set(place.clock.nowMilliseconds + 10 * 86_400_000)
        try place.sendAll()
        #expect(partner.requests.count == 2)

        isLetIn.withLock { $0 = true }
        let retried = try place.store.retry(
            .partner("acme"), nowMilliseconds: place.clock.nowMilliseconds)
        #expect(retried == RetriedDeliveries(retried: 20, left: 0, enabled: ["acme"]))
        try place.sendAll()
        #expect(try place.states(partner: "acme") == [.delivered: 20])
    }

    @Test("what is for a partner without a url is held, sent nowhere, and sent once it has one")
    func off() throws {
        let partner = try ScriptedPartner()
        let place = try DeliveryPlace(["acme": "allow_private: true"])
        try place.ingest(Documents.install())
        #expect(try place.delivery().state == .held)
        #expect(try place.delivery().reason == "off: partners/acme.yaml has no url")
        func begin() throws {
            try place.store.begin(
                KnownPartners(place.files.partners()), nowMilliseconds: place.clock.nowMilliseconds)
        }
        try begin()
        #expect(try place.delivery().state == .held)
        try place.files.add("acme", "url: \(partner.url)/\nallow_private: true")
        try begin()
        let dispatcher = Dispatcher(
            store: place.store, routes: try place.files.routes(), sender: place.sender,
            clock: place.clock, parser: try #require(.init()), attemptsOnce: true)
        try dispatcher.turn()
        while dispatcher.inFlightCount > 0 { try dispatcher.collect(waitMilliseconds: 50) }
        #expect(try place.delivery().state == .delivered)
        // A file that loses its url again says so of what waits.
        try place.ingest(Documents.install(id: Documents.id(1)))
        try place.files.add("acme", "allow_private: true")
        try begin()
        #expect(try place.delivery(Documents.id(1)).reason == "off: partners/acme.yaml has no url")
    }

    @Test("a partner that is disabled is enabled by another address in its file")
    func otherAddress() throws {
        let partner = try ScriptedPartner { _, _ in .answer(410) }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(Documents.install())
        try place.sendAll()
        try place.store.begin(
            KnownPartners(urls: ["acme": "https://other.example/"]), nowMilliseconds: 1)
        #expect(try place.store.disabledPartners().isEmpty)
    }
}
