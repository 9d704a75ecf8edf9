import TestKit
import Testing

@Suite("Stores that another version of Weir folded")
struct OtherRulesTests {
    @Test("commands that print numbers name the store and both rules, and print the numbers anyway")
    func warnings() throws {
        let place = try Workplace()
        try place.publishAuctions("a", "b")
        try place.foldBids()
        let data = ["--data", place.path + "/data"]
        let all = place.commandLine()
        let asked = [
            ["dump", "bids", "--by", "seat"] + all,
            ["dump", "bids", "--by", "seat", "--format", "csv"] + all, ["digest"] + data,
        ]
        let before = try asked.map { try Program.run("weir", $0) }
        #expect(before.allSatisfy { $0.status == 0 && !$0.error.contains("warning") })
        try place.execute(
            "UPDATE epochs SET configuration = replace(configuration, '\"rules\":2', '\"rules\":1'), configuration_hash = 'x'",
            stream: "bids")
        let warning =
            "warning: \(place.path)/data/bids.sqlite was folded with rules 1, but this version of Weir uses rules 2: fold it again (weir replay --topic TOPIC --into DIR --configuration present, then weir promote DIR), or use the version of Weir that folded it"
        for (arguments, first) in zip(asked, before) {
            let ran = try Program.run("weir", arguments)
            #expect(ran.status == 0)
            #expect(ran.error.components(separatedBy: warning).count == 2, "\(ran.error)")
            if arguments[0] == "dump" { #expect(ran.output == first.output) }
        }
        let explained = try Program.run("weir", ["explain", "bids"] + all)
        #expect(explained.status == 1)
        #expect(explained.error.contains(warning))
        // The option is of replay alone.
        #expect(
            explained.error.contains(
                "fold the log again with the present configuration (weir replay --into DIR --configuration present, then weir promote DIR)"
            ), "\(explained.error)")
        // Other streams have no part in these numbers.
        let costs = try Program.run("weir", ["dump", "costs"] + all)
        #expect(!costs.error.contains("warning"), "\(costs.error)")
    }
}
