import Engine
import EventLog
import Foundation
import Program
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import History

@Suite("Interrupted upgrades, and changes since")
struct UpgradeInterruptionTests {
    @Test("If retention deleted records of a killed refold, a new set has unknown measures")
    func trimmed() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        try workspace.killUpgrade(after: .folded)
        try workspace.publish("bids", Samples.bid("later"), Samples.loss("later", hours: 24))
        try workspace.foldBids()
        try workspace.trimBids(before: 12)
        var lines: [String] = []
        let result = try workspace.upgrade().run(stop: StopSignal(), tell: { lines.append($0) })
        #expect(result.stores.map(\.way) == [.extend])
        #expect(lines.contains { $0.contains("no longer has offset 11 of partition 0") })
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-2")
        #expect(try workspace.losses() == [nil])
    }

    @Test("If the configuration changed after a killed refold, a new set is folded")
    func configuration() throws {
        let workspace = try Workspace()
        try workspace.publish("bids", Samples.bids(0..<10))
        try workspace.foldBids()
        try workspace.useRules(1, insteadOf: 2, stream: "bids")
        try workspace.killUpgrade(after: .folded)
        try workspace.write("bids.yaml", "batch_records: 100\ndedupe_window_seconds: 7200\n")
        var lines: [String] = []
        _ = try workspace.upgrade().run(stop: StopSignal(), tell: { lines.append($0) })
        #expect(lines.contains { $0.contains("it was begun under another configuration") })
        #expect(lines.contains { $0.contains("bids: dedupe_window_ms") })
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-2")
    }

    @Test("Other sums under a changed configuration stop it, and the error names the change")
    func cause() throws {
        let workspace = try Workspace()
        try workspace.publish("bids", Samples.bids(0..<10))
        try workspace.foldBids()
        try workspace.useRules(1, insteadOf: 2, stream: "bids")
        try workspace.execute("UPDATE bids_sums SET bids = bids + 1", stream: "bids")
        try workspace.write("bids.yaml", "batch_records: 100\ndedupe_window_seconds: 7200\n")
        let error = #expect(throws: UpgradeError.self) { try workspace.runUpgrade() }
        #expect(error?.description.contains("bids: dedupe_window_ms") == true)
        #expect(try workspace.inForce("bids") == "data")
        // With other rules only, they are expected.
        try workspace.write("bids.yaml", "batch_records: 100\n")
        #expect(try !workspace.runUpgrade().differences.isEmpty)
    }

    @Test("Sums that differ only between rows name the column")
    func rows() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        try workspace.execute("UPDATE bids_keys SET seat = 'other'", stream: "bids")
        do {
            try workspace.runUpgrade()
            Issue.record("it was promoted")
        } catch UpgradeError.differs(_, let lines, _) {
            #expect(lines.contains { $0.hasPrefix("bids bids: ") && $0.hasSuffix("by seat") })
        }
    }

    @Test("Two upgrades at a time, and a directory without stores")
    func refused() throws {
        let workspace = try Workspace()
        #expect(throws: UpgradeError.noStore(data: workspace.path + "/data")) {
            try workspace.runUpgrade()
        }
        try workspace.makeEarlierBids()
        let error = #expect(throws: UpgradeError.self) {
            try workspace.upgrade().run(
                stop: StopSignal(),
                onStep: { if $0 == .folded { try workspace.runUpgrade() } })
        }
        #expect(error?.description.contains("another weir upgrade") == true)
    }
}
