import Crypto
import Engine
import EventLog
import Foundation
import Program
import Streams
import Synchronization
import TestKit
import Testing

@Suite("weir-bids")
struct BidsWorkerTests {
    /// A store with room for 2.6 in the prices of `dsp-1`.
    private func fullSum(batchRecords: Int) throws -> Workspace {
        let workspace = try Workspace()
        try workspace.write("bids.yaml", "batch_records: \(batchRecords)\n")
        try workspace.publishAuctions("first")
        try workspace.foldBids()
        try workspace.execute(
            """
            UPDATE bids_sums SET price_micros = 9223372036854775807 - 2600000
            WHERE number IN (SELECT number FROM bids WHERE seat = 'dsp-1')
            """, stream: "bids")
        return workspace
    }

    @Test("A record with an overflowing sum is rejected alone, in batches of any size")
    func overflowRejectsOneRecord() throws {
        var contents: [[String]] = []
        // With 40 and 1000, the commit gathers three batches, or only one.
        for size in [1, 3, 40, 1000] {
            let workspace = try fullSum(batchRecords: size)
            try workspace.publish(
                "bids", Samples.bid("a"), Samples.bid("b", price: "2"), Samples.bid("c"),
                Samples.bid("b", seat: "dsp-2"), Samples.bid("d", price: "0.2"))
            try workspace.foldBids()
            #expect(
                try workspace.sum(
                    "price_micros", of: "bids", where: ["seat": "dsp-1"], stream: "bids")
                    == .max - 100_000)
            #expect(try workspace.refused(for: "overflow", "bids").count == 2)
            // The rejected auction left no id behind: the same id is accepted afterwards.
            #expect(
                try workspace.sum("bids", of: "bids", where: ["seat": "dsp-2"], stream: "bids") == 1
            )
            contents.append(try workspace.contents("bids", ofOneLog: false))
        }
        #expect(Set(contents).count == 1)
    }

    @Test(
        "An overflow in a commit beside later batches rejects its record alone, and these are read again"
    )
    func overflowBeside() throws {
        var contents: [[String]] = []
        // With 1, batches are stored one by one. With 40, two records are read at a time, and the sum overflows in the
        // first, second or third commit of 20 batches.
        for size in [1, 40] {
            for first in [5, 45, 85] {
                let workspace = try fullSum(batchRecords: size)
                try workspace.publish(
                    "bids",
                    (0..<400).map { number in
                        // Each ninth repeats an id, also of the rejected record.
                        Samples.bid(
                            number % 9 == 8 ? "b\(number - 4)" : "b\(number)",
                            price: number == first ? "3" : "1",
                            seat: number == first ? "dsp-1" : "dsp-2",
                            partition: Int32(number / 7 % 2))
                    })
                try workspace.foldBids()
                #expect(try workspace.refused(for: "overflow", "bids").count == 1)
                contents.append(try workspace.contents("bids", ofOneLog: false))
            }
        }
        for index in 0..<3 { #expect(contents[index] == contents[index + 3]) }
    }

    @Test("The worker stops in words when dedupe_max_ids is reached, and what it folded is stored")
    func dedupeBoundStops() throws {
        let workspace = try Workspace()
        try workspace.write("bids.yaml", "batch_records: 10\ndedupe_max_ids: 25\n")
        try workspace.publish("bids", Samples.bids(0..<100))
        let error = #expect(throws: WorkerError.self) { try workspace.foldBids() }
        #expect("\(try #require(error))".contains("dedupe_max_ids is 25"))
        #expect(try workspace.states("bids").map(\.nextOffset) == [30, 0, 0, 0])
    }

    @Test("Ids of an hour ago take no memory: the bound counts alive ones")
    func deadIdsDoNotCount() throws {
        let workspace = try Workspace()
        try workspace.write("bids.yaml", "batch_records: 10\ndedupe_max_ids: 25\n")
        try workspace.publish(
            "bids",
            (0..<100).map { Samples.bid("a\($0)", at: Samples.start + Int64($0) * 300_000) })
        try workspace.foldBids()
        #expect(try workspace.outcome(.accepted, "bids") == 100)
    }

    @Test(
        "Rejected records go to the dead letters in order, with their bytes and where they came from"
    )
    func deadLetters() throws {
        let workspace = try Workspace()
        try workspace.publish(
            "bids", Samples.record("bids", "{\"x\":", key: "k1", type: "openrtb.win", partition: 1),
            Samples.bid("fine", partition: 1), Samples.record("bids", nil, key: "k1", partition: 1))
        try workspace.foldBids()
        let letters = try workspace.records("bids.dlq")
        #expect(letters.map(\.text) == ["{\"x\":", nil])
        #expect(letters.map { $0.headers["weir_reason"] } == ["malformed_json", "tombstone"])
        #expect(letters.map { $0.headers["weir_offset"] } == ["0", "2"])
        #expect(letters[0].headers["ce_type"] == "openrtb.win")
        #expect(letters[0].headers["weir_topic"] == "bids")
        #expect(letters[0].headers["weir_partition"] == "1")
        #expect(letters[0].key == "k1")
        try workspace.foldBids()
        #expect(try workspace.records("bids.dlq").count == 2)
    }

    @Test("A key or headers that no dead letter could carry stay in the store, and stop nothing")
    func largeKeys() throws {
        let workspace = try Workspace()
        let large = String(repeating: "k", count: (512 << 10) + 1)
        var headed = Samples.record("bids", nil, key: "small", partition: 0)
        headed.headers.append(.init("x", large))
        try workspace.publish(
            "bids", Samples.record("bids", nil, key: large, partition: 0), headed,
            Samples.bid("fine"))
        try workspace.foldBids()
        let letters = try workspace.records("bids.dlq")
        #expect(letters.map { $0.headers["weir_offset"] } == ["0", "1"])
        #expect(letters.map(\.key) == [nil, "small"])
        #expect(
            letters[0].headers["weir_key_sha256"]
                == SHA256.hash(data: Data(large.utf8)).map { String(format: "%02x", $0) }.joined())
        #expect(letters[1].headers["x"] == nil)
        #expect(letters[1].headers["weir_headers_sha256"]?.count == 64)
        let kept = try workspace.snapshot("bids") { try $0.refusal(partition: 0, offset: 0) }
        #expect(kept?.key?.count == large.utf8.count)
        #expect(try workspace.outcome(.accepted, "bids") == 1)
    }

    @Test("A value that is too large is kept as its SHA-256, here and among the dead letters")
    func tooLarge() throws {
        let workspace = try Workspace()
        try workspace.write("bids.yaml", "max_record_bytes: 100\n")
        let value = String(repeating: "x", count: 101)
        try workspace.publish("bids", Samples.record("bids", value, key: "k", partition: 0))
        try workspace.foldBids()
        let letter = try #require(try workspace.records("bids.dlq").first)
        #expect(letter.value == nil)
        #expect(letter.headers["weir_reason"] == "too_large")
        #expect(
            letter.headers["weir_sha256"]
                == "c675a2e604b0cd1229c036e3ce0c87422980a245e295bbc605a507a2299752db")
        let kept = try #require(
            try workspace.snapshot("bids") { try $0.refusal(partition: 0, offset: 0) })
        #expect(kept.value == nil)
    }
}

