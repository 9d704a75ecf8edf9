import ArgumentParser
import Foundation
import Monitoring
import Worker

/// The operator's command.
@main
struct WeirCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "weir",
        abstract: "Measures what advertising did, from the event streams of app advertising.",
        discussion: """
            First steps, beside the folders topics and pipelines:

              weir demo                    all of it on sample records, in a second
              weir topics apply            create the topics of topics/
              weir publish --topic bids F  put records of the NDJSON file F there
              weir-bids --until-end        fold them into data/bids.sqlite
              weir dump bids --by day,seat see what was counted
              weir lag                     how far behind each partition is
              weir digest                  one line that is the same for equal states

            The log is data/log.sqlite unless --log or WEIR_LOG names another; stores lie in data \
            unless --data or WEIR_DATA says otherwise. What was asked for goes to standard output, \
            everything else to standard error. Exit codes: 0 done, 1 failed, 64 bad usage. When nobody reads \
            standard output any more, as with `| head`, a command ends with 0 and without a word; a \
            standard error that nobody reads ends nothing.
            """,
        version: WeirVersion.current,
        subcommands: [
            PublishCommand.self, ReadCommand.self, TopicsCommand.self, DumpCommand.self,
            DigestCommand.self, ExplainCommand.self, EvidenceCommand.self, DiffCommand.self,
            WhatIfCommand.self, ChangesCommand.self, ReconcileCommand.self, ExportCommand.self,
            VerifyCommand.self, DecodeCommand.self,
            CheckCommand.self, LagCommand.self, ArchiveCommand.self, BackupCommand.self,
            PartnersCommand.self,
            DeliveriesCommand.self, ReplayCommand.self, PromoteCommand.self, TokenCommand.self,
            UpCommand.self, DemoCommand.self, LogCommand.self, DeadLettersCommand.self,
        ])

    static func main() {
        StandardStream.prepare()
        Foundation.exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    /// Runs a command line and returns the exit code.
    private static func run(_ arguments: [String]) -> Int32 {
        do {
            var command = try parseAsRoot(arguments)
            try command.run()
            return 0
        } catch let error as CleanExit {
            StandardStream.output.write(fullMessage(for: error) + "\n")
            return 0
        } catch {
            guard exitCode(for: error) != .success else {
                StandardStream.output.write(fullMessage(for: error) + "\n")
                return 0
            }
            return report(commandError(error))
        }
    }

    private static func commandError(_ error: any Error) -> CommandError {
        if let error = CommandError(error) { return error }
        // Whatever else a part of Weir throws has nothing to do with the command line.
        guard exitCode(for: error) == .validationFailure else { return .failure("\(error)") }
        let words = message(for: error).split(whereSeparator: \.isNewline).joined(separator: "; ")
        return .usage("\(words) (see weir --help)")
    }

    private static func report(_ error: CommandError) -> Int32 {
        if let words = error.words {
            Notice.write(words)
        }
        return error.exitCode
    }
}
