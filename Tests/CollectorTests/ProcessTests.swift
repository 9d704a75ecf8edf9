import EmbeddedLog
import EventLog
import Foundation
import Synchronization
import TestKit
import Testing

@Suite("The program", .serialized)
struct ProcessTests {
    @Test("killed under load has every acknowledged record in its log")
    func killed() throws {
        let workspace = try ProgramWorkspace()
        let acknowledged = Mutex<Set<String>>([])
        let started = try workspace.start()
        let port = started.port
        let processID = started.program.process.processIdentifier
        concurrently(9) { worker in
            if worker == 8 {
                Wait.until { acknowledged.withLock { $0.count } > 100 }
                kill(processID, SIGKILL)
                return
            }
            guard let connection = try? RawConnection(port: port) else { return }
            for number in 0... {
                let id = "w\(worker)-n\(number)"
                connection.send(
                    Requests.text(
                        "POST", "/v1/postbacks/skadnetwork",
                        body: Array(#"{"transaction-id":"\#(id)"}"#.utf8)))
                guard let answer = connection.answer() else { return }
                if answer.status == 200 { acknowledged.withLock { _ = $0.insert(id) } }
            }
        }
        try started.program.waitForExit()
        let log = try EmbeddedLog(path: workspace.path + "/data/log.sqlite", mode: .existing)
        let stored = Set(try log.records(of: "postbacks").compactMap(\.key))
        let said = acknowledged.withLock { $0 }
        #expect(said.count > 100, "the load was one")
        #expect(said.subtracting(stored).isEmpty)
    }

    @Test("ends with 0 after SIGTERM, answers what has begun, and says where it listened")
    func terminated() throws {
        let workspace = try ProgramWorkspace()
        let started = try workspace.start()
        let (program, port) = (started.program, started.port)
        let connection = try RawConnection(port: port)
        connection.send(
            "POST /v1/postbacks/skadnetwork HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                + "Content-Length: 22\r\n\r\n")
        #expect(connection.nextLine() == "HTTP/1.1 100 Continue", "it has begun")
        connection.send("{")
        program.signal(SIGTERM)
        Thread.sleep(forTimeInterval: 0.5)
        connection.send(#""transaction-id":"a"}"#)
        #expect(connection.answer()?.status == 200)
        try program.waitForExit()
        #expect(program.status == 0)
        let log = try EmbeddedLog(path: workspace.path + "/data/log.sqlite", mode: .existing)
        #expect(try log.records(of: "postbacks").map(\.key) == ["a"])
    }

    @Test("says in one line what is wrong with its configuration, address or command line")
    func faults() throws {
        let workspace = try ProgramWorkspace()
        let started = try workspace.start()
        defer { started.program.kill() }
        let taken = try workspace.run(["--listen", "127.0.0.1:\(started.port)"])
        #expect(taken.status == 1)
        #expect(taken.error.contains("cannot listen on 127.0.0.1:\(started.port)"))
        #expect(try workspace.run(["--listen", "nowhere"]).status == 64)
        #expect(try workspace.run(["--log", "http://x"]).status == 64)
        try workspace.files.write("max_body_bytes: many\n", to: "pipelines/collector.yaml")
        let configured = try workspace.run([])
        #expect(configured.status == 1)
        #expect(
            configured.error.contains("collector.yaml:1: max_body_bytes: must be a whole number"))
        #expect(configured.error.split(separator: "\n").count == 1)
    }
}

/// A directory in which the program works, removed with the value.
final class ProgramWorkspace {
    struct Started {
        let program: Program
        let port: UInt16

        var process: Process { program.process }
        var said: String { program.error }
    }

    let files: TemporaryDirectory
    var path: String { files.path }

    init() throws {
        files = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: path + "/pipelines", withIntermediateDirectories: true)
    }

    func start() throws -> Started {
        let program = try Program("weir-collector", options + ["--listen", "127.0.0.1:0"])
        return Started(program: program, port: try program.port(after: "address=127.0.0.1:"))
    }

    func run(_ arguments: [String]) throws -> Program {
        try Program.run("weir-collector", options + arguments)
    }

    private var options: [String] {
        ["--data", path + "/data", "--pipelines", path + "/pipelines"]
    }
}
