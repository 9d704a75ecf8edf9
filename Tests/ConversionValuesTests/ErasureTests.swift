import EventLog
import Foundation
import TestKit
import Testing

@testable import ConversionValues

@Suite("Erasing an install from a collector's file")
struct ErasureTests {
    private let workspace: ServiceWorkspace
    private static let person = "5B1C7E3A-8A41-4F0E-9C55-0D0A4E6B7F21"

    init() throws { workspace = try ServiceWorkspace() }

    private func answer(
        _ service: ConversionService, _ installs: String..., at now: Int64 = Time.noon
    ) async throws {
        for install in installs {
            var device = Device(installID: install, app: Shipped.meals)
            device.totals = ["GBP": Double(now - Time.noon + 9)]
            _ = try await service.answer(device.request("order", at: now), nowMilliseconds: now)
        }
    }

    private func announce() throws {
        let partition = KeyPartitioner.partition(
            key: Array(Self.person.utf8), value: nil, partitionCount: 4)
        try workspace.log().writer().append([
            OutgoingRecord(
                topic: "conversion-updates", partition: partition, key: nil,
                headers: ErasureNotice.headers(ErasureNotice.digest(ofID: Self.person)), value: nil)
        ])
    }

    private var path: String { workspace.path + "/conversions.sqlite" }

    private func contains(_ text: String) -> Bool {
        ["", "-wal"].contains { end in
            let bytes = FileManager.default.contents(atPath: path + end) ?? Data()
            return bytes.range(of: Data(text.utf8)) != nil
        }
    }

    @Test("a running collector without requests follows a notice, and no bytes stay")
    func running() async throws {
        let service = try workspace.service()
        try await answer(service, Self.person, "install-other")
        #expect(try StoredInstalls.count(id: Self.person.lowercased(), at: path) == 1)
        try announce()
        #expect(
            try Wait.until { try StoredInstalls.count(id: Self.person, at: path) == 0 },
            "the collector reads the notice")
        #expect(Wait.until { !contains(Self.person) })
        #expect(contains("install-other"))
        service.stop()
    }

    @Test("a file that is rebuilt from the log does not bring the state back")
    func rebuilt() async throws {
        let service = try workspace.service()
        try await answer(service, Self.person, "install-other")
        service.stop()
        try announce()
        try FileManager.default.removeItem(atPath: path)
        try StoredInstalls.follow(workspace.log(), at: path)
        let states = try workspace.states(of: [Self.person, "install-other"])
        #expect(states[0] == nil)
        #expect(states[1] != nil)
    }

    @Test("an install that calls again begins anew")
    func again() async throws {
        let service = try workspace.service()
        try await answer(service, Self.person)
        try announce()
        #expect(try Wait.until { try StoredInstalls.count(id: Self.person, at: path) == 0 })
        try await answer(service, Self.person, at: Time.noon + 7)
        service.stop()
        let state = try workspace.states(of: [Self.person])[0]
        #expect(state?.windows[0].eventCounts["order"] == 1)
    }
}
