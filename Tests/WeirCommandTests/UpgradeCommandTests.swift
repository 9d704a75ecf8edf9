import Foundation
import TestKit
import Testing

@Suite("weir upgrade")
struct UpgradeCommandTests {
    @Test("prints what each store needs, does it, and goes back; commands warn until then")
    func upgrade() throws {
        let workspace = try Workspace()
        try makeEarlier(workspace)
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

    @Test("The commands of the guide work in its order, and print what it shows")
    func guide() throws {
        let workspace = try Workspace()
        try makeEarlier(workspace)
        let page = try Repository.text("docs/guides/upgrade.md")
        var commands: [String] = []
        var shown: [String] = []
        for block in page.matches(of: #/(?s) *```(sh|)\n(.*?)\n *```/#) {
            let lines = block.2.split(separator: "\n").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            if block.1 == "sh" { commands += lines } else { shown += lines }
        }
        #expect(commands == ["weir upgrade --dry-run", "weir upgrade", "weir upgrade --back"])
        var printed: [String] = []
        for command in commands {
            let words = command.split(separator: " ").dropFirst().map(String.init)
            let run = try Program.run("weir", words + workspace.commandLine())
            #expect(run.status == 0, "\(command): \(run.error)")
            printed += (run.error + run.output).split(separator: "\n").map(String.init)
        }
        func plain(_ line: String) -> String {
            line.replacing(workspace.path + "/", with: "").replacing(#/ +/#, with: " ")
                .replacing(#/about \d+ s/#, with: "about 1 s")
                .trimmingCharacters(in: .whitespaces)
        }
        let lines = printed.map(plain)
        for line in shown where !line.hasPrefix("warning: ") {
            #expect(lines.contains(plain(line)), "\(line) of \(lines)")
        }
    }

    /// Two auctions, as an earlier version folded them that did not count losses.
    private func makeEarlier(_ workspace: Workspace) throws {
        try workspace.publishAuctions("a", "b")
        try workspace.foldBids()
        try workspace.execute(
            """
            DROP VIEW bids; ALTER TABLE bids_sums DROP COLUMN losses;
            CREATE VIEW bids AS SELECT number FROM bids_sums
            """, stream: "bids")
    }
}
