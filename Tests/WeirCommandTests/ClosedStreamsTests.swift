import Foundation
import TestKit
import Testing

@Suite("Streams that nobody reads", .serialized)
struct ClosedStreamsTests {
    /// Runs a program whose standard output or standard error is a pipe without a reader.
    private func run(
        _ arguments: [String], of name: String = "weir", closed: Set<Int32>
    ) throws -> Program {
        func stream(_ number: Int32) throws -> Pipe? {
            guard closed.contains(number) else { return nil }
            let pipe = Pipe()
            try pipe.fileHandleForReading.close()
            return pipe
        }
        let program = try Program(name, arguments, output: stream(1), error: stream(2))
        try program.waitForExit()
        return program
    }

    @Test("a closed standard output ends what prints with 0 and without a word")
    func output() throws {
        let workspace = try TemporaryDirectory()
        let data = workspace.path + "/data"
        let configuration = [
            "--pipelines", Repository.path("pipelines"), "--topics", Repository.path("topics"),
        ]
        let demo = try run(
            ["demo", "--days", "2", "--data", data] + configuration, closed: [1])
        // Standard error has only the line about the work that begins.
        #expect(
            demo.status == 0 && demo.process.terminationReason == .exit
                && demo.error.split(separator: "\n").count == 1, "\(demo.error)")
        let commands = [
            ["dump", "outcomes", "--data", data],
            ["dump", "funnel", "--data", data] + configuration.prefix(2),
            ["read", "--topic", "bids", "--data", data], ["lag", "--data", data], ["--help"],
        ]
        for command in commands {
            let ended = try run(command, closed: [1])
            #expect(
                ended.status == 0 && ended.process.terminationReason == .exit,
                "\(command): \(ended.status)")
            #expect(ended.error.isEmpty, "\(command): \(ended.error)")
        }
        let help = try run(["--help"], of: "weir-bids", closed: [1])
        #expect(
            help.status == 0 && help.process.terminationReason == .exit && help.error.isEmpty,
            "\(help.error)")
        // A worker has nothing to say there, and works.
        try FileManager.default.removeItem(atPath: data + "/bids.sqlite")
        let worker = try run(
            ["--data", data, "--until-end"] + configuration.prefix(2), of: "weir-bids",
            closed: [1, 2])
        #expect(worker.status == 0 && worker.process.terminationReason == .exit, "\(worker.status)")
        #expect(FileManager.default.fileExists(atPath: data + "/bids.sqlite"))
    }

    @Test("a closed standard error changes no exit code")
    func error() throws {
        let workspace = try TemporaryDirectory()
        for (command, status) in [
            (
                ["check", "--separate", "--data", workspace.path, "--pipelines", workspace.path],
                Int32(0)
            ),
            (["check", "--data", workspace.path, "--pipelines", workspace.path + "/none"], 1),
            (["dump", "nothing", "--data", workspace.path], 1), (["nonsense"], 64),
        ] {
            let expected = try run(command, closed: [])
            for closed: Set<Int32> in [[2], [1, 2]] {
                let ended = try run(command, closed: closed)
                #expect(ended.process.terminationReason == .exit, "\(command): \(ended.status)")
                // A report that nobody reads any more is no failure.
                let isQuiet = closed.contains(1) && ended.status == 0
                #expect(ended.status == expected.status || isQuiet, "\(command): \(ended.status)")
            }
            #expect(expected.process.terminationReason == .exit)
            if status == 64 { #expect(expected.status == 64) }
        }
        let worker = try run(["--partitions", "x"], of: "weir-bids", closed: [2])
        #expect(
            worker.status == 64 && worker.process.terminationReason == .exit, "\(worker.status)")
        let collector = try run(["--listen", "nowhere"], of: "weir-collector", closed: [2])
        #expect(
            collector.status == 64 && collector.process.terminationReason == .exit,
            "\(collector.status)")
    }

    @Test("weir up whose log nobody reads any more goes on to take records, and ends with 0")
    func up() throws {
        let workspace = try UpWorkspace()
        let error = Pipe()
        let program = try Program(
            "weir",
            [
                "up", "--listen", "127.0.0.1:0", "--data", workspace.data, "--pipelines",
                workspace.pipelines, "--topics", Repository.path("topics"),
            ], error: error)
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
            program.signal(SIGHUP)
            Wait.steadily(seconds: 0.5)
            let connection = try RawConnection(port: try #require(port))
            connection.send(
                UpProcess.request(
                    "/v1/events/impressions?ce_type=skoverlay.presented",
                    #"{"impression_id":"i-\#(number)"}"#))
            #expect(connection.answer()?.status == 200)
        }
        #expect(Wait.until { workspace.outcome("accepted", of: "impressions") == 3 })
        #expect(try program.stop() == 0 && program.process.terminationReason == .exit)
    }
}
