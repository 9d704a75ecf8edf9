import Foundation
import TestKit
import Testing

@Suite("Pages whose lines are typed", .serialized, .timeLimit(.minutes(15)))
struct PageTests {
    @Test(
        "from zero to a first postback, every line works as written, and answers what stands below it",
        arguments: [
            "docs/first-postback-network.md", "docs/first-postback-advertiser.md",
            "docs/first-postback-publisher.md", "README.md",
        ])
    func firstPostback(_ path: String) throws {
        let place = try PagePlace()
        let steps = try type(path, in: place)
        #expect(steps.contains { $0.command.contains("postback-4.0.json") })
        #expect(try place.stop("weir up") == 0)
    }

    @Test("a number is explained, corrected and proved by the lines of the page as written")
    func correction() throws {
        let steps = try type("docs/correcting-a-number.md", in: PagePlace())
        #expect(steps.contains { $0.command.hasPrefix("weir promote") })
    }

    @Test("which campaigns earned their cost is answered by the lines of the page as written")
    func returns() throws {
        let steps = try type("docs/roas.md", in: PagePlace())
        #expect(steps.contains { $0.command.hasPrefix("weir plot roas") })
    }

    /// Runs the steps of a page, and compares what they print with what the page says.
    private func type(_ path: String, in place: PagePlace) throws -> [PageStep] {
        let steps = try PageStep.steps(of: path)
        for step in steps {
            let expected = place.plain(step.output)
            let said = try place.run(step, until: expected)
            #expect(said == expected, "\(step.command)")
        }
        return steps
    }
}

/// A command of a page, as it stands behind `$` in a block of the kind `console`, and what it prints.
struct PageStep: Equatable {
    var command: String
    var output: String

    /// All of a page, in order. A command that ends with a backslash goes on in the next line.
    static func steps(of path: String) throws -> [PageStep] {
        let text = try Repository.text(path)
        var steps: [PageStep] = []
        var isInside = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInside = line == "```console"
            } else if isInside, line.hasPrefix("$ ") {
                steps.append(PageStep(command: String(line.dropFirst(2)), output: ""))
            } else if isInside, let last = steps.indices.last {
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
