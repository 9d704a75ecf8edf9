import Foundation
import GRDB
import JSON
import Store
import TestKit
import Testing

@testable import Deliveries

@Suite("What is taken over, and in what order it is sent", .serialized)
struct OrderTests {
    @Test("a document that comes twice is sent once")
    func duplicates() throws {
        let partner = try ScriptedPartner()
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(Documents.install(), Documents.install())
        try place.sendAll()
        try place.ingest(Documents.install())
        try place.sendAll()
        #expect(partner.requests.count == 1)
        #expect(try place.states(partner: "acme") == [.delivered: 1])
    }

    @Test(
        "a higher revision takes the place of one that is not sent yet; a lower one comes too late")
    func superseded() throws {
        let partner = try ScriptedPartner()
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(
            Documents.install(revision: 1), Documents.install(revision: 3),
            Documents.install(revision: 2))
        try place.sendAll()
        #expect(partner.requests.map { $0.headers["idempotency-key"] } == ["\(Documents.id):3"])
        #expect(
            try place.store.history(of: Documents.id).map(\.delivery.state)
                == [.superseded, .superseded, .delivered])
    }

    @Test(
        "a revision that nobody wanted is not sent after a higher one, even when the higher one is forgotten",
        arguments: [false, true])
    func deadLower(wasDeadBefore: Bool) throws {
        let partner = try ScriptedPartner { _, number in .answer(number == 0 ? 404 : 200) }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(Documents.install(revision: 1))
        try place.sendAll()
        #expect(try place.states(partner: "acme") == [.dead: 1])
        try place.ingest(Documents.install(revision: 2))
        if wasDeadBefore {
            // As earlier versions left it.
            try DatabaseQueue(path: place.store.path).write {
                try $0.execute(sql: "UPDATE deliveries SET state = 'dead' WHERE revision = 1")
            }
        }
        try place.sendAll()
        let now = place.clock.nowMilliseconds
        try place.store.prune(changedBefore: now + 1)
        _ = try place.store.retry(.allDead, nowMilliseconds: now)
        try place.sendAll()
        #expect(
            partner.requests.map { $0.headers["idempotency-key"] }
                == ["\(Documents.id):1", "\(Documents.id):2"])
    }

    @Test("a higher revision waits while a lower one is on its way, and is sent behind it")
    func order() throws {
        let isReplaced = DispatchSemaphore(value: 0)
        let partner = try ScriptedPartner { _, number in
            guard number == 0 else { return .answer(200) }
            _ = isReplaced.wait(timeout: .now() + Wait.seconds)
            return .hangUp
        }
        let place = try DeliveryPlace([
            "acme": "url: \(partner.url)/\nallow_private: true\ntimeout_seconds: 60"
        ])
        try place.ingest(Documents.install(revision: 1))
        try place.turn { partner.requests.count == 1 }
        try place.ingest(Documents.install(revision: 2))
        for _ in 0..<5 { try place.dispatcher.turn(waitMilliseconds: 20) }
        #expect(try place.states(partner: "acme") == [.superseded: 1, .pending: 1])
        #expect(partner.requests.count == 1)
        isReplaced.signal()
        try place.sendAll()
        #expect(
            partner.requests.map { $0.headers["idempotency-key"] }
                == ["\(Documents.id):1", "\(Documents.id):2"])
        // The first failed after it was replaced: it is not tried again.
        #expect(
            try place.store.history(of: Documents.id).map(\.delivery.state)
                == [.superseded, .delivered])
    }

    @Test("after a delivered revision the next one is sent too")
    func corrections() throws {
        let partner = try ScriptedPartner()
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        for revision in 1...3 {
            try place.ingest(Documents.install(revision: revision))
            try place.sendAll()
        }
        #expect(
            partner.requests.map { $0.headers["idempotency-key"] }
                == (1...3).map { "\(Documents.id):\($0)" })
    }

    @Test(
        "what a partner's file holds back waits, and goes on when it is retried under another file")
    func held() throws {
        let partner = try ScriptedPartner()
        let place = try DeliveryPlace([
            "acme": "url: \(partner.url)/?c={conversion.coarse}\nallow_private: true\nmissing: hold"
        ])
        try place.ingest(Documents.install())
        try place.sendAll()
        #expect(try place.delivery().state == .held)
        #expect(try place.delivery().reason == "missing: c: {conversion.coarse} has no value")
        #expect(partner.requests.isEmpty)
        let retried = try place.store.retry(
            .id(Documents.id), nowMilliseconds: place.clock.nowMilliseconds)
        #expect(retried.retried == 1)
        try place.sendAll()
        #expect(try place.delivery().state == .held)
    }

    @Test(
        "a document of a partner without a file is held, until the file is there; and the other way"
    )
    func unknownPartner() throws {
        let partner = try ScriptedPartner()
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(Documents.install(partner: "late"))
        #expect(try place.delivery().reason == "unknown_partner: no file partners/late.yaml")
        try place.store.begin(KnownPartners(urls: ["acme": "", "late": ""]), nowMilliseconds: 7)
        #expect(try place.delivery().state == .pending)
        try place.store.begin(KnownPartners(urls: ["acme": ""]), nowMilliseconds: 8)
        #expect(try place.delivery().state == .held)
        #expect(try place.delivery().reason == "unknown_partner: no file partners/late.yaml")
    }

    @Test(
        "partners come, move and go while deliveries are made, and what is on its way is not lost")
    func otherPartners() throws {
        let (b, c) = (String(repeating: "b", count: 32), String(repeating: "c", count: 32))
        let first = try ScriptedPartner()
        let second = try ScriptedPartner()
        let place = try DeliveryPlace(["acme": "url: \(first.url)/\nallow_private: true"])
        try place.ingest(Documents.install(partner: "late"))
        try place.sendDue()
        #expect(first.requests.isEmpty)
        try place.files.add("late", "url: \(second.url)/\nallow_private: true")
        try place.dispatcher.use(place.files.routes())
        try place.sendDue()
        #expect(second.requests.count == 1)
        // The file of one that has a request on its way goes.
        try place.ingest(Documents.install(id: b, partner: "late"))
        #expect(try place.dispatcher.turn() == 1)
        let staying = try place.files.routes().filter { $0.name == "acme" }
        try place.dispatcher.use(staying)
        try place.turn { try place.delivery(b).state == .delivered }
        try place.ingest(Documents.install(id: c, partner: "late"))
        try place.dispatcher.use(staying)
        try place.sendDue()
        #expect(try place.delivery(c).state == .held)
        #expect(second.requests.count == 2)
    }

    @Test("a retry begins the schedule anew and keeps the history; a lower revision is superseded")
    func retry() throws {
        let partner = try ScriptedPartner { _, number in .answer(number < 2 ? 400 : 200) }
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        for revision in 1...2 {
            try place.ingest(Documents.install(revision: revision))
            try place.sendAll()
        }
        let retried = try place.store.retry(.allDead, nowMilliseconds: place.clock.nowMilliseconds)
        #expect(retried == RetriedDeliveries(retried: 1, left: 0))
        try place.sendAll()
        let history = try place.store.history(of: Documents.id)
        #expect(history.map(\.delivery.state) == [.superseded, .delivered])
        #expect(history[1].attempts.map(\.status) == [400, 200])
        #expect(history[1].attempts.map(\.number) == [1, 2])
    }

    @Test("what was delivered is forgotten after its time, and nothing else is")
    func pruning() throws {
        let partner = try ScriptedPartner()
        let place = try DeliveryPlace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try place.ingest(Documents.install())
        try place.sendAll()
        try place.ingest(Documents.install(id: Documents.id(1), partner: "nobody"))
        try place.store.prune(changedBefore: place.clock.nowMilliseconds)
        #expect(try place.store.history(of: Documents.id).count == 1)
        try place.store.prune(changedBefore: place.clock.nowMilliseconds + 1)
        #expect(try place.store.history(of: Documents.id).isEmpty)
        #expect(try place.store.history(of: Documents.id(1)).count == 1)
    }
}
