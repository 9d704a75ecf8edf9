import Foundation
import TestKit
import Testing

@testable import weir

@Suite("The demo", .serialized)
struct DemoTests {
    /// A command that is shown, with the lines below it.
    private struct Shown: Equatable {
        let command: String
        var lines: [String] = []
    }

    @Test("every command that it shows prints what stands below it")
    func commands() throws {
        let workspace = try UpWorkspace()
        let ran = try workspace.weir(
            "demo", "--data", workspace.data, "--pipelines", Repository.path("pipelines"),
            "--topics",
            Repository.path("topics"))
        try #require(ran.status == 0, "\(ran.error)")
        let shown = Self.shown(in: ran.output)
        #expect(shown.count > 14)
        for shown in shown {
            let words = shown.command.split(separator: " ").dropFirst().map(String.init)
            let options =
                ["--data", workspace.data]
                + (words.first == "dump" ? ["--pipelines", Repository.path("pipelines")] : [])
            let said = try workspace.weir(words + options)
            #expect(said.status == 0, "\(said.error)")
            #expect(said.output.split(separator: "\n").map(String.init) == shown.lines)
        }
    }

    /// The commands in a text, each with what is indented below it.
    private static func shown(in text: String) -> [Shown] {
        var found: [Shown] = []
        var isBelow = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("$ ") {
                found.append(Shown(command: String(line.dropFirst(2))))
                isBelow = true
            } else if isBelow, line.hasPrefix("  ") {
                found[found.count - 1].lines.append(String(line.dropFirst(2)))
            } else {
                isBelow = false
            }
        }
        return found
    }
}
