import ConfigurationValues
import Engine
import EventLog
import Foundation
import Program
import Reports
import Store
import Streams
import TestKit
import Testing

@Suite("Bad input at every door")
struct RefusalToWorkTests {
    private func words(_ body: () throws -> Void) throws -> String {
        var caught: (any Error)?
        do { try body() } catch { caught = error }
        let text = "\(try #require(caught))"
        #expect(!text.contains("\n"), "one line")
        return text
    }

    @Test("No log, no topic and a file that is no log are told apart")
    func badLogs() throws {
        let workspace = try Workspace()
        #expect(try words { try workspace.foldBids() }.contains("no log at"))
        try workspace.publish("postbacks", Samples.record("postbacks", "{}", partition: 0))
        #expect(try words { try workspace.foldBids() }.contains("no topic 'bids'"))
        let other = try Workspace()
        try String(repeating: "no database ", count: 1000).write(
            toFile: other.path + "/log.sqlite", atomically: true, encoding: .utf8)
        #expect(try words { try other.foldBids() }.contains("is not a log"))
    }

    @Test(
        "A store with other columns than are declared is refused by its worker and left alone; readers know what it counts"
    )
    func otherColumns() throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a")
        try workspace.foldBids()
        try workspace.execute("ALTER TABLE bids_sums RENAME COLUMN wins TO won", stream: "bids")
        let refusal = "was folded by another version of Weir: its table bids differs in wins, won"
        #expect(try words { try workspace.foldBids() }.contains(refusal))
        let dump = try workspace.stores().dump(ReportRequest(name: "bids", grouping: .total))
        let row = try #require(dump.rows.first)
        let counted = zip(dump.measures, row.measures).filter { ["bids", "wins"].contains($0.0) }
        #expect(counted.map(\.1) == [1, nil], "unknown, not 0")
        #expect(throws: InspectionError.self) {
            try workspace.execute(
                "ALTER TABLE bids_keys RENAME COLUMN seat TO bidder", stream: "bids")
            _ = try workspace.stores().dump(ReportRequest(name: "bids", grouping: .total))
        }
        try workspace.execute("ALTER TABLE bids_keys RENAME COLUMN bidder TO seat", stream: "bids")
        try workspace.execute("ALTER TABLE bids_sums RENAME COLUMN won TO wins", stream: "bids")
        try workspace.foldBids()
    }

    @Test(
        "A store that was folded under rules of another number is refused, with what to do, and left alone",
        arguments: [BidsFold.streamName, "impressions", "overlay-clicks"])
    func otherRules(_ name: String) throws {
        let workspace = try Workspace()
        let click = #"{"impression_id":"a","initiated_by":"user","clicked_at_ms":1}"#
        try workspace.publish(
            name,
            Samples.record(
                name, name == "bids" ? #"{"request":{"id":"a"}}"# : click, partition: 0))
        func fold() throws {
            let fold = try #require(stream(named: name))
            try fold.work(try workspace.options(["--until-end"]), stop: StopSignal())
        }
        try fold()
        try workspace.execute(
            "UPDATE epochs SET configuration = replace(configuration, '\"rules\":2', '\"rules\":1'), configuration_hash = 'x'",
            stream: name)
        let before = try workspace.contents(name)
        let text = try words { try fold() }
        #expect(text.contains("\(name).sqlite was folded with rules 1, but this version"))
        #expect(text.contains("weir replay --topic TOPIC --into DIR --configuration present"))
        #expect(try workspace.contents(name) == before)
    }

    @Test(
        "An emptied store is refused and left as it is; what a crash left of a new one is not"
    )
    func emptied() throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a")
        let path = workspace.path + "/data/bids.sqlite"
        try FileManager.default.createDirectory(
            atPath: workspace.path + "/data", withIntermediateDirectories: true)
        for end in [".new", ".new-journal", "-wal", "-shm"] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: path + end))
        }
        try workspace.foldBids()
        #expect(try workspace.outcome(.accepted, "bids") == 1)
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
        for end in ["", "-wal", "-shm"] { unlink(path + end) }
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(throws: StoreError.emptiedStore(path: path)) { try workspace.foldBids() }
        let refusal =
            "bids.sqlite is damaged (it is empty): restore it from a backup, or delete it and fold the log again"
        #expect(try words { try workspace.foldBids() }.contains(refusal))
        let read = {
            _ = try workspace.stores().dump(ReportRequest(name: "bids", grouping: .total))
        }
        #expect(try words(read).contains(refusal))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
        unlink(path)
        try workspace.foldBids()
        #expect(try workspace.outcome(.accepted, "bids") == 1)
    }

    @Test("A store that is another program's, another stream's or a newer version's is left alone")
    func badStores() throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a")
        try workspace.foldBids()
        try workspace.execute("PRAGMA user_version = 99", stream: "bids")
        #expect(try words { try workspace.foldBids() }.contains("schema 99"))
        try workspace.execute("PRAGMA user_version = 7", stream: "bids")
        #expect(
            try words { try workspace.foldBids() }.contains(
                "schema 7: an earlier version of Weir folded it with other rules"))
        try workspace.execute("PRAGMA application_id = 7", stream: "bids")
        #expect(try words { try workspace.foldBids() }.contains("is not a store"))
        let data = workspace.path + "/swapped"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        try workspace.publish("postbacks", Samples.record("postbacks", "{}", partition: 0))
        try workspace.foldPostbacks()
        try FileManager.default.copyItem(
            atPath: workspace.path + "/data/postbacks.sqlite", toPath: data + "/bids.sqlite")
        #expect(
            try words { try workspace.foldBids(data: "swapped") }.contains("store of 'postbacks'"))
    }

    @Test("A store in use by another worker is refused, naming the process")
    func lockedStore() throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a")
        try workspace.foldBids()
        let descriptor = open(workspace.path + "/data/bids.sqlite.lock", O_RDWR)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        let text = try words { try workspace.foldBids() }
        #expect(text.contains("in use by another worker (process "))
    }

    @Test("A broken configuration is one line with file, line and key")
    func brokenConfiguration() throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a")
        try workspace.write("bids.yaml", "batch_records: 10\nbatch_recods: 10\n")
        let unknown = try words { try workspace.foldBids() }
        #expect(unknown.contains("bids.yaml:2: batch_recods"))
        try workspace.write("bids.yaml", "batch_records: [\n")
        #expect(try words { try workspace.foldBids() }.contains("bids.yaml:"))
        try workspace.write("bids.yaml", "batch_records: many\n")
        #expect(try words { try workspace.foldBids() }.contains("bids.yaml:1: batch_records"))
        try FileManager.default.removeItem(atPath: workspace.pipelines + "/bids.yaml")
        #expect(try words { try workspace.foldBids() }.contains("bids.yaml"))
        try workspace.write("postbacks.yaml", "trusted_keys:\n  production: [\"AAAA\"]\n")
        try workspace.publish("postbacks", Samples.record("postbacks", "{}", partition: 0))
        #expect(
            try words { try workspace.foldPostbacks() }
                .contains("postbacks.yaml:2: trusted_keys.production[0]"))
    }

    @Test("A log that was trimmed past the store, is shorter than it, or was created anew stops it")
    func otherLogs() throws {
        let workspace = try Workspace()
        let records = Samples.bids(0..<10)
        try workspace.publish("bids", Array(records[..<4]))
        try workspace.foldBids()
        try workspace.publish("bids", Array(records[4...]))
        _ = try workspace.openLog().trim(topic: "bids", partition: 0, before: 6)
        let later = try words { try workspace.foldBids() }
        #expect(later.contains("now starts at offset 6") && later.contains("folded up to 4"))
        try workspace.execute(
            "UPDATE partitions SET next_offset = 50 WHERE partition = 0", stream: "bids")
        #expect(try words { try workspace.foldBids() }.contains("ends at offset 10"))
        _ = try workspace.openLog().deleteTopic("bids")
        try workspace.publish("bids", records)
        #expect(try words { try workspace.foldBids() }.contains("recreated"))
    }

    @Test("A new store begins at the oldest record of a trimmed log and remembers where that was")
    func trimmedLog() throws {
        let workspace = try Workspace()
        try workspace.publish("bids", Samples.bids(0..<10))
        _ = try workspace.openLog().trim(topic: "bids", partition: 0, before: 6)
        try workspace.foldBids()
        #expect(try workspace.states("bids").first?.firstOffset == 6)
        #expect(try workspace.outcome(.accepted, "bids") == 4)
    }

    @Test(
        "A partition that another worker has moved on is not written, and nothing of the batch is")
    func fenced() throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a")
        try workspace.foldBids()
        let before = try workspace.contents("bids")
        try workspace.publishAuctions("b")
        // A trigger stands for the other worker: it moves the partition as this one begins to write.
        try workspace.execute(
            """
            CREATE TRIGGER other BEFORE INSERT ON dedupe BEGIN
              UPDATE partitions SET next_offset = 7 WHERE partition = 0;
            END
            """, stream: "bids")
        try workspace.execute("DELETE FROM dedupe", stream: "bids")
        let text = try words { try workspace.foldBids() }
        #expect(text.contains("partition 0 is no longer at offset 1"))
        try workspace.execute("DROP TRIGGER other", stream: "bids")
        #expect(try workspace.contents("bids") == before)
    }

    @Test("An unknown partition, and a Kafka address, are refused in words")
    func badOptions() throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a")
        let options = try workspace.options(["--partitions", "1,9"])
        let text = try words { try BidsFold.work(options, stop: StopSignal()) }
        #expect(text.contains("--partitions names 9"))
        #expect(throws: (any Error).self) { try WorkerOptions.parse(["--partitions", "3-1"]) }
        #expect(throws: (any Error).self) { try WorkerOptions.parse(["--log", "elsewhere"]) }
    }
}
