import Foundation
import Simulation
import Testing

/// `weir replay` or `weir promote` as a process of its own.
struct ReplayProcess {
    let process = Process()
    private let output: String

    /// Starts the command on the stores, log and configuration of a workplace; what it writes goes to a file.
    init(_ place: Workplace, command: String = "replay", _ arguments: [String]) throws {
        let directory = Bundle.main.executableURL?.deletingLastPathComponent()
        let candidates =
            [directory, directory?.deletingLastPathComponent()].compactMap { $0 }
            + [URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()]
        let programs = candidates.map { $0.appendingPathComponent("weir") }
        let program: URL = try #require(
            programs.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }),
            "the program is built")
        process.executableURL = program
        process.arguments =
            [
                command, "--log", place.logAddress.description, "--data", place.path + "/data",
                "--pipelines", place.pipelines,
            ] + arguments
        output = "\(place.path)/\(command)-\(UUID().uuidString).txt"
        try Data().write(to: URL(fileURLWithPath: output))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        process.standardError = file
        process.standardOutput = file
        try Spawning.apart { [process] in try process.run() }
    }

    /// What it has written so far.
    var written: String { (try? String(contentsOfFile: output, encoding: .utf8)) ?? "" }

    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    func waitForExit(seconds: Double) throws {
        let deadline = Date().addingTimeInterval(seconds)
        while process.isRunning, Date() < deadline { usleep(20_000) }
        guard process.isRunning else { return }
        kill()
        Issue.record("the command did not end within \(seconds) s: \(written)")
    }
}
