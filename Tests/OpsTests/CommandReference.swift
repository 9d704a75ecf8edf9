import Foundation

/// What `--experimental-dump-help` prints of a program.
struct HelpDump: Decodable {
    struct Command: Decodable {
        var commandName: String
        var abstract: String?
        var discussion: String?
        var arguments: [Argument]?
        var subcommands: [Command]?
        var defaultSubcommand: String?
    }

    struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }

        var kind: String
        var abstract: String?
        var discussion: String?
        var isOptional: Bool
        var isRepeating: Bool
        var names: [Name]?
        var valueName: String?
        var defaultValue: String?
        var shouldDisplay: Bool
    }

    var command: Command
}

/// Every program and command with its arguments and options, as docs/reference/commands.md lists them.
struct CommandReference {
    /// Options with the same text in as many commands of a group are described once.
    private static let commonCount = 4

    private struct Entry {
        var path: String
        var command: HelpDump.Command
        var options: [(name: String, text: String)]
    }

    private let text: MarkdownText
    private let groups: [(title: String, entries: [Entry])]

    /// - Parameter programs: help of `weir` first, then of the other programs.
    init(_ programs: [HelpDump]) throws {
        let entries = programs.map { Self.entries($0.command, path: []) }
        text = try MarkdownText(page: "reference", names: entries.joined().map(\.path))
        groups = [
            ("weir", entries.first ?? []),
            ("workers and services", Array(entries.dropFirst().joined())),
        ]
    }

    var lines: [String] {
        groups.flatMap { title, entries in
            let texts = entries.flatMap { $0.options.map { [$0.name, $0.text] } }
            let counts = Dictionary(texts.map { ($0, 1) }, uniquingKeysWith: +)
            var seen: Set<[String]> = []
            let common = texts.filter {
                counts[$0, default: 0] >= Self.commonCount && seen.insert($0).inserted
            }
            let name = "Common options of \(title)"
            let sections = entries.flatMap { entry in
                lines(of: entry, common: Set(common), name: name)
            }
            return ["## \(name)", ""] + common.flatMap { text.item("`\($0[0])`: \($0[1])") } + [""]
                + sections
        } + variables
    }

    private func lines(of entry: Entry, common: Set<[String]>, name: String) -> [String] {
        let level = entry.path.contains(" ") ? "###" : "##"
        var lines = ["\(level) `\(entry.path)`", ""]
        lines += text.paragraphs(entry.command.abstract ?? "") + [""]
        if let discussion = entry.command.discussion, !discussion.isEmpty {
            lines += text.paragraphs(discussion) + [""]
        }
        let own = entry.options.filter { !common.contains([$0.name, $0.text]) }
        if !own.isEmpty { lines += own.flatMap { text.item("`\($0.name)`: \($0.text)") } + [""] }
        let shared = entry.options.filter { common.contains([$0.name, $0.text]) }
        if !shared.isEmpty {
            let names = shared.map { "`\($0.name.prefix { $0 != " " })`" }.joined(separator: ", ")
            lines += text.paragraphs("Common: \(names).") + [""]
        }
        return lines
    }

    /// The environment variables, and the options that they stand for.
    private var variables: [String] {
        var options: [String: Set<String>] = [:]
        for entry in groups.flatMap(\.entries) {
            for option in entry.options where option.name.hasPrefix("--") {
                for name in option.text.matches(of: /[(\[](WEIR_[A-Z_]+)/) {
                    options[String(name.1), default: []].insert(
                        String(option.name.prefix { $0 != " " }))
                }
            }
        }
        let rows = options.sorted { $0.key < $1.key }.map { name, options in
            "| `\(name)` | \(options.sorted().map { "`\($0)`" }.joined(separator: ", ")) |"
        }
        return ["## Environment variables", "", "| variable | option |", "|---|---|"] + rows
    }

    private static func entries(_ command: HelpDump.Command, path: [String]) -> [Entry] {
        let path = path + [command.commandName]
        let options = (command.arguments ?? []).filter(\.shouldDisplay).compactMap(Self.option)
        let entry = Entry(path: path.joined(separator: " "), command: command, options: options)
        return [entry]
            + (command.subcommands ?? []).filter { $0.commandName != "help" }
            .flatMap { entries($0, path: path) }
    }

    /// The name of an argument or option with its value, and its text; nil for those that all commands have.
    private static func option(_ argument: HelpDump.Argument) -> (name: String, text: String)? {
        let names = (argument.names ?? []).map { ($0.kind == "short" ? "-" : "--") + $0.name }
        guard !names.contains("--help"), !names.contains("--version"),
            argument.valueName != "subcommands"
        else { return nil }
        let value = "<\(argument.valueName ?? "value")>"
        let name =
            switch argument.kind {
            case "positional": value + (argument.isRepeating ? "..." : "")
            case "flag": names.joined(separator: ", ")
            default: "\(names.joined(separator: ", ")) \(value)"
            }
        var text = [argument.abstract, argument.discussion].compactMap { $0 }
            .filter { !$0.isEmpty }.joined(separator: " ")
        if let byDefault = argument.defaultValue { text += " Default: `\(byDefault)`." }
        return (name, text)
    }
}
