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
    private func loop(_ workspace: DeliveryWorkspace) throws -> DeliveryLoop {
        let log = try EmbeddedLog(path: workspace.files.path + "/log.sqlite", mode: .create)
        try log.createTopic("partner-postbacks", partitionCount: 1)
        let reader = try log.reader(topic: "partner-postbacks", group: nil)
        return DeliveryLoop(
            store: workspace.store, reader: reader, dispatcher: workspace.dispatcher,
            partners: ConfiguredPartners(try workspace.files.partners()),
            parser: try #require(JSONParser()),
            clock: workspace.clock,
            settings: .init(
                assignment: .partitions([]), untilEnd: false, batchRecords: 10,
                maxRecordBytes: 1 << 20,
                waitMilliseconds: 1), stop: StopSignal(), logger: Logger(label: "test"),
            openReader: { try log.lookingReader(topic: "partner-postbacks") })
    }

    private func run(_ loop: DeliveryLoop, until isSo: () throws -> Bool) throws {
        let isInTime = try Wait.until {
            _ = try loop.runOnce()
            return try isSo()
        }
        try #require(isInTime, "what was waited for did not come to be")
    }

    @Test(
        "what it set is due once it is right again, at the next start and while the program runs",
        arguments: [30 * days, days / 4], [true, false])
    func deliveries(ahead: Int64, isRunning: Bool) throws {
        let partner = try ScriptedPartner { _, number in .answer(number < 2 ? 500 : 200) }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        let now = workspace.clock.nowMilliseconds
        workspace.clock.set(now + ahead)
        var loop = try loop(workspace)
        try workspace.ingest((0..<2).map { Documents.install(id: Documents.id($0)) })
        try run(loop) { partner.requests.count == 2 && workspace.dispatcher.inFlightCount == 0 }
        // Taken over by the wrong clock, and not sent yet.
        try workspace.ingest(Documents.install(id: Documents.id(2)))
        workspace.clock.set(now)
        let misplaced = try workspace.store.misplaced(nowMilliseconds: now)
        #expect(misplaced.map(\.partner) == ["acme"])
        #expect(misplaced.first?.count == 3)
        #expect((misplaced.first?.untilMilliseconds ?? 0) >= now + ahead)
        if !isRunning { loop = try self.loop(workspace) }
        try run(loop) { try workspace.states(partner: "acme") == [.delivered: 3] }
        #expect(partner.requests.count == 5)
        #expect(try workspace.store.misplaced(nowMilliseconds: now).isEmpty)
    }

    @Test(
        "what was brought back is put off by the right clock from then on, however often the program starts"
    )
    func onceOnly() throws {
        let partner = try ScriptedPartner { _, _ in .answer(500) }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        let now = workspace.clock.nowMilliseconds
        workspace.clock.set(now + 30 * Self.days)
        try workspace.ingest(Documents.install())
        var loop = try loop(workspace)
        try run(loop) { partner.requests.count == 1 && workspace.dispatcher.inFlightCount == 0 }
        workspace.clock.set(now)
        try run(loop) { partner.requests.count == 2 && workspace.dispatcher.inFlightCount == 0 }
        let next = try workspace.delivery().nextAttemptMilliseconds
        for _ in 0..<3 {
            #expect(try workspace.store.misplaced(nowMilliseconds: now).isEmpty)
            loop = try self.loop(workspace)
            for _ in 0..<3 { _ = try loop.runOnce() }
        }
        #expect(partner.requests.count == 2)
        #expect(try workspace.delivery().nextAttemptMilliseconds == next)
    }

    @Test("what the schedule has put off is not touched, a day of Retry-After included")
    func schedule() throws {
        let partner = try ScriptedPartner { _, _ in .answer(500, ["Retry-After: 86400"]) }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(Documents.install())
        let loop = try loop(workspace)
        let now = workspace.clock.nowMilliseconds
        try run(loop) { partner.requests.count == 1 && workspace.dispatcher.inFlightCount == 0 }
        #expect(try workspace.delivery().nextAttemptMilliseconds == now + Self.days)
        // Clocks are set by seconds every day.
        for back: Int64 in [0, 5000, 59_000] {
            workspace.clock.set(now - back)
            #expect(try workspace.store.misplaced(nowMilliseconds: now - back).isEmpty)
            #expect(try workspace.store.bringBack(nowMilliseconds: now - back) == 0)
        }
        #expect(RetrySchedule.longestPauseMilliseconds >= 86_400_000 / 10 * 11)
    }

    @Test("a partner rests for no longer than its pause, and a rate holds nothing up")
    func rests() throws {
        let partner = try ScriptedPartner { _, number in
            number == 0 ? .answer(429, ["Retry-After: 60"]) : .answer(200)
        }
        let workspace = try DeliveryWorkspace([
            "acme": "url: \(partner.url)/\nallow_private: true\nrate_per_second: 1\nconcurrency: 1"
        ])
        let now = workspace.clock.nowMilliseconds
        workspace.clock.set(now + 30 * Self.days)
        try workspace.ingest((0..<3).map { Documents.install(id: Documents.id($0)) })
        let loop = try loop(workspace)
        try run(loop) { partner.requests.count == 1 && workspace.dispatcher.inFlightCount == 0 }
        #expect(try workspace.store.restingPartners()["acme"] != nil)
        workspace.clock.set(now)
        try run(loop) { partner.requests.count >= 2 }
        workspace.clock.set(now + 1000)
        try run(loop) { partner.requests.count >= 3 }
        #expect(try workspace.store.bringBack(nowMilliseconds: now) == 0)
    }
}
