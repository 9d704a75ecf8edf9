import Foundation
import Simulation
import Testing

/// A directory in which `weir up` works, removed with the value: a configuration that takes events without
/// keys, and knows the shared secret of one app.
final class UpPlace {
    let files: TemporaryPlace
    var data: String { files.path + "/data" }
    var pipelines: String { files.path + "/pipelines" }
    var log: String { data + "/log.sqlite" }

    init() throws {
        files = try TemporaryPlace()
        for stream in [
            "bids", "impressions", "overlay-clicks", "postbacks", "conversion-updates",
            "partner-postbacks",
        ] {
            try files.write("commit_interval_ms: 20\n", to: "pipelines/\(stream).yaml")
        }
        try files.write(
            """
            commit_interval_ms: 20
            apps:
              - {bundle_id: com.example.app, app_apple_id: 7, shared_secrets: [sesame]}

            """, to: "pipelines/store-notifications.yaml")
        try files.write("require_keys: false\n", to: "pipelines/collector.yaml")
    }

    /// Adds a partner of this machine that is sent every postback, whatever its verdict.
    func addPartner(_ name: String, port: UInt16) throws {
        try files.write(
            """
            name: \(name)
            trust: [valid, development, invalid, unverifiable]
            delivery: {url: "http://127.0.0.1:\(port)/postbacks", allow_private: true}

            """, to: "pipelines/partners/\(name).yaml")
    }

    /// Starts `weir up`, and waits until it listens.
    func start(_ arguments: String...) throws -> UpProcess {
        try UpProcess(self, arguments)
    }

    /// Runs `weir` to its end, for at most a minute.
    func weir(_ arguments: String...) throws -> (status: Int32, output: String, error: String) {
        try weir(arguments)
    }

    /// Runs `weir` to its end, for at most a minute.
    func weir(_ arguments: [String]) throws -> (status: Int32, output: String, error: String) {
        let process = try Self.process(arguments)
        let names = [files.path + "/output", files.path + "/error"]
        for name in names { try Data().write(to: URL(fileURLWithPath: name)) }
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: names[0]))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: names[1]))
        try Spawning.apart { try process.run() }
        if !Wait.until({ !process.isRunning }) {
            kill(process.processIdentifier, SIGKILL)
            Issue.record("weir \(arguments.joined(separator: " ")) has not ended in a minute")
        }
        process.waitUntilExit()
        let texts = try names.map { try String(contentsOfFile: $0, encoding: .utf8) }
        return (process.terminationStatus, texts[0], texts[1])
    }

    /// The rows of a dump, a row's columns and measures by their names.
    func dump(_ name: String, by columns: String) throws -> [[String: Any]] {
        let found = try weir("dump", name, "--by", columns, "--data", data, "--format", "json")
        guard found.status == 0 else { throw DumpRefused(words: found.error) }
        let rows = try JSONSerialization.jsonObject(with: Data(found.output.utf8))
        return try #require(rows as? [[String: Any]])
    }

    /// A measure of `outcomes`, by topic; 0 while there is no store.
    func outcome(_ measure: String, of topic: String) -> Int {
        let rows = (try? dump("outcomes", by: "topic")) ?? []
        return rows.first { $0["topic"] as? String == topic }?[measure] as? Int ?? 0
    }

    /// Thrown, not recorded as an issue: `outcome` asks while a worker may not have made its store yet.
    struct DumpRefused: Error {
        let words: String
    }

    static func process(_ arguments: [String], program: String = "weir") throws -> Process {
        let process = Process()
        // Built beside the tests.
        let directory = Bundle.main.executableURL?.deletingLastPathComponent()
        let candidates =
            [directory, directory?.deletingLastPathComponent()].compactMap { $0 }
            + [URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()]
        let programs = candidates.map { $0.appendingPathComponent(program) }
        let program: URL = try #require(
            programs.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }),
            "the program is built")
        process.executableURL = program
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        return process
    }
}

/// `weir up` as a process of its own.
final class UpProcess {
    let port: UInt16
    private let process: Process
    private let errorFile: String

    init(_ place: UpPlace, _ arguments: [String] = []) throws {
        errorFile = place.files.path + "/stderr-\(UUID().uuidString)"
        process = try UpPlace.process(
            [
                "up", "--listen", "127.0.0.1:0", "--data", place.data, "--pipelines",
                place.pipelines,
                "--topics", Repository.path("topics"),
            ] + arguments)
        let file = URL(fileURLWithPath: errorFile)
        try Data().write(to: file)
        process.standardError = try FileHandle(forWritingTo: file)
        try Spawning.apart { [process] in try process.run() }
        var found: UInt16?
        _ = Wait.until { [errorFile] in
            let said = (try? String(contentsOfFile: errorFile, encoding: .utf8)) ?? ""
            let match = said.firstMatch(of: #/up: http://127\.0\.0\.1:(\d+) /#)
            found = match.flatMap { UInt16($0.1) }
            return found != nil
        }
        guard let found else {
            process.terminate()
            throw CocoaError(.executableLoad)
        }
        port = found
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// What it has written to standard error.
    var said: String { (try? String(contentsOfFile: errorFile, encoding: .utf8)) ?? "" }

    var processID: Int32 { process.processIdentifier }

    /// Waits until it has ended, and let go of its locks.
    func waitUntilExit() { process.waitUntilExit() }

    /// Asks it to stop; its exit code. It has a minute.
    func stop() -> Int32 {
        process.terminate()
        if !Wait.until({ !self.process.isRunning }) {
            Issue.record("weir up has not ended a minute after SIGTERM")
            kill(process.processIdentifier, SIGKILL)
        }
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Posts JSON over a connection of its own; the status, nil without an answer.
    func post(_ target: String, _ body: String) throws -> Int? {
        let connection = try RawConnection(port: port)
        connection.send(Self.request(target, body))
        return connection.answer()?.status
    }

    func get(_ target: String) throws -> Answer? {
        let connection = try RawConnection(port: port)
        connection.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection.answer()
    }

    static func request(_ target: String, _ body: String) -> String {
        "POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}
