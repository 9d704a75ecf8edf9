import EventLog
import Foundation
import TestKit
import Testing

@testable import Engine

@Suite("Workers as processes", .serialized)
struct ProcessTests {
    // Simulations kill workers of all streams at each call. Here are real files, and a real kill.

    @Test("Bids: killed while it folds, the worker goes on to the store of one run")
    func killed() throws {
        let workspace = try Workspace()
        try workspace.write("bids.yaml", "batch_records: 20\ncommit_interval_ms: 1\n")
        try workspace.publish("bids", WindowedStream.bids.records(4000, seed: 7))
        try workspace.fold(WindowedStream.bids, data: "once")
        try kill("bids", workspace)
        try workspace.fold(WindowedStream.bids, data: "killed")
        #expect(
            try workspace.contents("bids", data: "once")
                == workspace.contents("bids", data: "killed"))
    }

    @Test(
        "Postbacks: killed while it folds, the worker goes on to the store of one run, and every partner postback is published"
    )
    func killedPostbacks() throws {
        let workspace = try Workspace()
        try workspace.configurePostbacks("batch_records: 10\ncommit_interval_ms: 1\n")
        try workspace.publish("postbacks", try Samples.postbacks(1500, seed: 8))
        try kill("postbacks", workspace)
        try workspace.foldPostbacks(data: "killed")
        let published = Set(try workspace.records("partner-postbacks").compactMap(\.key))
        let wanted = try workspace.texts(
            "SELECT DISTINCT id FROM outbox", stream: "postbacks", data: "killed")
        #expect(published == Set(wanted))
        let letters = Set(
            try workspace.records("postbacks.dlq").map {
                "\($0.headers["weir_partition"] ?? "")/\($0.headers["weir_offset"] ?? "")"
            })
        #expect(
            try Int64(letters.count) == workspace.outcome(.rejected, "postbacks", data: "killed"))
        try workspace.foldPostbacks(data: "once")
        #expect(
            try workspace.contents("postbacks", data: "once")
                == workspace.contents("postbacks", data: "killed"))
    }

    @Test(
        "SIGTERM and SIGINT end a worker with 0, what it folded committed",
        arguments: [SIGTERM, SIGINT])
    func stopsCleanly(signal: Int32) throws {
        let workspace = try Workspace()
        try workspace.publish("bids", Samples.bids(200, seed: 9))
        let worker = try workspace.start("weir-bids")
        try workspace.waitUntilFolded(200, "bids")
        worker.signal(signal)
        try worker.waitForExit()
        #expect(worker.process.terminationReason == .exit)
        #expect(worker.status == 0)
        #expect(workspace.folded("bids") == 200)
    }

    @Test("Exit codes: 0 done, 1 failed, 64 bad usage")
    func exitCodes() throws {
        let workspace = try Workspace()
        func code(_ arguments: String...) throws -> Int32 {
            try workspace.run("weir-bids", arguments).status
        }
        #expect(try code("--until-end") == 1)
        #expect(try code("--no-such-option") == 64)
        #expect(try code("--partitions", "x") == 64)
        try workspace.publishAuctions("a")
        #expect(try code("--until-end") == 0)
        #expect(try code("--help") == 0)
    }

    @Test("Bad usage is one line that names the program and its help")
    func usageInOneLine() throws {
        let workspace = try Workspace()
        for arguments in [["--no-such-option"], ["--partitions", "x"]] {
            let text = try workspace.run("weir-bids", arguments).error
            #expect(text.hasPrefix("weir-bids: "), "\(text)")
            #expect(text.hasSuffix(" (see weir-bids --help)\n"), "\(text)")
            #expect(text.split(separator: "\n").count == 1, "\(text)")
        }
    }

    /// Kills the worker once it has committed something.
    private func kill(_ stream: String, _ workspace: Workspace) throws {
        let worker = try workspace.start("weir-\(stream)", data: "killed", ["--until-end"])
        Wait.until { workspace.folded(stream, data: "killed") ?? 0 > 0 }
        worker.kill()
    }
}
