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

    private func attempts(_ workspace: DeliveryWorkspace, _ count: Int) throws -> [Int] {
        try (0..<count).map { try workspace.delivery(Documents.id($0)).attempts }
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
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(documents(40))
        try workspace.sendDue()
        let start = workspace.clock.nowMilliseconds
        #expect(partner.requests.count == 4, "those that were on their way at once")
        #expect(try workspace.dispatcher.nextDueMilliseconds() == start + milliseconds)

        workspace.clock.set(start + milliseconds - 1)
        try workspace.sendDue()
        #expect(partner.requests.count == 4)
        #expect(try attempts(workspace, 40).reduce(0, +) == 4)

        workspace.clock.set(start + milliseconds)
        try workspace.sendDue()
        #expect(partner.requests.count == 5, "one probe, which was told to wait again")
        let next = try #require(try workspace.dispatcher.nextDueMilliseconds())
        #expect(next == start + milliseconds + max(milliseconds, min(milliseconds * 2, 1_800_000)))

        mood.set(.answer(200))
        workspace.clock.set(next)
        try workspace.sendAll()
        #expect(try workspace.states(partner: "acme") == [.delivered: 40])
        #expect(try attempts(workspace, 40).reduce(0, +) == 45)
        #expect(try workspace.store.restingPartners().isEmpty)
    }

    @Test("a 503 that names no time, and a 500, let the other documents go on")
    func failures() throws {
        let partner = try ScriptedPartner { _, number in
            .answer(number == 0 ? 503 : number == 1 ? 500 : 200)
        }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(documents(20))
        try workspace.sendDue()
        #expect(partner.requests.count == 20)
        #expect(try workspace.states(partner: "acme") == [.delivered: 18, .pending: 2])
    }

    @Test("the others are sent theirs meanwhile")
    func others() throws {
        let busy = try ScriptedPartner { _, _ in .answer(429, ["Retry-After: 7200"]) }
        let well = try ScriptedPartner()
        let workspace = try DeliveryWorkspace([
            "busy": "url: \(busy.url)/\nallow_private: true",
            "well": "url: \(well.url)/\nallow_private: true",
        ])
        try workspace.ingest(
            documents(30, partner: "busy") + documents(30, partner: "well", from: 30))
        try workspace.sendDue()
        #expect(busy.requests.count == 4)
        #expect(try workspace.states(partner: "well") == [.delivered: 30])
    }

    @Test("a pause is kept over a restart, and ended by another address")
    func restart() throws {
        let partner = try ScriptedPartner { _, _ in .answer(429, ["Retry-After: 600"]) }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(documents(10))
        try workspace.sendDue()
        func restarted(_ url: String) throws -> Dispatcher {
            try workspace.store.begin(
                ConfiguredPartners(urls: ["acme": url]),
                nowMilliseconds: workspace.clock.nowMilliseconds)
            let dispatcher = Dispatcher(
                store: workspace.store, routes: try workspace.files.routes(),
                sender: workspace.sender,
                clock: workspace.clock, parser: try #require(.init()), attemptsOnce: false)
            try dispatcher.resume()
            return dispatcher
        }
        #expect(try restarted("\(partner.url)/").runOnce() == 0)
        #expect(try restarted("https://other.example/").runOnce() == 4)
    }

    @Test("a partner that could not be reached is tried again by a restart")
    func away() throws {
        let workspace = try DeliveryWorkspace([
            "acme": "url: http://127.0.0.1:\(ScriptedPartner.closedPort)/\nallow_private: true"
        ])
        try workspace.ingest(documents(10))
        try workspace.sendDue()
        #expect(try workspace.store.restingPartners()["acme"]?.cause == .away)
        try workspace.store.begin(ConfiguredPartners(urls: ["acme": "x"]), nowMilliseconds: 0)
        #expect(try workspace.store.restingPartners().isEmpty)
    }

    @Test(
        "what waits for its next attempt is sent at once when it is retried, by a worker that runs",
        arguments: [DeliverySelection.partner("acme"), .id(Documents.id(0))])
    func retried(_ selection: DeliverySelection) throws {
        let mood = Mood(.answer(429, ["Retry-After: 7200"]))
        let partner = try ScriptedPartner { _, _ in mood.current }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(documents(10))
        try workspace.sendDue()
        mood.set(.answer(200))
        try workspace.sendDue()
        #expect(partner.requests.count == 4)

        let operators = try DeliveryStore(existing: workspace.store.path)
        let retried = try operators.retry(
            selection, nowMilliseconds: workspace.clock.nowMilliseconds)
        #expect(retried.awakened == ["acme"])
        #expect(retried.retried == (selection == .partner("acme") ? 10 : 1))
        try workspace.sendDue()
        // The other three that were told to wait have their own next attempt, two hours later.
        #expect(
            try workspace.states(partner: "acme")
                == (selection == .partner("acme")
                    ? [.delivered: 10] : [.delivered: 7, .pending: 3]))
    }

    @Test("a breaker that is open is closed by a retry too, and by --all-dead it is not")
    func breaker() throws {
        let workspace = try DeliveryWorkspace([
            "acme": "url: http://127.0.0.1:\(ScriptedPartner.closedPort)/\nallow_private: true"
        ])
        try workspace.ingest(documents(10))
        try workspace.sendDue()
        let before = try attempts(workspace, 10).reduce(0, +)
        #expect(try workspace.store.retry(.allDead, nowMilliseconds: 0).awakened.isEmpty)
        try workspace.sendDue()
        #expect(try attempts(workspace, 10).reduce(0, +) == before)
        let retried = try workspace.store.retry(
            .partner("acme"), nowMilliseconds: workspace.clock.nowMilliseconds)
        #expect(retried == RetriedDeliveries(retried: 10, left: 0, awakened: ["acme"]))
        #expect(try attempts(workspace, 10).reduce(0, +) == 0)
        try workspace.sendDue()
        #expect(try attempts(workspace, 10).reduce(0, +) > 0)
    }

    @Test("an answer to what was sent before the pause neither ends nor shortens it")
    func earlierAnswers() {
        var breaker = Breaker()
        breaker.update(pauseAskedMilliseconds: 60_000, nowMilliseconds: 0)
        breaker.update(isReached: true, nowMilliseconds: 10)
        breaker.update(isReached: false, nowMilliseconds: 10)
        breaker.update(pauseAskedMilliseconds: 1000, nowMilliseconds: 20)
        #expect(breaker.rest?.untilMilliseconds == 60_000)
        breaker.update(pauseAskedMilliseconds: 90_000, nowMilliseconds: 30)
        #expect(breaker.rest?.untilMilliseconds == 90_030)
        #expect(breaker.admits(nowMilliseconds: 90_030))
        breaker.didSend()
        breaker.update(isReached: false, nowMilliseconds: 90_040)
        #expect(breaker.rest?.cause == .away)
        #expect(breaker.rest?.untilMilliseconds == 120_040)
        breaker.didSend()
        breaker.update(isReached: true, nowMilliseconds: 120_050)
        #expect(breaker == Breaker())
    }

    @Test("a pause that is asked for after the clock has gone back is kept")
    func askedAfterClockWentBack() {
        var breaker = Breaker()
        breaker.update(pauseAskedMilliseconds: 60_000, nowMilliseconds: 10_000_000)
        breaker.update(pauseAskedMilliseconds: 60_000, nowMilliseconds: 4_000_000)
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
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(documents(10))
        try workspace.run(until: { workspace.dispatcher.inFlightCount == 1 })
        let now = workspace.clock.nowMilliseconds
        #expect(try workspace.store.restingPartners()["acme"]?.untilMilliseconds == now + 7_200_000)
        _ = try workspace.store.retry(.partner("acme"), nowMilliseconds: now)
        isRetried.withLock { $0 = true }
        try workspace.dispatcher.collect(waitMilliseconds: 10_000)
        try workspace.sendDue()
        #expect(partner.requests.count == 4)
        #expect(try workspace.store.restingPartners()["acme"]?.untilMilliseconds == now + 60_000)
    }

    @Test("a pause of no time at all is a second, and doubles while the partner goes on so")
    func shortest() {
        var breaker = Breaker()
        var now: Int64 = 0
        for seconds: Int64 in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1800, 1800] {
            breaker.update(pauseAskedMilliseconds: 0, nowMilliseconds: now)
            #expect(breaker.rest?.pauseMilliseconds == seconds * 1000)
            now += seconds * 1000
            breaker.didSend()
        }
    }

    @Test("a store of an earlier version is taken on, with what is in it", arguments: [1, 2])
    func migration(version: Int) throws {
        let workspace = try DeliveryWorkspace(["acme": "url: https://acme.example/"])
        try workspace.ingest(documents(3))
        let file = try DatabaseQueue(path: workspace.store.path)
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
            let store = try DeliveryStore(existing: workspace.store.path)
            #expect(try store.restingPartners().isEmpty)
            #expect(try store.disabledPartners() == [DisabledPartner(name: "gone", status: 410)])
            #expect(try store.deliveries(limit: 10).count == 3)
        }
    }
}
