import Foundation
import Streams
import Testing

@testable import weir

@Suite("Commands that operators are told to type")
struct CommandsTests {
    private let ops = OpsDirectory()
    private let options: Set = [
        "--log", "--data", "--pipelines", "--until-end", "--partitions", "--metrics", "--member",
        "--accept-partition-count", "--accept-missing-records", "--topic", "--topics",
        "--partition", "--from", "--to",
        "--archive", "--follow", "--format", "--by", "--where", "--since", "--until", "--names",
        "--unmasked", "--quick", "--from-offset", "--from-time", "--help", "--partner", "--state",
        "--listen", "--reason", "--dry-run", "--beyond-stores", "--back", "--app", "--bundle",
        "--network", "--version", "--experimental-dump-help", "--stream", "--standby",
    ]
    private let variables: Set = [
        "WEIR_LANES", "WEIR_LOG", "WEIR_DATA", "WEIR_PIPELINES", "WEIR_TOPICS", "WEIR_FORMAT",
        "WEIR_PARTITIONS",
        "WEIR_UNTIL_END", "WEIR_NAMES", "WEIR_UNMASKED", "WEIR_METRICS", "WEIR_MEMBER",
        "WEIR_ARCHIVE", "WEIR_LISTEN", "WEIR_GROUP", "WEIR_DASHBOARD",
        // Of scripts.
        "WEIR_SYMBOLS", "WEIR_PACKAGE_TEST", "WEIR_CLEAN_DEBIAN",
    ]
    private let programs = Set(
        ["weir", "weir-partner-postbacks", "weir-collector"]
            + allStreams.map { $0.programName })
    private let commands = Set(
        WeirCommand.configuration.subcommands.compactMap { $0.configuration.commandName })

    @Test("every option of a program of Weir is one that it has")
    func namedOptions() throws {
        var found = 0
        for path in try ops.paths() {
            for words in try invocations(in: path) {
                for word in words where word.hasPrefix("--") {
                    let option = String(word.prefix { $0 != "=" })
                    #expect(options.contains(option), "\(path): \(words.joined(separator: " "))")
                    found += 1
                }
            }
        }
        #expect(found > 20)
    }

    @Test("every command of weir is one that it has")
    func namedCommands() throws {
        var found = 0
        for path in try ops.paths(endingIn: ".md") {
            for words in try invocations(in: path) where words[0] == "weir" {
                let command = try #require(words.dropFirst().first, "\(path)")
                #expect(commands.contains(command), "\(path): \(words.joined(separator: " "))")
                found += 1
            }
        }
        #expect(found > 10)
    }

    @Test("every variable is one that a program reads")
    func namedVariables() throws {
        var found: Set<String> = []
        for path in try ops.paths() {
            found.formUnion(
                try ops.text(path).matches(of: /WEIR_[A-Z_]+/).map { String($0.output) })
        }
        #expect(found.subtracting(variables).isEmpty)
        #expect(found.contains("WEIR_LOG"))
    }

    /// The commands of a page or script, each from the name of its program on. A page has commands only in code.
    private func invocations(in path: String) throws -> [[String]] {
        let text = try ops.text(path)
        let code = path.hasSuffix(".md") ? Self.code(of: text) : text
        return code.replacing("\\\n", with: " ").replacing("\"", with: " ").split(separator: "\n")
            .flatMap { $0.split { "|;&#()[]<>".contains($0) } }
            .compactMap { command in
                let words = command.split { $0 == " " || $0 == "," }.map(String.init)
                guard let start = words.lastIndex(where: programs.contains),
                    start + 1 < words.count, start == 0 || !isOfOthers(words[start - 1])
                else { return nil }
                return Array(words[start...])
            }
    }

    /// The code of a page, in its blocks and its lines.
    private static func code(of page: String) -> String {
        page.matches(of: /```[a-z]*\n((?s:.*?))```|`([^`\n]+)`/)
            .map { String($0.1 ?? $0.2 ?? "") }.joined(separator: "\n")
    }

    /// Words of other programs, after which services and groups are called as the programs that run in
    /// them; an option of theirs takes a value. After `--` alone a command begins.
    private func isOfOthers(_ word: String) -> Bool {
        (word.hasPrefix("--") && word != "--" && word != "--rm")
            || ["up", "stop", "start", "restart", "logs", "statefulset"].contains(word)
    }
}
