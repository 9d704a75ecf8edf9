import EventLog
import Foundation
import Simulation
import Testing

@testable import Worker

@Suite("Workers as processes", .serialized)
struct ProcessTests {
    @Test(
        "With a window: killed 20 times at random instants, the store is that of one run",
        arguments: WindowedStream.allCases)
    func killed(_ stream: WindowedStream) throws {
        let place = try Workplace()
        try place.write(
            "\(stream.rawValue).yaml", "batch_records: 20\ncommit_interval_ms: 1\n")
        try place.publish(stream.rawValue, stream.records(4000, seed: 7))
        try place.fold(stream, data: "once")
        try interrupt(stream.program, place)
        try place.fold(stream, data: "killed")
        #expect(
            try place.contents(stream.rawValue, data: "once")
                == place.contents(stream.rawValue, data: "killed"))
    }

    @Test(
        "Postbacks: killed 20 times at random instants, the store is that of one run, and every partner postback is published"
    )
    func killedPostbacks() throws {
        let place = try Workplace()
        try place.write(
            "postbacks.yaml",
            "batch_records: 10\ncommit_interval_ms: 1\n" + Samples.trustedKeys)
        try place.write("conversion-models/525463029.yaml", Samples.model)
        try place.write("partners/acme.yaml", Samples.partner)
        try place.publish("postbacks", try Samples.postbacks(1500, seed: 8))
        try interrupt("weir-postbacks", place)
        try place.foldPostbacks(data: "killed")
        let published = Set(try place.records("partner-postbacks").compactMap(\.key))
        let wanted = try place.integer(
            "SELECT count(DISTINCT id) FROM outbox", stream: "postbacks", data: "killed")
        #expect(Int64(published.count) == wanted)
        let letters = Set(
            try place.records("postbacks.dlq").map {
                "\($0.headers["weir_partition"] ?? "")/\($0.headers["weir_offset"] ?? "")"
            })
        let rejected = try place.integer(
            "SELECT sum(rejected) FROM outcomes", stream: "postbacks", data: "killed")
        #expect(Int64(letters.count) == rejected)
        try place.foldPostbacks(data: "once")
        #expect(
            try place.contents("postbacks", data: "once")
                == place.contents("postbacks", data: "killed"))
    }

    @Test("Store notifications: killed 20 times at random instants, the store is that of one run")
    func killedNotifications() throws {
        let place = try Workplace()
        let samples = try SampleNotifications()
        try samples.configure(place, batch: 5)
        try place.publish("store-notifications", try samples.records(800, seed: 13))
        try place.foldNotifications(data: "once")
        try interrupt("weir-store-notifications", place)
        try place.foldNotifications(data: "killed")
        #expect(
            try place.contents("store-notifications", data: "once")
                == place.contents("store-notifications", data: "killed"))
    }

    @Test(
        "SIGTERM and SIGINT end a worker with 0, what it folded committed",
        arguments: [SIGTERM, SIGINT])
    func stopsCleanly(signal: Int32) throws {
        let place = try Workplace()
        try place.publish("bids", Samples.bids(200, seed: 9))
        let worker = try WorkerProcess("weir-bids", place: place, data: "data")
        Wait.until {
            let folded = try? place.integer(
                "SELECT sum(next_offset) FROM partitions", stream: "bids")
            return folded == 200
        }
        kill(worker.process.processIdentifier, signal)
        try worker.waitForExit()
        #expect(worker.process.terminationReason == .exit)
        #expect(worker.process.terminationStatus == 0)
        #expect(try place.integer("SELECT sum(next_offset) FROM partitions", stream: "bids") == 200)
    }

    @Test("Exit codes: 0 done, 1 failed, 64 bad usage")
    func exitCodes() throws {
        let place = try Workplace()
        func code(_ arguments: [String]) throws -> Int32 {
            let worker = try WorkerProcess(
                "weir-bids", place: place, data: "data", arguments: arguments)
            try worker.waitForExit()
            return worker.process.terminationStatus
        }
        #expect(try code(["--until-end"]) == 1)
        #expect(try code(["--no-such-option"]) == 64)
        #expect(try code(["--partitions", "x"]) == 64)
        try place.publish("bids", [Samples.record("bids", Samples.auction("a"), partition: 0)])
        #expect(try code(["--until-end"]) == 0)
        #expect(try code(["--help"]) == 0)
    }

    @Test("Bad usage is one line that names the program and its help")
    func usageInOneLine() throws {
        let place = try Workplace()
        for arguments in [["--no-such-option"], ["--partitions", "x"]] {
            let worker = try WorkerProcess(
                "weir-bids", place: place, data: "data", arguments: arguments, log: "usage.log")
            try worker.waitForExit()
            let text = worker.logged
            #expect(text.hasPrefix("weir-bids: "), "\(text)")
            #expect(text.hasSuffix(" (see weir-bids --help)\n"), "\(text)")
            #expect(text.split(separator: "\n").count == 1, "\(text)")
        }
    }

    /// Starts the worker again and again, and kills it a little later each time.
    private func interrupt(_ name: String, _ place: Workplace) throws {
        var generator = SeededGenerator(seed: 10)
        for _ in 0..<20 {
            let worker = try WorkerProcess(
                name, place: place, data: "killed", arguments: ["--until-end"])
            usleep(UInt32.random(in: 20_000...160_000, using: &generator))
            worker.kill()
        }
    }
}
