import Foundation

/// A command of a page, as it stands behind `$` in a block of the kind `console`, and what it prints.
struct PageStep: Equatable {
    var command: String
    var output: String

    /// All of a page, in order. A command that ends with a backslash goes on in the next line.
    static func steps(of path: String) throws -> [PageStep] {
        let text = try String(contentsOfFile: Repository.path(path), encoding: .utf8)
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
