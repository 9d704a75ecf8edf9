import TestKit
import Testing

@Suite("Exports for partners")
struct PartnerExportTests {
    @Test("an export for a partner without an address says that its postbacks were not sent")
    func partnerThatIsOff() throws {
        let workspace = try Workspace()
        try workspace.configurePostbacks()
        try workspace.publishPostbacks("a")
        try workspace.foldPostbacks()
        func export() throws -> Program {
            try Program.run(
                "weir",
                ["export", "postbacks", "--profile", "weir", "--partner", "acme"]
                    + workspace.commandLine())
        }
        let words = "exported 1 postback that was published for partner acme"
        let on = try export()
        #expect(on.error.contains(words) && !on.error.contains("is off"), "\(on.error)")
        try workspace.write("partners/acme.yaml", "name: acme\ntrust: [valid]\ndelivery: {}\n")
        let off = try export()
        #expect(off.error.contains(words), "\(off.error)")
        #expect(off.error.contains("partner acme is off: "), "\(off.error)")
        #expect(off.output == on.output)
    }
}
