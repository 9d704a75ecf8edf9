import TestKit
import Testing

@Suite("Rows of zeros")
struct ZeroRowsTests {
    @Test(
        "a row in which every measure that is asked for is zero is left out",
        arguments: ["--measures", "--columns"])
    func zeroRows(_ option: String) throws {
        let workspace = try Workspace()
        try workspace.publish(
            "bids", Samples.bid("a"), Samples.bid("b", price: "0", at: Samples.start + 86_400_000))
        try workspace.foldBids()
        func dump(_ arguments: String...) throws -> String {
            let ran = try Program.run(
                "weir", ["dump", "bids"] + arguments + workspace.commandLine())
            #expect(ran.status == 0, "\(ran.error)")
            return ran.output
        }
        let shown =
            option == "--measures" ? "price_micros" : "day,price_micros"
        for format in ["csv", "table"] {
            let output = try dump("--by", "day", option, shown, "--format", format)
            #expect(output.contains("2026-11-21") && !output.contains("2026-11-22"), "\(output)")
        }
        let whole = try dump("--by", "day", "--measures", "auctions", "--format", "csv")
        #expect(whole == "day,auctions\r\n2026-11-21,1\r\n2026-11-22,1\r\n")
    }
}
