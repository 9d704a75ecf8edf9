import ArgumentParser
import Foundation
import Logging
import Wording

// The common part of all executables: start, stop, options and environment, the two output streams, and the exit. A
// program is a `CommandLineProgram`:
//
//     @main
//     enum Main {
//         static func main() { StreamWorker<BidsFold>.start() }
//     }

/// An error in the command line, or in an environment variable that replaces an option.
package struct UsageError: OperatorError {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }

    package var isUsage: Bool { true }
}

/// A program that works until it is done or asked to stop: options in, exit code out.
package protocol CommandLineProgram: ParsableCommand {
    /// Name of the program; for a worker also that of its consumer group.
    static var programName: String { get }
}

extension CommandLineProgram {
    /// Parses the command line, runs the program, and ends the process: 0 done, 1 failed with one line on standard
    /// error, 64 bad usage.
    package static func start() -> Never {
        StandardStream.prepare()
        StopSignal.listen()
        ReloadSignal.listen()
        LoggingSystem.bootstrap { ConsoleLogHandler(label: $0, level: .info) }
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            failOrExit(error)
        }
        Foundation.exit(0)
    }

    /// Help and bad usage end as the argument parser defines; anything else is one line.
    private static func failOrExit(_ error: any Error) -> Never {
        if exitCode(for: error) != .failure || error is CleanExit || error is ValidationError {
            exit(withError: error)
        }
        StandardError.write(line: "\(programName): \(error)")
        Foundation.exit((error as? any OperatorError)?.exitCode ?? 1)
    }

    /// Ends the process as the argument parser would, but with one line for a wrong command line, as for every other
    /// failure.
    private static func exit(withError error: any Error) -> Never {
        let code = exitCode(for: error)
        guard code == .validationFailure else {
            StandardStream.output.write(HelpText.text(error, of: self) + "\n")
            Foundation.exit(code.rawValue)
        }
        let explanation = message(for: error).split(whereSeparator: \.isNewline).joined(
            separator: "; ")
        StandardError.write(line: "\(programName): \(explanation) (see \(programName) --help)")
        Foundation.exit(code.rawValue)
    }
}