@Suite("Texts and settings that nearly coincide")
struct NearCoincidenceTests {
    @Test("Seats that differ behind a NUL are two rows, and stay so across runs")
    func nulInText() throws {
        let workspace = try Workspace()
        func auctions(_ ids: [String]) -> [OutgoingRecord] {
            ids.enumerated().map { number, id in
                Samples.bid(id, seat: number % 2 == 0 ? "a\\u0000x" : "a\\u0000y")
            }
        }
        try workspace.publish("bids", auctions(["1", "2"]))
        try workspace.foldBids()
        try workspace.publish("bids", auctions(["3", "4"]))
        try workspace.foldBids()
        let rows = try workspace.integer(
            "SELECT count(*) FROM bids WHERE bids = 2 AND length(CAST(seat AS BLOB)) = 3",
            stream: "bids")
        #expect(rows == 2)
    }

    @Test("A longer dedupe window brings no dead id back to life, whatever the batches were")
    func longerWindow() throws {
        var contents: [[String]] = []
        for size in [1, 40, 1000] {
            let workspace = try Workspace()
            func auction(_ id: String, minutes: Int64) -> OutgoingRecord {
                Samples.bid(id, at: Samples.start + minutes * 60_000)
            }
            try workspace.write("bids.yaml", "batch_records: \(size)\n")
            try workspace.publish(
                "bids", auction("a", minutes: 0), auction("b", minutes: 30),
                auction("c", minutes: 80))
            try workspace.foldBids()
            try workspace.write(
                "bids.yaml", "batch_records: \(size)\ndedupe_window_seconds: 7200\n")
            try workspace.publish(
                "bids", auction("a", minutes: 81), auction("b", minutes: 81),
                auction("c", minutes: 81))
            try workspace.foldBids()
            // a was dead when the window grew; b and c were alive.
            #expect(try workspace.outcome(.accepted, "bids") == 4)
            contents.append(try workspace.contents("bids", ofOneLog: false))
        }
        #expect(Set(contents).count == 1)
    }

