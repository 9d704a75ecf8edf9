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
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(Documents.install(), Documents.install())
        try workspace.sendAll()
        try workspace.ingest(Documents.install())
        try workspace.sendAll()
        #expect(partner.requests.count == 1)
        #expect(try workspace.states(partner: "acme") == [.delivered: 1])
    }

    @Test(
        "a higher revision takes the place of one that is not sent yet; a lower one comes too late")
    func superseded() throws {
        let partner = try ScriptedPartner()
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(
            Documents.install(revision: 1), Documents.install(revision: 3),
            Documents.install(revision: 2))
        try workspace.sendAll()
        #expect(partner.requests.map { $0.headers["idempotency-key"] } == ["\(Documents.id):3"])
        #expect(
            try workspace.store.history(of: Documents.id).map(\.delivery.state)
                == [.superseded, .superseded, .delivered])
    }

    @Test(
        "a revision that nobody wanted is not sent after a higher one, even when the higher one is forgotten",
        arguments: [false, true])
    func deadLower(wasDeadBefore: Bool) throws {
        let partner = try ScriptedPartner { _, number in .answer(number == 0 ? 404 : 200) }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(Documents.install(revision: 1))
        try workspace.sendAll()
        #expect(try workspace.states(partner: "acme") == [.dead: 1])
        try workspace.ingest(Documents.install(revision: 2))
        if wasDeadBefore {
            // As earlier versions left it.
            try DatabaseQueue(path: workspace.store.path).write {
                try $0.execute(sql: "UPDATE deliveries SET state = 'dead' WHERE revision = 1")
            }
        }
        try workspace.sendAll()
        let now = workspace.clock.nowMilliseconds
        try workspace.store.prune(changedBefore: now + 1)
        _ = try workspace.store.retry(.allDead, nowMilliseconds: now)
        try workspace.sendAll()
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
        let workspace = try DeliveryWorkspace([
            "acme": "url: \(partner.url)/\nallow_private: true\ntimeout_seconds: 60"
        ])
        try workspace.ingest(Documents.install(revision: 1))
        try workspace.run { partner.requests.count == 1 }
        try workspace.ingest(Documents.install(revision: 2))
        for _ in 0..<5 { try workspace.dispatcher.runOnce(waitMilliseconds: 20) }
        #expect(try workspace.states(partner: "acme") == [.superseded: 1, .pending: 1])
        #expect(partner.requests.count == 1)
        isReplaced.signal()
        try workspace.sendAll()
        #expect(
            partner.requests.map { $0.headers["idempotency-key"] }
                == ["\(Documents.id):1", "\(Documents.id):2"])
        // The first failed after it was replaced: it is not tried again.
        #expect(
            try workspace.store.history(of: Documents.id).map(\.delivery.state)
                == [.superseded, .delivered])
    }

    @Test("after a delivered revision the next one is sent too")
    func corrections() throws {
        let partner = try ScriptedPartner()
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        for revision in 1...3 {
            try workspace.ingest(Documents.install(revision: revision))
            try workspace.sendAll()
        }
        #expect(
            partner.requests.map { $0.headers["idempotency-key"] }
                == (1...3).map { "\(Documents.id):\($0)" })
    }

    @Test(
        "what a partner's file holds back waits, and goes on when it is retried under another file")
    func held() throws {
        let partner = try ScriptedPartner()
        let workspace = try DeliveryWorkspace([
            "acme": "url: \(partner.url)/?c={conversion.coarse}\nallow_private: true\nmissing: hold"
        ])
        try workspace.ingest(Documents.install())
        try workspace.sendAll()
        #expect(try workspace.delivery().state == .held)
        #expect(try workspace.delivery().reason == "missing: c: {conversion.coarse} has no value")
        #expect(partner.requests.isEmpty)
        let retried = try workspace.store.retry(
            .id(Documents.id), nowMilliseconds: workspace.clock.nowMilliseconds)
        #expect(retried.retried == 1)
        try workspace.sendAll()
        #expect(try workspace.delivery().state == .held)
    }

    @Test(
        "a document of a partner without a file is held, until the file is there; and the other way"
    )
    func unknownPartner() throws {
        let partner = try ScriptedPartner()
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(Documents.install(partner: "late"))
        #expect(try workspace.delivery().reason == "unknown_partner: no file partners/late.yaml")
        try workspace.store.begin(
            ConfiguredPartners(urls: ["acme": "", "late": ""]), nowMilliseconds: 7)
        #expect(try workspace.delivery().state == .pending)
        try workspace.store.begin(ConfiguredPartners(urls: ["acme": ""]), nowMilliseconds: 8)
        #expect(try workspace.delivery().state == .held)
        #expect(try workspace.delivery().reason == "unknown_partner: no file partners/late.yaml")
    }

    @Test(
        "partners come, move and go while deliveries are made, and what is on its way is not lost")
    func otherPartners() throws {
        let (b, c) = (String(repeating: "b", count: 32), String(repeating: "c", count: 32))
        let first = try ScriptedPartner()
        let second = try ScriptedPartner()
        let workspace = try DeliveryWorkspace(["acme": "url: \(first.url)/\nallow_private: true"])
        try workspace.ingest(Documents.install(partner: "late"))
        try workspace.sendDue()
        #expect(first.requests.isEmpty)
        try workspace.files.add("late", "url: \(second.url)/\nallow_private: true")
        try workspace.dispatcher.use(workspace.files.routes())
        try workspace.sendDue()
        #expect(second.requests.count == 1)
        // The file of one that has a request on its way goes.
        try workspace.ingest(Documents.install(id: b, partner: "late"))
        #expect(try workspace.dispatcher.runOnce() == 1)
        let staying = try workspace.files.routes().filter { $0.name == "acme" }
        try workspace.dispatcher.use(staying)
        try workspace.run { try workspace.delivery(b).state == .delivered }
        try workspace.ingest(Documents.install(id: c, partner: "late"))
        try workspace.dispatcher.use(staying)
        try workspace.sendDue()
        #expect(try workspace.delivery(c).state == .held)
        #expect(second.requests.count == 2)
    }

    @Test("a retry begins the schedule anew and keeps the history; a lower revision is superseded")
    func retry() throws {
        let partner = try ScriptedPartner { _, number in .answer(number < 2 ? 400 : 200) }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        for revision in 1...2 {
            try workspace.ingest(Documents.install(revision: revision))
            try workspace.sendAll()
        }
        let retried = try workspace.store.retry(
            .allDead, nowMilliseconds: workspace.clock.nowMilliseconds)
        #expect(retried == RetriedDeliveries(retried: 1, left: 0))
        try workspace.sendAll()
        let history = try workspace.store.history(of: Documents.id)
        #expect(history.map(\.delivery.state) == [.superseded, .delivered])
        #expect(history[1].attempts.map(\.status) == [400, 200])
        #expect(history[1].attempts.map(\.number) == [1, 2])
    }

    @Test("what was delivered is forgotten after its time, and nothing else is")
    func pruning() throws {
        let partner = try ScriptedPartner()
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(Documents.install())
        try workspace.sendAll()
        try workspace.ingest(Documents.install(id: Documents.id(1), partner: "nobody"))
        try workspace.store.prune(changedBefore: workspace.clock.nowMilliseconds)
        #expect(try workspace.store.history(of: Documents.id).count == 1)
        try workspace.store.prune(changedBefore: workspace.clock.nowMilliseconds + 1)
        #expect(try workspace.store.history(of: Documents.id).isEmpty)
        #expect(try workspace.store.history(of: Documents.id(1)).count == 1)
    }
}
