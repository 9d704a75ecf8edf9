import EventLog
import Foundation
import Store
import TestKit
import Testing

@Suite("Workers with snapshots")
struct WorkerSnapshotsTests {
    /// A log whose first records are only in snapshots, after a worker has folded them.
    private struct Machines {
        let measured: MeasuredWorkspace
        var workspace: Workspace { measured.workspace }
        var stream: String { measured.stream }
        var root: String { workspace.path + "/snapshots" }

        init(_ stream: String, trims: Bool = true) throws {
            measured = try MeasuredWorkspace(stream)
            try measured.configure(0)
            try measured.publish(try measured.records(200, seed: 3))
            try fold("first")
            try measured.publish(try measured.records(100, seed: 4))
            try measured.fold()
            guard trims else { return }
            let log = try workspace.openLog()
            for state in try workspace.states(stream, data: "first") {
                try log.trim(
                    topic: stream, partition: state.partition, before: state.nextOffset - 1)
            }
        }

        /// Folds to the end of the log with snapshots.
        func fold(_ data: String) throws {
            try withSnapshots { try workspace.fold(stream, workspace.options(data: data)) }
        }

        /// Runs `body` while the stream's file names the directory of snapshots.
        func withSnapshots(_ body: () throws -> Void) throws {
            let file = "\(workspace.pipelines)/\(stream).yaml"
            let text = try String(contentsOfFile: file, encoding: .utf8)
            try workspace.write("\(stream).yaml", text + "snapshots: \(root)\n")
            defer { try? workspace.write("\(stream).yaml", text) }
            try body()
        }

