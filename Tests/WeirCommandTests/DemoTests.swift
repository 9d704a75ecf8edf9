import Foundation
import TestKit
import Testing

@Suite("The demo", .serialized)
struct DemoTests {
    private func demo(_ workspace: UpWorkspace, _ arguments: String...) throws -> Program {
        try workspace.weir(
            ["demo", "--data", workspace.data, "--pipelines", Repository.path("pipelines")]
                + ["--topics", Repository.path("topics"), "--end", "2026-11-26"] + arguments)
    }

    @Test(
        "it prints a funnel that fits a terminal and the last day's spend, with their commands, and the digest"
    )
    func output() throws {
        let workspace = try UpWorkspace()
        let ran = try demo(workspace, "--days", "6", "--scale", "0.2")
        try #require(ran.status == 0, "\(ran.error)")
        let printed = ran.output.components(separatedBy: "\n\n").map {
            $0.split(separator: "\n", maxSplits: 2).map(String.init)
        }
        #expect(
            printed.prefix(2).map(\.first) == [
                "Campaigns, 2026-11-20 to 2026-11-25 (UTC):",
                "Spend of the last day, 2026-11-25 (UTC):",
            ])
        for part in printed.prefix(2) {
            try #require(part.count == 3 && part[1].hasPrefix("  weir "))
            let command = part[1].split(separator: " ").dropFirst().map(String.init)
            #expect(try workspace.weir(command).output == part[2] + "\n")
        }
        #expect((3...13).contains(printed[0][2].split(separator: "\n").count))
        #expect(printed[1][2].wholeMatch(of: /\s*cost_micros\s+USD [\d.]+/) != nil)
        #expect(ran.output.contains("weir dashboard --data \(workspace.data)\n"))
        #expect(ran.output.contains("open http://127.0.0.1:8090\n"))
        let digest = try workspace.weir("digest", "--data", workspace.data).output
        #expect(ran.output.contains("Digest of the stores: \(digest)"))

        let checked = try workspace.weir(
            "check", "--data", workspace.data, "--topics", Repository.path("topics"))
        #expect(checked.status == 0, "\(checked.output)\(checked.error)")
        #expect(checked.output.contains("\(workspace.data)/pipelines (of the data directory)"))
        #expect(try demo(workspace).error.contains("contains a log already"))
    }

    @Test(
        "a number that makes no demo is refused",
        arguments: [
            ["--days", "0"], ["--scale", "0"], ["--end", "yesterday"], ["--end", "2026-13-01"],
        ])
    func refusals(_ arguments: [String]) throws {
        let workspace = try UpWorkspace()
        let ran = try workspace.weir(["demo", "--data", workspace.data] + arguments)
        #expect(ran.status == 64, "\(ran.error)")
        #expect(!FileManager.default.fileExists(atPath: workspace.data))
    }

    @Test("a configuration behind a link stays as it is")
    func linkedConfiguration() throws {
        let workspace = try UpWorkspace()
        let files = FileManager.default
        let original = workspace.files.path + "/original"
        let link = workspace.files.path + "/link"
        try files.copyItem(atPath: Repository.path("pipelines"), toPath: original)
        try files.createSymbolicLink(atPath: link, withDestinationPath: original)
        let ran = try workspace.weir([
            "demo", "--data", workspace.data, "--pipelines", link, "--topics",
            Repository.path("topics"), "--end", "2026-11-26", "--days", "1", "--scale", "0.1",
        ])
        #expect(ran.status == 0, "\(ran.error)")
        #expect(
            files.contentsEqual(atPath: original, andPath: Repository.path("pipelines")))
    }
}
