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
    /// A log of bids that was folded once. Then its first half was archived, and three quarters of this half have
    /// expired.
    private func makeWorkspace() throws -> Workspace {
        let workspace = try Workspace()
        try workspace.write("bids.yaml", "batch_records: 20\ncommit_interval_ms: 1\n")
        let records = Samples.bids(4000, seed: 17)
        try workspace.publish("bids", Array(records.prefix(2000)))
        let log = try workspace.openLog()
        let archive = try EmbeddedLog(path: workspace.path + "/archive.sqlite", mode: .create)
        let copy = try ArchiveCopy(from: log.reader(topic: "bids"), to: archive)
        try copy.copyToEnd()
        try workspace.publish("bids", Array(records.dropFirst(2000)))
        try workspace.foldBids(data: "once")
        for range in copy.ranges {
            try log.trim(topic: "bids", partition: range.partition, before: range.endOffset * 3 / 4)
        }
        return workspace
    }

    private func address(_ workspace: Workspace) -> String {
        "sqlite:\(workspace.path)/archive.sqlite"
    }

    private func fold(
        _ workspace: Workspace, _ data: String, archive: String? = nil
    ) throws -> Program {
        try workspace.run(
            "weir-bids", data: data, ["--until-end", "--archive", archive ?? address(workspace)])
    }

    @Test("folding an archive publishes nothing; going on with its log publishes all of it")
    func emission() throws {
        let workspace = try Workspace()
        try workspace.publish(
            "bids",
            (0..<3 as Range<Int32>).map {
                Samples.record("bids", "{", key: "k\($0)", partition: $0)
            })
        let archive = try EmbeddedLog(path: workspace.path + "/archive.sqlite", mode: .create)
        try ArchiveCopy(from: workspace.openLog().reader(topic: "bids"), to: archive).copyToEnd()
        try workspace.fold(
            "bids", workspace.options(log: .sqlite(path: workspace.path + "/archive.sqlite")))
        #expect(try archive.topics().map(\.name) == ["bids"])
        #expect(try workspace.refused("bids").count == 3)
        #expect(try !workspace.openLog().topics().contains { $0.name == "bids.dlq" })
        try workspace.foldBids()
        #expect(try workspace.records("bids.dlq").count == 3)
        try workspace.foldBids()
        #expect(try workspace.records("bids.dlq").count == 3)
    }

    @Test("an archive that is missing ends a worker with 1, another kind of log with 64")
    func exitCodes() throws {
        let workspace = try makeWorkspace()
        func code(_ archive: String) throws -> Int32 {
            try fold(workspace, "refused", archive: archive).status
        }
        #expect(try code("sqlite:\(workspace.path)/none.sqlite") == 1)
        #expect(try code("kafka://localhost:9092") == 64)
        #expect(!FileManager.default.fileExists(atPath: workspace.path + "/refused/bids.sqlite"))
        // Without the archive, the store would lack records that the group has folded.
        #expect(try code("off") == 1)
    }

    @Test("a hole between archive and log stops the worker before a store is begun of it")
    func holes() throws {
        let workspace = try makeWorkspace()
        let log = try workspace.openLog()
        for bounds in try log.reader(topic: "bids").bounds() {
            try log.trim(topic: "bids", partition: bounds.partition, before: bounds.endOffset - 1)
        }
        let worker = try fold(workspace, "holed")
        #expect(worker.status == 1)
        #expect(worker.error.contains("neither contains the records between"))
        #expect(try workspace.states("bids", data: "holed").isEmpty)
        // A store beyond the hole needs nothing of the archive.
        #expect(try fold(workspace, "once").status == 0)
    }
}
