public import ArgumentParser
import Foundation
import Logging

/// A program that works until it is done or asked to stop: options in, exit code out.
public protocol CommandLineProgram: ParsableCommand {
    /// Name of the program; of a worker also that of its consumer group.
    static var programName: String { get }
}

extension CommandLineProgram {
    /// Parses the command line, runs the program, and ends the process: 0 done, 1 failed with one line
    /// on standard error, 64 bad usage.
    public static func start() -> Never {
        StopSignal.listen()
        LoggingSystem.bootstrap { TerminalLogHandler(label: $0) }
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            failOrExit(error)
        }
        Foundation.exit(0)
    }

    /// Help and bad usage end as the argument parser says; anything else is one line.
    private static func failOrExit(_ error: any Error) -> Never {
        if exitCode(for: error) != .failure || error is CleanExit || error is ValidationError {
            exit(withError: error)
        }
        FileHandle.standardError.write(Data("\(programName): \(error)\n".utf8))
        Foundation.exit(1)
    }
}
