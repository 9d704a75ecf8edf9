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

@Suite("Going back from an upgrade")
struct UpgradeBackTests {
    private func back(_ workspace: Workspace) throws -> [PromotedStream] {
        try workspace.upgrade().back(stop: StopSignal())
    }

    @Test("All stores of an upgrade are switched at once, and go back at once")
    func wholly() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        try workspace.publish("impressions", WindowedStream.impressions.records(20, seed: 1))
        try workspace.fold(.impressions)
        try workspace.useRules(1, insteadOf: 2, stream: "impressions")
        let result = try workspace.runUpgrade()
        #expect(Set(result.stores.map(\.mode)) == [.recorded, .present])
        #expect(result.promoted.map(\.stream) == ["bids", "impressions"])
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-1")
        #expect(try workspace.inForce("impressions") == "data/sets/upgrade-2")
        // The earlier impressions have other rules, so nothing goes back.
        #expect(throws: UpgradeError.self) { _ = try back(workspace) }
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-1")
        #expect(try workspace.inForce("impressions") == "data/sets/upgrade-2")
    }

    @Test("A second --back names the command that goes forth")
    func twice() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        try workspace.runUpgrade()
        #expect(try back(workspace).map(\.stream) == ["bids"])
        let error = #expect(throws: UpgradeError.self) { _ = try back(workspace) }
        let words = try #require(error?.description)
        #expect(words.contains("weir promote \(workspace.path)/data/sets/upgrade-1 --data"))
        #expect(!words.contains("--emit"))
        // Promoted by hand, it is still the result of an upgrade.
        _ = try workspace.promote("data/sets/upgrade-1")
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-1")
        #expect(try back(workspace).map(\.stream) == ["bids"])
    }

    @Test("A correction is not reverted")
    func correction() throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a")
        try workspace.foldBids()
        #expect(throws: UpgradeError.nothingToRevert(data: workspace.path + "/data")) {
            _ = try back(workspace)
        }
        _ = try workspace.replay(["bids"], workspace.order(into: "data/sets/fixed"))
        _ = try workspace.promote("data/sets/fixed")
        let error = #expect(throws: UpgradeError.self) { _ = try back(workspace) }
        #expect(error?.description.contains("weir promote --back --data") == true)
        #expect(try workspace.inForce("bids") == "data/sets/fixed")
    }

    @Test("Stores that this version would refuse are put back by the version that folded them")
    func otherVersion() throws {
        for isOfOtherRules in [true, false] {
            let workspace = try Workspace()
            try workspace.publishAuctions("a")
            try workspace.foldBids()
            if isOfOtherRules {
                try workspace.useRules(1, insteadOf: 2, stream: "bids")
            } else {
                try workspace.execute(
                    "ALTER TABLE bids_sums RENAME COLUMN wins TO won", stream: "bids")
            }
            try workspace.runUpgrade()
            do {
                _ = try back(workspace)
                Issue.record("it went back")
            } catch UpgradeError.cannotGoBack(_, let detail) {
                #expect(detail.contains(isOfOtherRules ? "rules 1, now 2" : "differs in"))
            }
            #expect(try workspace.inForce("bids") == "data/sets/upgrade-1")
        }
    }
}
