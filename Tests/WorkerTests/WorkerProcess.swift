import Foundation
import Simulation
import Testing

/// A worker as a process of its own.
struct WorkerProcess {
    let process = Process()
    /// File that standard error goes to, if any.
    private let log: String?

    /// Starts a worker; what it logs goes nowhere, or to a file of the workplace.
    ///
    /// - Parameter address: of the event log; by default the workplace's own.
    init(
        _ name: String, place: Workplace, data: String, address: String? = nil,
        arguments: [String] = [], log: String? = nil
    ) throws {
        self.log = log.map { place.path + "/" + $0 }
        // Built beside the tests.
        let directory = Bundle.main.executableURL?.deletingLastPathComponent()
        let candidates =
            [directory, directory?.deletingLastPathComponent()].compactMap { $0 }
            + [URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()]
        let programs = candidates.map { $0.appendingPathComponent(name) }
        let program: URL = try #require(
            programs.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }),
            "the program is built")
        process.executableURL = program
        process.arguments =
            [
                "--log", address ?? place.logAddress.description,
                "--data", place.path + "/" + data,
                "--pipelines", place.pipelines,
            ] + arguments
        process.standardError = FileHandle.nullDevice
        if let log = self.log {
            try Data().write(to: URL(fileURLWithPath: log))
            process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        }
        process.standardOutput = FileHandle.nullDevice
        try Spawning.apart { [process] in try process.run() }
    }

    /// What the worker has written to standard error so far.
    var logged: String {
        log.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) } ?? ""
    }

    /// Sends it a signal.
    func signal(_ signal: Int32) { Foundation.kill(process.processIdentifier, signal) }

    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Fails, and kills the process, when it does not end in time.
    func waitForExit(seconds: Double = 2 * Wait.seconds) throws {
        guard !Wait.until(seconds: seconds, { !process.isRunning }) else { return }
        kill()
        Issue.record("the worker did not end within \(seconds) s: \(logged)")
    }
}
