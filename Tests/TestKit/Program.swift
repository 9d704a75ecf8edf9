import Foundation

/// One of the package's programs, or another one, as a process of its own. What it writes goes to files.
package final class Program {
    package let process = Process()
    private let directory: TemporaryDirectory

    /// Starts a program that is built beside the tests.
    ///
    /// - Parameters:
    ///   - name: of a program beside the tests, or the path of another one.
    ///   - output: what standard output is instead of a file.
    ///   - error: what standard error is instead of a file.
    package init(
        _ name: String, _ arguments: [String], output: Any? = nil, error: Any? = nil
    ) throws {
        directory = try TemporaryDirectory()
        process.executableURL = URL(
            fileURLWithPath: name.hasPrefix("/") ? name : "\(try Self.directory())/\(name)")
        process.arguments = arguments
        // Many run at the same time, and nobody looks at the pages of most.
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["WEIR_DASHBOARD": "off"]) { _, off in off }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try output ?? Self.file(directory.write("", to: "output"))
        process.standardError = try error ?? Self.file(directory.write("", to: "error"))
        try Spawning.apart { [process] in try process.run() }
    }

    deinit { signal(SIGKILL) }

    private static func file(_ path: String) throws -> FileHandle {
        try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    /// Where programs are built: beside the tests.
    package static func directory() throws -> String {
        let directory = Bundle.main.executableURL?.deletingLastPathComponent()
        let candidates =
            [directory, directory?.deletingLastPathComponent()].compactMap { $0 }
            + [URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()]
        let found = candidates.first {
            FileManager.default.isExecutableFile(atPath: $0.appendingPathComponent("weir").path)
        }
        guard let found else { throw TestFault("weir is not built") }
        return found.path
    }

    /// Runs a program to its end.
    package static func run(_ name: String, _ arguments: [String]) throws -> Program {
        let program = try Program(name, arguments)
        try program.waitForExit()
        return program
    }

    /// Runs a command line of the shell to its end. It finds the programs that are built beside the tests.
    package static func shell(_ line: String) throws -> Program {
        try run("/bin/sh", ["-c", "PATH=\(try directory()):$PATH; \(line)"])
    }

    /// What it has written to standard output so far.
    package var output: String { text("output") }
    /// What it has written to standard error so far.
    package var error: String { text("error") }
    package var status: Int32 { process.terminationStatus }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: "\(directory.path)/\(name)", encoding: .utf8)) ?? ""
    }

    /// Sends a signal, unless it has ended: its number may be another's by then.
    package func signal(_ signal: Int32) {
        if process.isRunning { Foundation.kill(process.processIdentifier, signal) }
    }

    package func kill() {
        signal(SIGKILL)
        Wait.until { !process.isRunning }
    }

    /// Asks it to end, and waits for that; its exit code.
    package func stop(seconds: Double = 2 * Wait.seconds) throws -> Int32 {
        signal(SIGTERM)
        try waitForExit(seconds: seconds)
        return status
    }

    /// Fails, and kills the process, when it does not end in time.
    package func waitForExit(seconds: Double = 2 * Wait.seconds) throws {
        // `waitUntilExit` uses a whole core on another thread than that which started the process.
        if Wait.until(seconds: seconds, { !process.isRunning }) { return }
        kill()
        throw TestFault("\(process) did not end within \(seconds) s: \(error)")
    }

    /// The number that follows these words in what it logs, once they are there: the port it listens on.
    package func port(after words: String) throws -> UInt16 {
        var found: UInt16?
        Wait.until {
            let rest = error.components(separatedBy: words).dropFirst().first
            // The line is complete.
            let digits = rest.flatMap { $0.contains("\n") ? $0.prefix { $0.isNumber } : nil }
            found = digits.flatMap { UInt16($0) }
            return found != nil || !process.isRunning
        }
        guard let found else { throw TestFault("no port is logged: \(error)") }
        return found
    }
}

/// Keeps processes from being started while a mock broker goes away: a child has the broker's socket for
/// an instant, and the broker could not have its port back.
package enum Spawning {
    private static let turn = NSLock()

    package static func apart<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
        try turn.withLock(body)
    }
}
