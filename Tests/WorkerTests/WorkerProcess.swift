import Foundation
import Simulation
import Testing

/// A worker as a process of its own.
struct WorkerProcess {
    let process = Process()

    init(
        _ name: String, place: Workplace, data: String, log: String? = nil,
        arguments: [String] = []
    ) throws {
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
                "--log", log ?? place.logAddress.description,
                "--data", place.path + "/" + data,
                "--pipelines", place.pipelines,
            ] + arguments
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try Spawning.apart { try process.run() }
    }

    /// Sends it a signal.
    func signal(_ signal: Int32) { Foundation.kill(process.processIdentifier, signal) }

    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Fails, and kills the process, when it does not end in time.
    func waitForExit(seconds: Double) throws {
        let deadline = Date().addingTimeInterval(seconds)
        while process.isRunning, Date() < deadline { usleep(20_000) }
        guard process.isRunning else { return }
        kill()
        Issue.record("the worker did not end within \(seconds) s")
    }
}
