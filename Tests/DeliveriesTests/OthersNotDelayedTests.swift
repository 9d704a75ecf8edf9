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
        let workspace = try DeliveryWorkspace([
            "away": "url: http://127.0.0.1:\(port)/\nallow_private: true\ntimeout_seconds: 60",
            "well": "url: \(well.url)/\nallow_private: true",
        ])
        try workspace.ingest(
            (0..<60).map {
                Documents.install(id: Documents.id($0), partner: $0 % 2 == 0 ? "away" : "well")
            })
        // Sooner than whoever is silent has not answered in time.
        try workspace.run { try workspace.states(partner: "well") == [.delivered: 30] }
        #expect(well.requests.count == 30)
        #expect(try workspace.states(partner: "away") == [.pending: 30])
        #expect(silent.requests.count <= 4)
    }

    @Test("after five failures to reach it a partner rests, then gets one probe, and rests longer")
    func breaker() throws {
        var breaker = Breaker()
        for _ in 0..<4 { breaker.update(isReached: false, nowMilliseconds: 0) }
        #expect(breaker.admits(nowMilliseconds: 0))
        breaker.update(isReached: false, nowMilliseconds: 0)
        #expect(breaker.isOpen)
        var now: Int64 = 0
        for pause: Int64 in [30, 60, 120, 240, 480, 960, 1800, 1800] {
            #expect(!breaker.admits(nowMilliseconds: now + pause * 1000 - 1))
            now += pause * 1000
            #expect(breaker.admits(nowMilliseconds: now))
            breaker.didSend()
            #expect(!breaker.admits(nowMilliseconds: now), "one probe at a time")
            breaker.update(isReached: false, nowMilliseconds: now)
        }
        now += 1_800_000
        breaker.didSend()
        breaker.update(isReached: true, nowMilliseconds: now)
        #expect(breaker == Breaker())
    }

    @Test(
        "a partner with much waiting is asked little while it is down, and all comes once it is back"
    )
    func recovery() throws {
        let workspace = try DeliveryWorkspace([
            "acme":
                "url: http://127.0.0.1:\(ScriptedPartner.closedPort)/\nallow_private: true\nconcurrency: 2"
        ])
        try workspace.ingest((0..<100).map { Documents.install(id: Documents.id($0)) })
        try workspace.sendDue()
        let attempts = try (0..<100).reduce(0) {
            $0 + (try workspace.store.history(of: Documents.id($1)).first?.attempts.count ?? 0)
        }
        #expect((5...6).contains(attempts), "\(attempts)")
        let next = try #require(try workspace.dispatcher.nextDueMilliseconds())
        #expect(next - workspace.clock.nowMilliseconds == 30_000)
        #expect(try workspace.states(partner: "acme") == [.pending: 100])
    }

    @Test(
        "no more requests are on their way than `concurrency`, nor sent in a second than the rate")
    func bounds() throws {
        let silent = try ScriptedPartner { _, _ in .silence }
        let quick = try ScriptedPartner()
        let workspace = try DeliveryWorkspace([
            "silent":
                "url: \(silent.url)/\nallow_private: true\nconcurrency: 3\ntimeout_seconds: 60",
            "quick": "url: \(quick.url)/\nallow_private: true\nrate_per_second: 5\nconcurrency: 64",
        ])
        try workspace.ingest(
            (0..<40).map {
                Documents.install(id: Documents.id($0), partner: $0 % 2 == 0 ? "silent" : "quick")
            })
        func runOn() throws {
            for _ in 0..<10 { try workspace.dispatcher.runOnce(waitMilliseconds: 20) }
        }
        try workspace.run { silent.requests.count >= 3 && quick.requests.count >= 5 }
        try runOn()
        #expect(silent.requests.count == 3)
        #expect(quick.requests.count == 5)
        workspace.clock.set(workspace.clock.nowMilliseconds + 999)
        try runOn()
        #expect(quick.requests.count == 5)
        workspace.clock.set(workspace.clock.nowMilliseconds + 1)
        try workspace.run { quick.requests.count >= 10 }
        try runOn()
        #expect(quick.requests.count == 10)
    }

    @Test("410 disables the partner: the others wait, until it is retried or its address changes")
    func gone() throws {
        let partner = try ScriptedPartner { _, number in .answer(number == 0 ? 410 : 200) }
        let workspace = try DeliveryWorkspace([
            "acme": "url: \(partner.url)/\nallow_private: true\nconcurrency: 1"
        ])
        try workspace.ingest((0..<3).map { Documents.install(id: Documents.id($0)) })
        try workspace.sendAll()
        #expect(partner.requests.count == 1)
        #expect(try workspace.states(partner: "acme") == [.dead: 1, .pending: 2])
        #expect(try workspace.store.disabledPartners().map(\.name) == ["acme"])

        try workspace.store.begin(
            ConfiguredPartners(urls: ["acme": "\(partner.url)/"]),
            nowMilliseconds: workspace.clock.nowMilliseconds)
        #expect(
            try workspace.store.disabledPartners().map(\.name) == ["acme"],
            "the address is the same")
        let retried = try workspace.store.retry(
            .partner("acme"), nowMilliseconds: workspace.clock.nowMilliseconds)
        #expect(retried == RetriedDeliveries(retried: 3, left: 0, enabled: ["acme"]))
        try workspace.sendAll()
        #expect(try workspace.states(partner: "acme") == [.delivered: 3])
    }

    @Test(
        "401 and 403 disable the partner too: nothing turns dead, no attempt is used up, and one retry sends all",
        arguments: [401, 403])
    func denied(status: Int) throws {
        let isLetIn = Mutex(false)
        let partner = try ScriptedPartner { _, _ in .answer(isLetIn.withLock { $0 } ? 200 : status)
        }
        let workspace = try DeliveryWorkspace([
            "acme": "url: \(partner.url)/\nallow_private: true\nconcurrency: 2"
        ])
        try workspace.ingest((0..<20).map { Documents.install(id: Documents.id($0)) })
        try workspace.sendAll()
        #expect(partner.requests.count == 2, "those that were on their way at once")
        #expect(try workspace.states(partner: "acme") == [.pending: 20])
        #expect(try workspace.store.deliveries(limit: 20).allSatisfy { $0.attempts == 0 })
        #expect(
            try workspace.store.disabledPartners() == [
                DisabledPartner(name: "acme", status: status)
            ])
        // Days later nothing has changed.
        workspace.clock.set(workspace.clock.nowMilliseconds + 10 * 86_400_000)
        try workspace.sendAll()
        #expect(partner.requests.count == 2)

        isLetIn.withLock { $0 = true }
        let retried = try workspace.store.retry(
            .partner("acme"), nowMilliseconds: workspace.clock.nowMilliseconds)
        #expect(retried == RetriedDeliveries(retried: 20, left: 0, enabled: ["acme"]))
        try workspace.sendAll()
        #expect(try workspace.states(partner: "acme") == [.delivered: 20])
    }

    @Test("what is for a partner without a url is held, sent nowhere, and sent once it has one")
    func off() throws {
        let partner = try ScriptedPartner()
        let workspace = try DeliveryWorkspace(["acme": "allow_private: true"])
        try workspace.ingest(Documents.install())
        #expect(try workspace.delivery().state == .held)
        #expect(try workspace.delivery().reason == "off: partners/acme.yaml has no url")
        func begin() throws {
            try workspace.store.begin(
                ConfiguredPartners(workspace.files.partners()),
                nowMilliseconds: workspace.clock.nowMilliseconds)
        }
        try begin()
        #expect(try workspace.delivery().state == .held)
        try workspace.files.add("acme", "url: \(partner.url)/\nallow_private: true")
        try begin()
        let dispatcher = Dispatcher(
            store: workspace.store, routes: try workspace.files.routes(), sender: workspace.sender,
            clock: workspace.clock, parser: try #require(.init()), attemptsOnce: true)
        try dispatcher.runOnce()
        while dispatcher.inFlightCount > 0 { try dispatcher.collect(waitMilliseconds: 50) }
        #expect(try workspace.delivery().state == .delivered)
        // A file that loses its url again says so of what waits.
        try workspace.ingest(Documents.install(id: Documents.id(1)))
        try workspace.files.add("acme", "allow_private: true")
        try begin()
        #expect(
            try workspace.delivery(Documents.id(1)).reason == "off: partners/acme.yaml has no url")
    }

    @Test("a partner that is disabled is enabled by another address in its file")
    func otherAddress() throws {
        let partner = try ScriptedPartner { _, _ in .answer(410) }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(Documents.install())
        try workspace.sendAll()
        try workspace.store.begin(
            ConfiguredPartners(urls: ["acme": "https://other.example/"]), nowMilliseconds: 1)
        #expect(try workspace.store.disabledPartners().isEmpty)
    }
}
