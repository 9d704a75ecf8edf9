import ArgumentParser
import ConfigurationValues
import Engine
import EventLog
import Foundation
import History
import Monitoring
import Program
import Reports
import Store
import Streams
import Wording

/// The operator's command.
///
/// A subcommand is a file of `Commands`, together with its private types. The other folders have shared code: `Options`
/// has locations and selections, `Output.swift` prints. A command validates its options, calls the library that does
/// the work, and prints the result:
///
///     let report = try LagReport(directories: data.directories, log: log, nowMilliseconds: now)
///     try BufferedOutput.print(report, as: format)
@main
struct WeirCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "weir",
        abstract: "Measures app advertising from its event streams.",
        discussion: """
            First steps:

              weir demo --data demo        run the whole pipeline on 60 days of sample records
              weir dashboard --data demo   show them at http://127.0.0.1:8090
              weir init                    write a configuration to edit into pipelines/
              weir topics apply            create the topics of the log
              weir publish --topic bids F  publish the records of the NDJSON file F
              weir-bids --until-end        fold them into data/bids.sqlite
              weir dump bids --by day,seat print the counts
              weir lag                     print the lag of each partition
              weir digest                  print one line that is the same for equal states

            The log is data/log.sqlite unless you give --log or WEIR_LOG. The stores are in data unless you give \
            --data or WEIR_DATA. Commands write results to standard output and everything else to standard \
            error.

            Exit codes: 0 done, 1 failed, 64 bad usage. If the reader of standard output ends early, as with `| \
            head`, the command ends with 0 and without a message. A closed standard error does not end a \
            command.
            """,
        version: WeirVersion.current,
        groupedSubcommands: [
            CommandGroup(
                name: "Run", subcommands: [DemoCommand.self, UpCommand.self, DashboardCommand.self]),
            CommandGroup(
                name: "Log",
                subcommands: [
                    TopicsCommand.self, PublishCommand.self, CostsCommand.self, ReadCommand.self,
                    DeadLettersCommand.self, LogCommand.self, ArchiveCommand.self,
                ]),
            CommandGroup(
                name: "Read",
                subcommands: [
                    DumpCommand.self, ReportCommand.self, PlotCommand.self, ExplainCommand.self,
                    EvidenceCommand.self, ExportCommand.self, VerifyCommand.self,
                    DecodeCommand.self, DigestCommand.self,
                ]),
            CommandGroup(
                name: "Correct",
                subcommands: [
                    ReconcileCommand.self, WhatIfCommand.self, ReplayCommand.self,
                    DiffCommand.self, PromoteCommand.self, ChangesCommand.self,
                ]),
            CommandGroup(
                name: "Operate",
                subcommands: [
                    CheckCommand.self, LagCommand.self, WatchCommand.self, BackupCommand.self,
                    HandoffCommand.self, UpgradeCommand.self, PartnersCommand.self,
                    DeliveriesCommand.self, EraseCommand.self, ActionsCommand.self,
                ]),
            CommandGroup(name: "Configure", subcommands: [InitCommand.self, TokenCommand.self]),
        ])

    static func main() {
        if let other = ProgramNames.program(startedAs: CommandLine.arguments.first) {
            other.start()
        }
        StandardStream.prepare()
        Foundation.exit(run(renamed(Array(CommandLine.arguments.dropFirst()))))
    }

    /// The arguments with current names in place of command names of the previous version.
    static func renamed(_ arguments: [String]) -> [String] {
        let isFormer = arguments.starts(with: ["deliveries", "begin-anew"])
        return isFormer ? ["deliveries", "reset"] + arguments.dropFirst(2) : arguments
    }

    private static func run(_ arguments: [String]) -> Int32 {
        do {
            try requireNoKey(arguments)
            try requireCommands(arguments)
            var command = try parseAsRoot(joiningNegativeNumbers(arguments))
            try command.run()
            return 0
        } catch {
            guard exitCode(for: error) != .success else {
                StandardStream.output.write(HelpText.text(error, of: self) + "\n")
                return 0
            }
            return report(commandError(error, arguments))
        }
    }

    /// Throws if an argument has the content of a private key, for example instead of the path of its file: errors
    /// would print it.
    private static func requireNoKey(_ arguments: [String]) throws(CommandError) {
        guard !arguments.contains(where: { $0.contains("PRIVATE KEY-----") }) else {
            throw .usage("an argument is a private key: give the path of its file, not its content")
        }
    }

    /// Throws for an unknown subcommand. swift-argument-parser would at best name the word, and for `help` would print
    /// the help of the preceding words.
    static func requireCommands(_ arguments: [String]) throws(CommandError) {
        let isHelp = arguments.first == "help"
        var command: any ParsableCommand.Type = self
        var path = "weir"
        for word in isHelp ? arguments.dropFirst() : arguments[...] {
            let subcommands = command.configuration.subcommands
            guard !word.hasPrefix("-"), !subcommands.isEmpty, !(isHelp && word == "help") else {
                return
            }
            guard let next = subcommands.first(where: { $0._commandName == word }) else {
                // The word may be an argument of the default subcommand.
                guard isHelp || command.configuration.defaultSubcommand == nil else { return }
                let suggestion = UnknownName(word, valid: subcommands.map { $0._commandName })
                throw .usage("no command '\(path) \(word)': \(suggestion) (see \(path) --help)")
            }
            command = next
            path += " \(word)"
        }
    }

    /// Joins each option with a following negative number: `--limit=-3`. Otherwise swift-argument-parser parses the
    /// number as an option and reports a missing value.
    static func joiningNegativeNumbers(_ arguments: [String]) -> [String] {
        var joined: [String] = []
        for argument in arguments {
            if argument.wholeMatch(of: /-[0-9].*/) != nil, let option = joined.last,
                option.wholeMatch(of: /--[a-z][a-z-]*/) != nil
            {
                joined[joined.count - 1] = "\(option)=\(argument)"
            } else {
                joined.append(argument)
            }
        }
        return joined
    }

    /// The command path at the start of the arguments, without `weir`: `dead-letters list`. Empty without a command.
    static func path(of arguments: [String]) -> String {
        var command: any ParsableCommand.Type = self
        var words: [String] = []
        for word in arguments {
            guard
                let next = command.configuration.subcommands.first(where: {
                    $0._commandName == word
                })
            else { break }
            command = next
            words.append(word)
        }
        return words.joined(separator: " ")
    }

    static func commandError(_ error: any Error, _ arguments: [String]) -> CommandError {
        if let error = CommandError(error) { return error }
        // Other errors of Weir are not errors of the command line.
        guard exitCode(for: error) == .validationFailure else { return .failure("\(error)") }
        let explanation = message(for: error).split(whereSeparator: \.isNewline).joined(
            separator: "; ")
        let path = path(of: arguments)
        guard !path.isEmpty else { return .usage("\(explanation) (see weir --help)") }
        let unknown = "Unknown option "
        let words =
            explanation.hasPrefix(unknown)
            ? "\(path) has no option \(explanation.dropFirst(unknown.count))" : explanation
        return .usage("\(words) (see weir \(path) --help)")
    }

    private static func report(_ error: CommandError) -> Int32 {
        if let explanation = error.explanation {
            Console.write(explanation)
        }
        return error.exitCode
    }
}
