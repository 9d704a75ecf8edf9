import Foundation
import TestKit
import Testing

@Suite("weir upgrade")
struct UpgradeCommandTests {
    @Test("prints what each store needs, does it, and goes back; commands warn until then")
    func upgrade() throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a", "b")
        try workspace.foldBids()
        try workspace.execute(
            """
            DROP VIEW bids; ALTER TABLE bids_sums DROP COLUMN losses;
            CREATE VIEW bids AS SELECT number FROM bids_sums
            """, stream: "bids")
        func weir(_ words: String...) throws -> Program {
            try Program.run("weir", words + workspace.commandLine())
        }
        let dump = ["dump", "bids", "--by", "seat", "--format", "ndjson"]
        let before = try Program.run("weir", dump + workspace.commandLine())
        #expect(before.output.contains(#""losses":null"#))
        #expect(before.error.contains("bids.sqlite does not know bids.losses in all rows"))
        let plan = try weir("upgrade", "--dry-run")
        #expect(plan.status == 0)
        #expect(plan.output.contains("refold  unknown: bids.losses"), "\(plan.output)")
        let json = try weir("upgrade", "--dry-run", "--format", "json")
        #expect(json.output.contains(#""way":"refold""#), "\(json.output)")
        let done = try weir("upgrade")
        #expect(done.status == 0, "\(done.error)")
        #expect(done.error.contains("bids: folding 2 records"))
        #expect(done.output.contains("back: weir upgrade --back"), "\(done.output)")
        let after = try Program.run("weir", dump + workspace.commandLine())
        #expect(after.output.contains(#""losses":0"#))
        #expect(!after.error.contains("does not know"))
        #expect(try weir("upgrade").output.contains("current"))
        let back = try weir("upgrade", "--back")
        #expect(back.status == 0, "\(back.error)")
        #expect(back.output.contains("forth again: weir promote "), "\(back.output)")
        #expect(try weir("upgrade", "--back", "--dry-run").status == 64)
    }
}
