import EmbeddedLog
import Engine
import EventLog
import Foundation
import Program
import Streams
import TestKit
import Testing

@Suite("Workers with an archive", .serialized)
struct ArchivedLogTests {
    /// A log of bids whose first half is archived, and of which all but the last quarter of that has
    /// expired since; folded once before that.
    private func makePlace() throws -> Workplace {
        let place = try Workplace()
        try place.write("bids.yaml", "batch_records: 20\ncommit_interval_ms: 1\n")
        let records = Samples.bids(4000, seed: 17)
        try place.publish("bids", Array(records.prefix(2000)))
        let log = try place.openLog()
        let archive = try EmbeddedLog(path: place.path + "/archive.sqlite", mode: .create)
        let copy = try ArchiveCopy(from: log.reader(topic: "bids"), to: archive)
        try copy.copyToEnd()
        try place.publish("bids", Array(records.dropFirst(2000)))
        try place.foldBids(data: "once")
        for range in copy.ranges {
            try log.trim(topic: "bids", partition: range.partition, before: range.endOffset * 3 / 4)
        }
        return place
    }

    private func address(_ place: Workplace) -> String { "sqlite:\(place.path)/archive.sqlite" }

    private func fold(
        _ place: Workplace, _ data: String, archive: String? = nil
    ) throws -> Program {
        try place.run(
            "weir-bids", data: data, ["--until-end", "--archive", archive ?? address(place)])
    }

    @Test("folding an archive publishes nothing; going on with its log publishes all of it")
    func emission() throws {
        let place = try Workplace()
        try place.publish(
            "bids",
            (0..<3 as Range<Int32>).map {
                Samples.record("bids", "{", key: "k\($0)", partition: $0)
            })
        let archive = try EmbeddedLog(path: place.path + "/archive.sqlite", mode: .create)
        try ArchiveCopy(from: place.openLog().reader(topic: "bids"), to: archive).copyToEnd()
        try place.fold("bids", place.options(log: .sqlite(path: place.path + "/archive.sqlite")))
        #expect(try archive.topics().map(\.name) == ["bids"])
        #expect(try place.refused("bids").count == 3)
        #expect(try !place.openLog().topics().contains { $0.name == "bids.dlq" })
        try place.foldBids()
        #expect(try place.records("bids.dlq").count == 3)
        try place.foldBids()
        #expect(try place.records("bids.dlq").count == 3)
    }

    @Test("an archive that is missing ends a worker with 1, another kind of log with 64")
    func exitCodes() throws {
        let place = try makePlace()
        func code(_ archive: String) throws -> Int32 {
            try fold(place, "refused", archive: archive).status
        }
        #expect(try code("sqlite:\(place.path)/none.sqlite") == 1)
        #expect(try code("kafka://localhost:9092") == 64)
        #expect(!FileManager.default.fileExists(atPath: place.path + "/refused/bids.sqlite"))
        #expect(try code("off") == 0)
    }

    @Test("a hole between archive and log stops the worker before a store is begun of it")
    func holes() throws {
        let place = try makePlace()
        let log = try place.openLog()
        for bounds in try log.reader(topic: "bids").bounds() {
            try log.trim(topic: "bids", partition: bounds.partition, before: bounds.endOffset - 1)
        }
        let worker = try fold(place, "holed")
        #expect(worker.status == 1)
        #expect(worker.error.contains("neither contains the records between"))
        #expect(try place.states("bids", data: "holed").isEmpty)
        // What is past the hole already needs nothing of the archive.
        #expect(try fold(place, "once").status == 0)
    }
}
