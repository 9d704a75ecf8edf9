import EventLog
import Foundation
import Simulation
import Synchronization
import Testing

@Suite("The program", .serialized)
struct ProcessTests {
    @Test("killed under load has every acknowledged record in its log, round after round")
    func killed() throws {
        let place = try ProgramPlace()
        let acknowledged = Mutex<Set<String>>([])
        for round in 0..<4 {
            let program = try place.start()
            let isOver = Mutex(false)
            concurrently(9) { worker in
                if worker == 8 {
                    Wait.until { acknowledged.withLock { $0.count } > 30 * (round + 1) }
                    Thread.sleep(forTimeInterval: 0.13 * Double(round))
                    kill(program.process.processIdentifier, SIGKILL)
                    program.process.waitUntilExit()
                    isOver.withLock { $0 = true }
                    return
                }
                guard let connection = try? RawConnection(port: program.port) else { return }
                var number = 0
                while !isOver.withLock({ $0 }) {
                    number += 1
                    let id = "r\(round)-w\(worker)-n\(number)"
                    connection.send(
                        Requests.text(
                            "POST", "/v1/postbacks/skadnetwork",
                            body: Array(#"{"transaction-id":"\#(id)"}"#.utf8)))
                    guard let answer = connection.answer() else { return }
                    if answer.status == 200 { acknowledged.withLock { _ = $0.insert(id) } }
                }
            }
        }
        let log = try EmbeddedLog(path: place.path + "/data/log.sqlite", mode: .existing)
        let stored = Set(try StoredRecord.all(of: "postbacks", in: log).compactMap(\.key))
        let said = acknowledged.withLock { $0 }
        #expect(said.count > 100, "the load was one")
        #expect(said.subtracting(stored).isEmpty)
    }

    @Test("ends with 0 after SIGTERM, answers what has begun, and says where it listened")
    func terminated() throws {
        let place = try ProgramPlace()
        let program = try place.start()
        let connection = try RawConnection(port: program.port)
        connection.send(
            "POST /v1/postbacks/skadnetwork HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                + "Content-Length: 22\r\n\r\n")
        #expect(connection.nextLine() == "HTTP/1.1 100 Continue", "it has begun")
        connection.send("{")
        kill(program.process.processIdentifier, SIGTERM)
        Thread.sleep(forTimeInterval: 0.5)
        connection.send(#""transaction-id":"a"}"#)
        #expect(connection.answer()?.status == 200)
        program.process.waitUntilExit()
        #expect(program.process.terminationStatus == 0)
        let log = try EmbeddedLog(path: place.path + "/data/log.sqlite", mode: .existing)
        #expect(try StoredRecord.all(of: "postbacks", in: log).map(\.key) == ["a"])
    }

    @Test("says in one line what is wrong with its configuration, address or command line")
    func faults() throws {
        let place = try ProgramPlace()
        let program = try place.start()
        defer { kill(program.process.processIdentifier, SIGKILL) }
        let taken = try place.run(["--listen", "127.0.0.1:\(program.port)"])
        #expect(taken.status == 1)
        #expect(taken.error.contains("cannot listen on 127.0.0.1:\(program.port)"))
        #expect(try place.run(["--listen", "nowhere"]).status == 64)
        #expect(try place.run(["--log", "http://x"]).status == 64)
        try Data("max_body_bytes: many\n".utf8).write(
            to: URL(fileURLWithPath: place.path + "/pipelines/collector.yaml"))
        let configured = try place.run([])
        #expect(configured.status == 1)
        #expect(
            configured.error.contains("collector.yaml:1: max_body_bytes: must be a whole number"))
        #expect(configured.error.split(separator: "\n").count == 1)
    }
}

/// A directory in which the program works, removed with the value.
final class ProgramPlace {
    struct Program {
        let process: Process
        let port: UInt16
        fileprivate let log: String

        /// What it has written to standard error.
        var said: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
    }

    let path = NSTemporaryDirectory() + "weir-collector-program-\(UUID().uuidString)"

    init() throws {
        try FileManager.default.createDirectory(
            atPath: path + "/pipelines", withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Starts the program, and waits until it listens.
    func start() throws -> Program {
        let log = path + "/stderr-\(UUID().uuidString)"
        let process = try make(["--listen", "127.0.0.1:0"])
        try Data().write(to: URL(fileURLWithPath: log))
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try Spawning.apart { try process.run() }
        var port: UInt16?
        try Wait.until {
            let said = try String(contentsOfFile: log, encoding: .utf8)
            port = said.firstMatch(of: /address=127\.0\.0\.1:(\d+)/).flatMap { UInt16($0.1) }
            return port != nil
        }
        guard let port else {
            process.terminate()
            throw CocoaError(.executableLoad)
        }
        return Program(process: process, port: port, log: log)
    }

    /// Runs the program to its end.
    func run(_ arguments: [String]) throws -> (status: Int32, error: String) {
        let process = try make(arguments)
        let pipe = Pipe()
        process.standardError = pipe
        try Spawning.apart { try process.run() }
        let said = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }

    private func make(_ arguments: [String]) throws -> Process {
        let process = Process()
        // Built beside the tests.
        let directory = Bundle.main.executableURL?.deletingLastPathComponent()
        let candidates =
            [directory, directory?.deletingLastPathComponent()].compactMap { $0 }
            + [URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()]
        let programs = candidates.map { $0.appendingPathComponent("weir-collector") }
        let program: URL = try #require(
            programs.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }),
            "the program is built")
        process.executableURL = program
        process.arguments =
            ["--data", path + "/data", "--pipelines", path + "/pipelines"] + arguments
        process.standardOutput = FileHandle.nullDevice
        return process
    }
}
