import ArgumentParser
import Foundation
import Program
import TestKit
import Testing
import Wording

@testable import weir

@Suite("Bad usage and help")
struct UsageTests {
    private func refusal(_ arguments: String...) -> String? {
        do throws(CommandError) {
            try WeirCommand.requireCommands(arguments)
            return nil
        } catch {
            return error.exitCode == 64 ? error.explanation : "exit code \(error.exitCode)"
        }
    }

    @Test("a misspelt command is bad usage with a suggestion, after help too")
    func commands() {
        #expect(
            refusal("dmup")?.hasPrefix("no command 'weir dmup': did you mean dump? There are ")
                == true)
        #expect(refusal("help", "dmup")?.contains("did you mean dump?") == true)
        #expect(
            refusal("help", "nope")?.hasPrefix("no command 'weir nope': there are demo, ")
                == true)
        #expect(refusal("costs", "imprt", "x.csv")?.contains("did you mean import?") == true)
        for name in [
            ["dump", "nope"], ["help"], ["help", "dump"], ["--version"], ["costs", "--help"], [],
        ] {
            #expect(throws: Never.self) { try WeirCommand.requireCommands(name) }
        }
    }

    @Test(
        "every command group refuses only what is no command of it, and no argument of its default")
    func defaults() {
        #expect(refusal("evidence", "decoded-events", "--out", "x.tar") == nil)
        #expect(refusal("evidence", "verify", "x.tar") == nil)
        #expect(refusal("backup", "/mnt/x") == nil)
    }

    @Test("an option that a command does not have is named with the command and its help")
    func unknownOption() {
        for (arguments, words) in [
            (
                ["digest", "--pipelines", "p"],
                "digest has no option '--pipelines' (see weir digest --help)"
            ),
            (
                ["dead-letters", "list", "--xyzzyxyzzy"],
                "dead-letters list has no option '--xyzzyxyzzy' (see weir dead-letters list --help)"
            ),
            (["--nope"], "Unknown option '--nope' (see weir --help)"),
        ] {
            #expect {
                _ = try WeirCommand.parseAsRoot(arguments)
            } throws: { WeirCommand.commandError($0, arguments) == .usage(words) }
        }
    }

    @Test("no group of options contains another, which would make debug starts slow")
    func flatGroups() {
        var commands: [any ParsableCommand.Type] = [WeirCommand.self]
        var groupCount = 0
        while let command = commands.popLast() {
            commands += command.configuration.subcommands
            for group in groups(of: command) {
                groupCount += 1
                #expect(groups(of: group).isEmpty, "\(command) has \(group)")
            }
        }
        #expect(groupCount > 0)
    }

    private func groups(of type: any ParsableArguments.Type) -> [any ParsableArguments.Type] {
        Mirror(reflecting: type.init()).children.compactMap {
            ($0.value as? any OptionGroupValue)?.members
        }
    }

    @Test("a command that was renamed is understood by its name of before")
    func formerNames() {
        #expect(
            WeirCommand.renamed(["deliveries", "begin-anew", "--data", "d"])
                == ["deliveries", "reset", "--data", "d"])
        #expect(WeirCommand.renamed(["deliveries", "list"]) == ["deliveries", "list"])
    }

    @Test("a negative number is the value of the option before it")
    func negativeNumbers() {
        #expect(
            WeirCommand.joiningNegativeNumbers(["dump", "bids", "--limit", "-3", "--follow", "-h"])
                == ["dump", "bids", "--limit=-3", "--follow", "-h"])
        #expect {
            _ = try WeirCommand.parseAsRoot(
                WeirCommand.joiningNegativeNumbers(["dump", "bids", "--limit", "-3"]))
        } throws: { WeirCommand.message(for: $0) == "--limit is -3: write 1 or more" }
        #expect(throws: Never.self) {
            _ = try WeirCommand.parseAsRoot(["dump", "bids", "--sort", "-bids"])
        }
    }

    @Test("examples in help stay in one line, and all else fits the terminal", arguments: [60, 80])
    func examples(columns: Int) {
        for arguments in [
            ["export", "--help"], ["dump", "--help"], ["deliveries", "list", "--help"], ["--help"],
        ] {
            do {
                // Help is a command, which throws the text.
                var command = try WeirCommand.parseAsRoot(arguments)
                try command.run()
                Issue.record("no help for \(arguments)")
            } catch {
                let text = HelpText.text(error, of: WeirCommand.self, columns: columns)
                let lines = text.split(separator: "\n")
                let overview = lines.prefix { !$0.hasPrefix("USAGE:") }
                for line in lines where line.count > columns {
                    #expect(line.hasPrefix("  ") && overview.contains(line), "\(line)")
                }
                if arguments[0] == "dump" {
                    let example =
                        "  weir dump funnel --columns name,cost_micros,installs --sort cost_micros:desc --limit 10"
                    #expect(lines.contains { $0 == example })
                }
                guard arguments[0] == "export" else { continue }
                let example =
                    "  weir export postbacks --profile weir --changed-since \"$(cat cursor)\" --next-cursor new > rows.csv"
                #expect(lines.contains { $0 == example })
            }
        }
    }

    @Test("a name that is close is suggested, one that is far is not, and all are listed")
    func suggestions() {
        let valid = ["bids", "costs", "postbacks"]
        for (name, suggestion) in [
            ("bid", "bids"), ("bdis", "bids"), ("Costs", "costs"), ("postback", "postbacks"),
            ("cotts", "costs"), ("nope", nil), ("", nil),
        ] as [(String, String?)] {
            #expect(UnknownName(name, valid: valid).suggestion == suggestion, "\(name)")
        }
        #expect(UnknownName("sset", valid: ["hour", "day", "seat"]).suggestion == "seat")
        #expect("\(UnknownName("nope", valid: valid))" == "there are bids, costs, postbacks")
        #expect("\(UnknownName("x", valid: []))" == "there are none")
    }
}

/// A group of options, of any type.
private protocol OptionGroupValue {
    var members: any ParsableArguments.Type { get }
}

extension OptionGroup: OptionGroupValue {
    fileprivate var members: any ParsableArguments.Type { Value.self }
}
