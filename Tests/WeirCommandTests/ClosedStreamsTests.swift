import Foundation
import Simulation
import Testing

@Suite("Streams that nobody reads", .serialized)
struct ClosedStreamsTests {
    /// Runs a program whose standard output or standard error is a pipe that nobody reads.
    private func run(
        _ arguments: [String], of program: String = "weir", closed: Set<Int32>
    ) throws -> (status: Int32, reason: Process.TerminationReason, error: String) {
        let process = try UpPlace.process(arguments, program: program)
        let output = Pipe()
        let error = Pipe()
        if closed.contains(1) {
            process.standardOutput = output
            try output.fileHandleForReading.close()
        }
        process.standardError = error
        if closed.contains(2) { try error.fileHandleForReading.close() }
        try Spawning.apart { try process.run() }
        try error.fileHandleForWriting.close()
        let said = closed.contains(2) ? Data() : error.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (
            process.terminationStatus, process.terminationReason,
            String(decoding: said, as: UTF8.self)
        )
    }

    @Test("a closed standard output ends what prints with 0 and without a word")
    func output() throws {
        let place = try TemporaryPlace()
        let data = place.path + "/data"
        let configuration = [
            "--pipelines", Repository.path("pipelines"), "--topics", Repository.path("topics"),
        ]
        let demo = try run(["demo", "--data", data] + configuration, closed: [1])
        #expect(demo.status == 0 && demo.reason == .exit && demo.error.isEmpty, "\(demo)")
        let commands = [
            ["dump", "outcomes", "--data", data],
            ["dump", "funnel", "--data", data] + configuration.prefix(2),
            ["read", "--topic", "bids", "--data", data], ["lag", "--data", data], ["--help"],
        ]
        for command in commands {
            let ended = try run(command, closed: [1])
            #expect(ended.status == 0 && ended.reason == .exit, "\(command): \(ended)")
            #expect(ended.error.isEmpty, "\(command): \(ended.error)")
        }
        let help = try run(["--help"], of: "weir-bids", closed: [1])
        #expect(help.status == 0 && help.reason == .exit && help.error.isEmpty, "\(help)")
        // A worker has nothing to say there, and works.
        try FileManager.default.removeItem(atPath: data + "/bids.sqlite")
        let worker = try run(
            ["--data", data, "--until-end"] + configuration.prefix(2), of: "weir-bids",
            closed: [1, 2])
        #expect(worker.status == 0 && worker.reason == .exit, "\(worker)")
        #expect(FileManager.default.fileExists(atPath: data + "/bids.sqlite"))
    }

    @Test("a closed standard error changes no exit code")
    func error() throws {
        let place = try TemporaryPlace()
        for (command, status) in [
            (["check", "--data", place.path, "--pipelines", place.path], Int32(0)),
            (["check", "--data", place.path, "--pipelines", place.path + "/none"], 1),
            (["dump", "nothing", "--data", place.path], 1), (["nonsense"], 64),
        ] {
            let expected = try run(command, closed: [])
            for closed: Set<Int32> in [[2], [1, 2]] {
                let ended = try run(command, closed: closed)
                #expect(ended.reason == .exit, "\(command): \(ended)")
                // A report that nobody reads any more is no failure.
                let isQuiet = closed.contains(1) && ended.status == 0
                #expect(ended.status == expected.status || isQuiet, "\(command): \(ended)")
            }
            #expect(expected.reason == .exit)
            if status == 64 { #expect(expected.status == 64) }
        }
        let worker = try run(["--partitions", "x"], of: "weir-bids", closed: [2])
        #expect(worker.status == 64 && worker.reason == .exit, "\(worker)")
        let collector = try run(["--listen", "nowhere"], of: "weir-collector", closed: [2])
        #expect(collector.status == 64 && collector.reason == .exit, "\(collector)")
    }

    @Test("weir up whose log nobody reads any more goes on to take records, and ends with 0")
    func up() throws {
        let place = try UpPlace()
        let process = try UpPlace.process([
            "up", "--listen", "127.0.0.1:0", "--data", place.data, "--pipelines", place.pipelines,
            "--topics", Repository.path("topics"),
        ])
        let error = Pipe()
        process.standardError = error
        try Spawning.apart { try process.run() }
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        try error.fileHandleForWriting.close()
        var said = ""
        var port: UInt16?
        while port == nil {
            let part = error.fileHandleForReading.availableData
            try #require(!part.isEmpty, "it has ended: \(said)")
            said += String(decoding: part, as: UTF8.self)
            port = said.firstMatch(of: #/up: http://127\.0\.0\.1:(\d+) /#).flatMap { UInt16($0.1) }
        }
        try error.fileHandleForReading.close()
        for number in 0..<3 {
            // It has something to say.
            kill(process.processIdentifier, SIGHUP)
            Wait.steadily(seconds: 0.5)
            let connection = try RawConnection(port: try #require(port))
            connection.send(
                UpProcess.request(
                    "/v1/events/impressions?ce_type=skoverlay.presented",
                    #"{"impression_id":"i-\#(number)"}"#))
            #expect(connection.answer()?.status == 200)
        }
        #expect(Wait.until { place.outcome("accepted", of: "impressions") == 3 })
        process.terminate()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0 && process.terminationReason == .exit)
    }
}
