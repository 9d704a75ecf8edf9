import EmbeddedLog
import EventLog
import Foundation
import Testing

@testable import ConversionValues

@Suite("Installs that are silent for long")
struct ForgettingTests {
    private let workspace: ServiceWorkspace
    private let installs = ServiceWorkspace.installs(ofPartition: 2, 2)
    private let elsewhere = ServiceWorkspace.installs(ofPartition: 1, 1)
    /// When an install may be forgotten that asked at noon only.
    private let expiry = Time.noon + 90 * Time.day

    init() throws { workspace = try ServiceWorkspace() }

    private func ask(
        _ install: String, _ service: ConversionService, total: Double = 60,
        firstCall: Int64 = Time.noon, isThree: Bool = false, at now: Int64
    ) async throws -> ConversionAnswer {
        var device = Device(installID: install, app: Shipped.meals)
        device.firstCall = firstCall
        device.lastCall = firstCall
        device.totals = ["GBP": total]
        device.hasThreeWindows = isThree
        return try await service.answer(device.request("order", at: now), nowMilliseconds: now)
    }

    /// What the served file holds is what the log makes, whatever was read at once.
    private func expectFollowsFromLog() throws {
        let all = installs + elsewhere
        try workspace.service("anew").stop()
        #expect(try workspace.states("anew", of: all) == workspace.states(of: all))
        for end in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: "\(workspace.path)/anew.sqlite\(end)")
        }
    }

    @Test("are forgotten 90 days of the log's time after they asked last, and not before")
    func silence() async throws {
        let old = installs[0]
        for (now, isKnown) in [(expiry - 1, true), (expiry, false)] {
            let service = try workspace.service()
            if isKnown {
                _ = try await ask(old, service, at: Time.noon)
                _ = try await ask(elsewhere[0], service, at: Time.noon)
            }
            _ = try await ask(installs[1], service, firstCall: now, at: now)
            service.stop()
            #expect((try workspace.states(of: [old])[0] != nil) == isKnown)
            // The partition's own records are its clock.
            #expect(try workspace.states(of: elsewhere)[0] != nil)
            try expectFollowsFromLog()
        }
    }

    @Test("are not forgotten by the time of day, as long as the log stands still")
    func standingLog() async throws {
        let service = try workspace.service()
        // Years before the test runs.
        let instant = Time.noon - 1000 * Time.day
        _ = try await ask(installs[0], service, firstCall: instant, at: instant)
        service.stop()
        try workspace.service().stop()
        #expect(try workspace.states(of: installs)[0] != nil)
    }

    @Test("are new ones when they ask then, and what they had counts no more")
    func askingAgain() async throws {
        let service = try workspace.service()
        _ = try await ask(installs[0], service, total: 60, at: Time.noon)
        let answer = try await ask(installs[0], service, total: 61, at: expiry - 1)
        #expect(answer.fine == nil)
        let later = expiry - 1 + 90 * Time.day
        let ended = try await ask(installs[0], service, total: 62, at: later)
        #expect(ended.fine == nil, "the install itself says when its window ended")
        let after = later + 90 * Time.day
        let fresh = try await ask(installs[0], service, total: 7, firstCall: after, at: after)
        #expect(fresh.fine != nil)
        service.stop()
        let state = try workspace.states(of: installs)[0]
        #expect(state?.totalRevenueMicros == ["GBP": 7_000_000])
        #expect(state?.followsMilliseconds == nil)
        try expectFollowsFromLog()
    }

    @Test("stay known while a window is open, however long ago they asked")
    func openWindow() {
        var state = InstallState(
            firstCallMilliseconds: Time.noon + 200 * Time.day, receivedAtMilliseconds: Time.noon)
        state.windowing = .three
        #expect(state.expiryMilliseconds == Time.noon + 235 * Time.day)
    }

    @Test("times that cannot be reckoned with are foreign, and stop nobody")
    func absurdTimes() async throws {
        let service = try workspace.service()
        _ = try await ask(installs[0], service, at: Time.noon)
        service.stop()
        let log = try workspace.log()
        let update = try #require(try lastUpdate(in: log))
        let absurd = update.replacing(/"first_call_at_ms":\d+/) { _ in
            "\"first_call_at_ms\":\(Int64.max)"
        }
        try log.writer().append([
            OutgoingRecord(
                topic: "conversion-updates", key: Array(installs[0].utf8),
                value: Array(absurd.utf8))
        ])
        let again = try workspace.service()
        _ = try await ask(installs[0], again, total: 61, at: Time.noon + 1)
        again.stop()
        let state = try workspace.states(of: installs)[0]
        #expect(state?.firstCallMilliseconds == Time.noon)
        #expect(state?.totalRevenueMicros == ["GBP": 61_000_000])
    }

    private func lastUpdate(in log: EmbeddedLog) throws -> String? {
        let reader = try log.reader(topic: "conversion-updates")
        try reader.subscribe(.all)
        let batch = RecordBatch()
        for _ in 0..<100 {
            let reading = try reader.read(
                into: batch, maxRecords: 10, maxBytes: 1 << 20, waitMilliseconds: 10)
            guard reading == .records, batch.count > 0 else { continue }
            return batch[batch.count - 1].value.map { String(decoding: $0, as: UTF8.self) }
        }
        return nil
    }
}
