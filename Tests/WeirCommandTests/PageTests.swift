import Foundation
import TestKit
import Testing

@Suite("Pages whose commands are run", .serialized, .timeLimit(.minutes(15)))
struct PageTests {
    @Test(
        "each command of a page works as written and prints the output below it",
        arguments: PageStep.pages)
    func page(_ path: String) throws {
        let workspace = try PageWorkspace()
        let steps = try type(path, in: workspace)
        #expect(!steps.isEmpty)
        if steps.contains(where: { $0.command == "weir up &" }) {
            #expect(try workspace.stop("weir up") == 0)
        }
    }

    @Test("every tutorial has commands that are run")
    func tutorials() throws {
        let tutorials = try Repository.pages().filter {
            $0.hasPrefix("docs/start/")
        }
        #expect(tutorials.count > 3)
        #expect(Set(tutorials).isSubset(of: PageStep.pages))
    }

    /// Runs the steps of a page, and compares their output with the page.
    private func type(_ path: String, in workspace: PageWorkspace) throws -> [PageStep] {
        let steps = try PageStep.steps(of: path)
        for step in steps {
            let expected = workspace.plain(step.output)
            let said = try workspace.run(step, until: expected)
            #expect(said == expected, "\(step.command)")
        }
        return steps
    }
}

/// A command after `$` in a `console` block of a page, and its output.
struct PageStep: Equatable {
    var command: String
    var output: String

    /// The Markdown files that have a `console` block.
    static let pages: [String] =
        (try? Repository.pages().filter { try Repository.text($0).contains("```console\n") })
        ?? []

    /// All steps of a page, in order. A command that ends with a backslash continues in the next line.
    static func steps(of path: String) throws -> [PageStep] {
        let text = try Repository.text(path)
        var steps: [PageStep] = []
        // The indentation of the current block, for example within a list.
        var indentation: Int?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            guard let spaces = indentation else {
                let words = line.drop { $0 == " " }
                if words == "```console" { indentation = line.count - words.count }
                continue
            }
            let line = line.isEmpty ? line : line.dropFirst(spaces)
            if line == "```" {
                indentation = nil
            } else if line.hasPrefix("$ ") {
                steps.append(PageStep(command: String(line.dropFirst(2)), output: ""))
            } else if let last = steps.indices.last {
                if steps[last].command.hasSuffix("\\") {
                    steps[last].command += "\n" + line
                } else {
                    steps[last].output += line + "\n"
                }
            }
        }
        return steps
    }
}