        func manifests(_ partition: Int32) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "\(root)/\(stream)/\(partition)")
                .filter { $0.hasPrefix("snapshot-") }.sorted()
        }

        /// Changes a byte of the files of a partition with this beginning.
        func damage(_ partition: Int32, _ prefix: String) throws {
            let directory = "\(root)/\(stream)/\(partition)"
            for name in try FileManager.default.contentsOfDirectory(atPath: directory)
            where name.hasPrefix(prefix) {
                var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
                bytes[bytes.count / 2] ^= 1
                try bytes.write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
            }
        }

        /// Changes the text of the newest manifest, which gets the name of a valid one.
        func rewriteNewest(_ partition: Int32, _ change: (String) throws -> String) throws {
            let directory = "\(root)/\(stream)/\(partition)"
            let newest = try #require(try manifests(partition).last)
            let changed = try change(
                String(contentsOfFile: "\(directory)/\(newest)", encoding: .utf8))
            // The name of a manifest contains its checksum.
            let sha256 = Data(changed.utf8).withUnsafeBytes { HexDigest.sha256($0) }
            let name = "\(newest.dropLast("0123456789abcdef.json".count))\(sha256.prefix(16)).json"
            try FileManager.default.removeItem(atPath: "\(directory)/\(newest)")
            try Data(changed.utf8).write(to: URL(filePath: "\(directory)/\(name)"))
        }

        func expectSame(_ data: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            #expect(
                try workspace.contents(stream, data: data) == workspace.contents(stream),
                sourceLocation: sourceLocation)
        }
    }

    @Test(
        "have all numbers on a new machine, although the log has lost its beginning",
        arguments: MeasuredWorkspace.streams)
    func takeOver(stream: String) throws {
        let machines = try Machines(stream)
        try machines.fold("second")
        try machines.expectSame("second")
        // And once more, from the snapshots of the second one.
        try machines.fold("third")
        try machines.expectSame("third")
        #expect(try machines.manifests(0).count == 2)
    }

    @Test("take the next older snapshot if the newest one is damaged")
    func damaged() throws {
        let machines = try Machines("bids")
        try machines.fold("second")
        for partition in 0..<4 as Range<Int32> {
            let newest = try #require(try machines.manifests(partition).last)
            try machines.damage(partition, newest)
        }
        try machines.fold("third")
        try machines.expectSame("third")
    }

    @Test("of an earlier schema are refused by name, and the next older one is taken")
    func earlierSchema() throws {
        let machines = try Machines("bids")
        try machines.fold("second")
        for partition in 0..<4 as Range<Int32> {
            try machines.rewriteNewest(partition) { text in
                let schema = try #require(text.firstMatch(of: /"schema" : ([0-9]+)/))
                let earlier = try #require(Int(schema.output.1)) - 1
                return text.replacing(schema.output.0, with: "\"schema\" : \(earlier)")
            }
        }
        try machines.withSnapshots {
            let worker = try machines.workspace.run("weir-bids", data: "third")
            #expect(worker.status == 0)
            #expect(worker.error.contains("it is of a store with schema"), "\(worker.error)")
        }
        try machines.expectSame("third")
    }

    @Test("refuse a partition without a usable snapshot if the log has lost its beginning")
    func beginningIsGone() throws {
        let machines = try Machines("bids")
        for partition in 0..<4 as Range<Int32> { try machines.damage(partition, "day-") }
        try machines.withSnapshots {
            let worker = try machines.workspace.run("weir-bids", data: "second")
            #expect(worker.status == 1)
            #expect(worker.error.contains("is damaged"), "\(worker.error)")
            #expect(worker.error.contains("--accept-missing-records"), "\(worker.error)")
        }
        #expect(try machines.workspace.states("bids", data: "second").isEmpty)
        let accepting = try machines.workspace.run(
            "weir-bids", data: "second", ["--until-end", "--accept-missing-records"])
        #expect(accepting.status == 0, "\(accepting.error)")
        let again = try machines.workspace.run("weir-bids", data: "second")
        #expect(again.status == 0, "\(again.error)")
    }

    @Test("neither use nor delete snapshots of another consumer group or topic")
    func otherInstallation() throws {
        let machines = try Machines("bids", trims: false)
        let before = try machines.manifests(0)
        let file = "\(machines.workspace.pipelines)/bids.yaml"
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try machines.workspace.write("bids.yaml", text + "group: another\n")
        try machines.withSnapshots {
            let worker = try machines.workspace.run("weir-bids", data: "second")
            #expect(worker.status == 0, "\(worker.error)")
            #expect(worker.error.contains("it is of the consumer group"), "\(worker.error)")
            #expect(worker.error.contains("its own directory"), "\(worker.error)")
        }
        #expect(try machines.manifests(0) == before)
        try machines.expectSame("second")
    }

    @Test("fold the log if every snapshot is damaged, and keep what they have")
    func allDamaged() throws {
        let machines = try Machines("bids", trims: false)
        for partition in 0..<4 as Range<Int32> { try machines.damage(partition, "day-") }
        try machines.fold("second")
        try machines.expectSame("second")
        // Their own store is further than all snapshots.
        try machines.fold("data")
        try machines.expectSame("second")
    }

    @Test("with --standby have copies of the partitions of others, and continue them")
    func standby() throws {
        let machines = try Machines("bids")
        let workspace = machines.workspace
        func offsets(_ data: String) -> [Int32: Int64]? {
            (try? workspace.states("bids", data: data)).map { states in
                Dictionary(uniqueKeysWithValues: states.map { ($0.partition, $0.nextOffset) })
            }
        }
        let copied = try #require(offsets("first"))
        try machines.withSnapshots {
            let worker = try workspace.start(
                "weir-bids", data: "second", ["--partitions", "0", "--standby"])
            let hasCopies = Wait.until(seconds: Wait.seconds) {
                offsets("second")?.filter { $0.key > 0 } == copied.filter { $0.key > 0 }
            }
            #expect(hasCopies, "\(String(describing: offsets("second"))) of \(copied)")
            #expect(try worker.stop() == 0, "\(worker.error)")
        }
        // The log has lost its beginning, and there are no snapshots any more.
        try FileManager.default.removeItem(atPath: machines.root)
        try workspace.fold("bids", workspace.options(data: "second"))
        try machines.expectSame("second")
    }

    @Test("with --standby need snapshots")
    func standbyWithoutSnapshots() throws {
        let machines = try Machines("bids", trims: false)
        let worker = try machines.workspace.run("weir-bids", ["--standby", "--until-end"])
        #expect(worker.status == 64)
        #expect(worker.error.contains("add the key snapshots to pipelines/bids.yaml"))
    }

    @Test("do not continue a snapshot of another topic of the name")
    func recreated() throws {
        let machines = try Machines("bids", trims: false)
        let log = try machines.workspace.openLog()
        _ = try log.deleteTopic("bids")
        try machines.measured.publish(try machines.measured.records(300, seed: 9))
        try machines.fold("second")
        try machines.workspace.fold("bids", machines.workspace.options(data: "straight"))
        #expect(
            try machines.workspace.contents("bids", data: "second")
                == machines.workspace.contents("bids", data: "straight"))
    }

    @Test("do not continue a snapshot of a recreated topic that has the same identity, as on Kafka")
    func recreatedOnKafka() throws {
        let machines = try Machines("bids", trims: false)
        let log = try machines.workspace.openLog()
        let former = try log.reader(topic: "bids").identity()
        _ = try log.deleteTopic("bids")
        try machines.measured.publish(try machines.measured.records(600, seed: 9))
        let identity = try log.reader(topic: "bids").identity()
        for partition in 0..<4 as Range<Int32> {
            try machines.rewriteNewest(partition) { $0.replacing(former, with: identity) }
        }
        try machines.withSnapshots {
            let worker = try machines.workspace.run("weir-bids", data: "second")
            #expect(worker.status == 0)
            #expect(worker.error.contains("is another one in the log"), "\(worker.error)")
        }
        try machines.workspace.fold("bids", machines.workspace.options(data: "straight"))
        #expect(
            try machines.workspace.contents("bids", data: "second")
                == machines.workspace.contents("bids", data: "straight"))
    }

    @Test("do not continue a snapshot whose conversion models were edited since")
    func edited() throws {
        let machines = try Machines("postbacks", trims: false)
        try machines.workspace.write(
            Samples.modelFile,
            Samples.model.replacingOccurrences(of: "[0, 1, 5, 10, 50]", with: "[0, 2, 5, 10, 50]"))
        try machines.fold("second")
        try machines.workspace.fold("postbacks", machines.workspace.options(data: "straight"))
        #expect(
            try machines.workspace.contents("postbacks", data: "second")
                == machines.workspace.contents("postbacks", data: "straight"))
    }

    @Test("replace snapshots at the offset of a store with other numbers, as after a promotion")
    func promoted() throws {
        let machines = try Machines("bids", trims: false)
        try machines.fold("second")
        let before = try machines.manifests(0)
        try machines.measured.configure(1)
        try machines.workspace.fold("bids", machines.workspace.options(data: "promoted"))
        try machines.fold("promoted")
        let after = try machines.manifests(0)
        #expect(after.count == before.count && after.last != before.last)
        try machines.fold("third")
        #expect(
            try machines.workspace.contents("bids", data: "third")
                == machines.workspace.contents("bids", data: "promoted"))
    }

    @Test("go on without snapshots if their directory cannot be written")
    func unwritable() throws {
        let machines = try Machines("bids", trims: false)
        try FileManager.default.removeItem(atPath: machines.root)
        try Data().write(to: URL(fileURLWithPath: machines.root))
        try machines.fold("second")
        try machines.expectSame("second")
    }
}