    @Test("A commit that gathers batches stores the same as one for each batch")
    func gatheredBatches() throws {
        var contents: [[String]] = []
        // 40 and 140 read two and seven records at a time, 40000 all of them. Some end with the first record of an hour.
        for size in [1, 40, 140, 40_000] {
            let workspace = try Workspace()
            try workspace.write("bids.yaml", "batch_records: \(size)\n")
            try workspace.publish(
                "bids",
                (0..<600).map { number in
                    // Each seventh repeats the one before it, and the last third has a rejected record.
                    let id = number % 7 == 6 ? "a\(number - 1)" : "a\(number)"
                    return number == 500
                        ? OutgoingRecord("bids", "{", partition: 0, at: Samples.start)
                        : Samples.bid(
                            id, partition: Int32(number / 50 % 2),
                            at: Samples.start + Int64(number) * 61_000)
                })
            try workspace.foldBids()
            #expect(try workspace.outcome(.rejected, "bids") == 1)
            contents.append(try workspace.contents("bids", ofOneLog: false))
        }
        #expect(Set(contents).count == 1)
        let marks = contents[0].filter { $0.hasPrefix("hours ") }
        #expect(marks.count > 15 && !marks.contains { $0.contains("_record:\"\"") })
    }

    @Test(
        "A worker stops in words when the store or the log is moved away while it runs",
        arguments: ["data/bids.sqlite", "log.sqlite"], ["", "-wal", "-shm"])
    func movedFiles(name: String, end: String) throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a")
        try workspace.foldBids()
        let (path, pipelines, log) = (workspace.path, workspace.pipelines, workspace.logAddress)
        let stop = StopSignal()
        let caught = Mutex<String?>(nil)
        let thread = Thread {
            do {
                try BidsFold.work(
                    WorkerOptions(
                        log: log, data: path + "/data", pipelines: pipelines, untilEnd: false),
                    stop: stop)
                caught.withLock { $0 = "no error" }
            } catch {
                caught.withLock { $0 = "\(error)" }
            }
        }
        thread.start()
        let store = workspace.path + "/data/bids.sqlite"
        defer { stop.request() }
        // Until then it may not have opened them.
        #expect(Wait.until { FileManager.default.fileExists(atPath: store + "-wal") })
        usleep(500_000)
        #expect(caught.withLock { $0 } == nil)
        try FileManager.default.moveItem(
            atPath: "\(workspace.path)/\(name)\(end)", toPath: workspace.path + "/moved")
        #expect(Wait.until { caught.withLock { $0 != nil } })
        let words = try #require(caught.withLock { $0 })
        let file = end.isEmpty ? "the file" : "its \(end)"
        #expect(
            words.contains("\(workspace.path)/\(name): \(file) was moved, deleted or replaced"),
            "\(words)")
    }
}
