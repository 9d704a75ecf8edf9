import ArgumentParser

/// The text of `--help`: indented lines above the usage are examples and stay unchanged, so that they can be copied.
/// All other lines are wrapped.
package enum HelpText {
    /// The column where swift-argument-parser starts the description of an option.
    private static let optionColumn = 26
    /// Wide enough that swift-argument-parser wraps nothing.
    private static let unwrapped = 100_000

    /// Requests of other programs, whose output stays unchanged: scripts and JSON.
    private static let ofPrograms = [
        "---completion", "--generate-completion-script", "--experimental-dump-help",
    ]

    /// The output for a request for help or for the version.
    package static func text<Command: ParsableCommand>(
        _ error: any Error, of command: Command.Type, columns: Int? = nil
    ) -> String {
        let text = command.fullMessage(for: error, columns: unwrapped)
        let first = CommandLine.arguments.dropFirst().first ?? ""
        guard !ofPrograms.contains(where: first.hasPrefix) else { return text }
        return wrapped(text, to: columns ?? StandardStream.output.terminalColumns ?? 80)
    }

    static func wrapped(_ text: String, to columns: Int) -> String {
        var isBeforeUsage = true
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let isUsage = line.hasPrefix("USAGE:")
            if isUsage { isBeforeUsage = false }
            guard line.count > columns, !(isBeforeUsage && line.hasPrefix(" ")) else {
                return String(line)
            }
            let indent = isBeforeUsage ? 0 : isUsage ? "USAGE: ".count : optionColumn
            return wrapped(line, to: max(columns, indent + 20), indent: indent)
        }.joined(separator: "\n")
    }

    /// Wraps a line; all lines but the first are indented.
    private static func wrapped(_ line: Substring, to columns: Int, indent: Int) -> String {
        var lines: [String] = []
        var rest = line
        var width = columns
        while rest.count > width {
            let head = rest.prefix(width + 1)
            let isFirst = lines.isEmpty
            // The spaces before an option's description are not break points.
            let searched = isFirst ? head.dropFirst(indent) : head
            guard
                let space = searched.lastIndex(of: " ")
                    ?? rest.dropFirst(isFirst ? indent : 0).firstIndex(of: " ")
            else { break }
            lines.append(String(rest[..<space]))
            rest = rest[rest.index(after: space)...]
            width = columns - indent
        }
        lines.append(String(rest))
        let spaces = String(repeating: " ", count: indent)
        return lines.enumerated().map { $0 == 0 ? $1 : spaces + $1 }.joined(separator: "\n")
    }
}
