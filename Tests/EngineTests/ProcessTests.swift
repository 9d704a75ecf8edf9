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
        let place = try Workplace()
        try place.write("bids.yaml", "batch_records: 20\ncommit_interval_ms: 1\n")
        try place.publish("bids", WindowedStream.bids.records(4000, seed: 7))
        try place.fold(WindowedStream.bids, data: "once")
        try kill("bids", place)
        try place.fold(WindowedStream.bids, data: "killed")
        #expect(try place.contents("bids", data: "once") == place.contents("bids", data: "killed"))
    }

    @Test(
        "Postbacks: killed while it folds, the worker goes on to the store of one run, and every partner postback is published"
    )
    func killedPostbacks() throws {
        let place = try Workplace()
        try place.configurePostbacks("batch_records: 10\ncommit_interval_ms: 1\n")
        try place.publish("postbacks", try Samples.postbacks(1500, seed: 8))
        try kill("postbacks", place)
        try place.foldPostbacks(data: "killed")
        let published = Set(try place.records("partner-postbacks").compactMap(\.key))
        let wanted = try place.texts(
            "SELECT DISTINCT id FROM outbox", stream: "postbacks", data: "killed")
        #expect(published == Set(wanted))
        let letters = Set(
            try place.records("postbacks.dlq").map {
                "\($0.headers["weir_partition"] ?? "")/\($0.headers["weir_offset"] ?? "")"
            })
        #expect(try Int64(letters.count) == place.outcome(.rejected, "postbacks", data: "killed"))
        try place.foldPostbacks(data: "once")
        #expect(
            try place.contents("postbacks", data: "once")
                == place.contents("postbacks", data: "killed"))
    }

    @Test(
        "SIGTERM and SIGINT end a worker with 0, what it folded committed",
        arguments: [SIGTERM, SIGINT])
    func stopsCleanly(signal: Int32) throws {
        let place = try Workplace()
        try place.publish("bids", Samples.bids(200, seed: 9))
        let worker = try place.start("weir-bids")
        try place.waitUntilFolded(200, "bids")
        worker.signal(signal)
        try worker.waitForExit()
        #expect(worker.process.terminationReason == .exit)
        #expect(worker.status == 0)
        #expect(place.folded("bids") == 200)
    }

    @Test("Exit codes: 0 done, 1 failed, 64 bad usage")
    func exitCodes() throws {
        let place = try Workplace()
        func code(_ arguments: String...) throws -> Int32 {
            try place.run("weir-bids", arguments).status
        }
        #expect(try code("--until-end") == 1)
        #expect(try code("--no-such-option") == 64)
        #expect(try code("--partitions", "x") == 64)
        try place.publishAuctions("a")
        #expect(try code("--until-end") == 0)
        #expect(try code("--help") == 0)
    }

    @Test("Bad usage is one line that names the program and its help")
    func usageInOneLine() throws {
        let place = try Workplace()
        for arguments in [["--no-such-option"], ["--partitions", "x"]] {
            let text = try place.run("weir-bids", arguments).error
            #expect(text.hasPrefix("weir-bids: "), "\(text)")
            #expect(text.hasSuffix(" (see weir-bids --help)\n"), "\(text)")
            #expect(text.split(separator: "\n").count == 1, "\(text)")
        }
    }

    /// Kills the worker once it has committed something.
    private func kill(_ stream: String, _ place: Workplace) throws {
        let worker = try place.start("weir-\(stream)", data: "killed", ["--until-end"])
        Wait.until { place.folded(stream, data: "killed") ?? 0 > 0 }
        worker.kill()
    }
}
