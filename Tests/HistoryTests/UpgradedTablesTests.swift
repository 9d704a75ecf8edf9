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

@Suite("New tables of continued stores")
struct UpgradedTablesTests {
    @Test("A whole new table is unknown in the hours that had begun")
    func hours() throws {
        let workspace = try Workspace()
        try workspace.publish("bids", Samples.bids(0..<10) + [Samples.loss("a1")])
        try workspace.foldBids()
        try workspace.forget("loss_reasons", stream: "bids")
        try workspace.trimBids(before: 3)
        #expect(try workspace.runUpgrade().stores.map(\.way) == [.extend])
        try workspace.publish(
            "bids", Samples.loss("a2"), Samples.bid("b", at: Samples.start + 86_400_000),
            Samples.loss("b", hours: 24), Samples.loss("c", hours: 24))
        try workspace.foldBids()
        #expect(try workspace.sums("losses", of: "loss-reasons", by: ["day"]) == [nil, 2])
        #expect(try workspace.sums("losses", of: "loss-reasons") == [nil])
    }

    @Test("A whole new table of days is unknown up to the day after the last folded record")
    func days() throws {
        let workspace = try Workspace()
        try workspace.configurePostbacks()
        // In the past: of days after the present one, only those that records name are unknown.
        let start = Samples.start - 400 * 86_400_000
        try workspace.publish(
            "postbacks", try Samples.signed("a", at: start), try Samples.signed("b", at: start))
        try workspace.foldPostbacks()
        try workspace.forget("install_cohorts", stream: "postbacks")
        try workspace.openLog().trim(topic: "postbacks", partition: 0, before: 1)
        #expect(try workspace.runUpgrade().stores.map(\.way) == [.extend])
        try workspace.publish(
            "postbacks", try Samples.signed("c", at: start),
            try Samples.signed("d", at: start + 60 * 86_400_000))
        try workspace.foldPostbacks()
        #expect(
            try workspace.sums("postbacks", of: "install-cohorts", by: ["cohort"]) == [nil, 1])
    }
}
