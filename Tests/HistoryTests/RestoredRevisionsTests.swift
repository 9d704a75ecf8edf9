import Engine
import EventLog
import Foundation
import Program
import Store
import Streams
import TestKit
import Testing

@testable import History

/// Restored stores that are older than what partners have.
@Suite("Revisions after a restore")
struct RestoredRevisionsTests {
    enum Backend: CaseIterable { case embedded, kafka }

    /// A machine that was lost after a promotion, and the documents that partners have of it.
    private final class Machine {
        let workspace: Workspace
        private let cluster: ClusterWorkspace?
        var log: any LogBackend {
            get throws {
                if let cluster { return cluster.log }
                return try workspace.openLog()
            }
        }

        init(_ backend: Backend) throws {
            switch backend {
            case .embedded:
                cluster = nil
                workspace = try Workspace()
            case .kafka:
                let cluster = try ClusterWorkspace(.mock)
                self.cluster = cluster
                workspace = cluster.workspace
                workspace.logAddress = try LogAddress(cluster.address)
                for topic in ["postbacks", "partner-postbacks", "postbacks.dlq"] {
                    try cluster.makeTopic(topic)
                }
            }
            try workspace.write("postbacks.yaml", "batch_records: 10\n" + Samples.trustedKeys)
            try workspace.write(Samples.modelFile, Samples.model)
            try workspace.write("partners/acme.yaml", Samples.trusting("[valid, invalid]"))
        }

        func publish(_ id: String, value: Int = 4, forged: Bool = false) throws {
            let record = try Samples.signed(
                id, value: value, forged: forged, key: id,
                partition: Int32(id.utf8.reduce(0) { $0 + Int($1) } % 4))
            if cluster == nil {
                try workspace.publish("postbacks", record)
            } else {
                try log.writer().append([record])
            }
        }

        /// Promotes the stores of the corrected model.
        func promoteCorrected(_ set: String = "set", emits: Bool) throws {
            try workspace.write(Samples.modelFile, Samples.correctedModel)
            try workspace.replay(["postbacks"], workspace.order(into: set, mode: .present))
            try workspace.promote(set)
            if emits { try workspace.sendCorrections(set) }
        }

        /// Four documents under the first model, and a copy of the data directory.
        func begin() throws {
            try publish("t1", forged: true)
            try publish("t2", value: 1)
            try publish("t3")
            try publish("t5", forged: true)
            try workspace.foldPostbacks()
            try copy("data", to: "backup")
        }

        /// - Parameter keepsSet: whether the promoted set is found again.
        func lose(keepsSet: Bool = false) throws {
            for name in keepsSet ? ["data"] : ["data", "set"] {
                try? FileManager.default.removeItem(atPath: "\(workspace.path)/\(name)")
            }
            try copy("backup", to: "data")
        }

        private func copy(_ name: String, to other: String) throws {
            try FileManager.default.copyItem(
                atPath: "\(workspace.path)/\(name)", toPath: "\(workspace.path)/\(other)")
        }

        func readRevisions() throws -> RevisionReading.Result {
            let reader = try log.reader(topic: "postbacks", group: "weir-postbacks")
            defer { reader.close() }
            var reading = try RevisionReading(
                directory: "\(workspace.path)/data", committed: reader.committedOffsets())
            return try reading.run(log, partnerTopic: "partner-postbacks") { _ in }
        }

        /// The revisions of a postback in the topic, in order. Fails if one has two contents.
        func revisions(
            _ transaction: String, sourceLocation: SourceLocation = #_sourceLocation
        ) throws -> [Int] {
            var contents: [String: String] = [:]
            var revisions: [Int] = []
            for record in try log.records(of: "partner-postbacks") {
                let text = try #require(record.text)
                let document = try jsonObject(text)
                let id = "\(document["id"] ?? ""):\(document["revision"] ?? "")"
                #expect(
                    contents[id] ?? text == text, "\(id) has two contents",
                    sourceLocation: sourceLocation)
                contents[id] = text
                let postback = document["postback"] as? [String: Any]
                if postback?["transaction_id"] as? String == transaction {
                    revisions.append(try #require(document["revision"] as? Int))
                }
            }
            return revisions
        }
    }

    @Test(
        "are read from the topic: a promotion after it sends nothing that partners have, and no number twice",
        arguments: Backend.allCases, [false, true])
    func promotedAgain(backend: Backend, keepsSet: Bool) throws {
        let machine = try Machine(backend)
        try machine.begin()
        try machine.promoteCorrected(emits: true)
        try machine.publish("t1")
        try machine.publish("t4")
        try machine.workspace.foldPostbacks()
        #expect(try machine.revisions("t1") == [1, 2, 3])
        #expect(try machine.revisions("t3") == [1, 2])
        try machine.lose(keepsSet: keepsSet)
        // Without them, a promotion cannot know what partners have.
        let set = keepsSet ? "set" : "again"
        if !keepsSet {
            try machine.workspace.replay(
                ["postbacks"], machine.workspace.order(into: set, mode: .present))
        }
        #expect(throws: PromotionError.self) { try machine.workspace.promote(set) }
        let result = try machine.readRevisions()
        #expect(result.recorded == 4, "t1, t3, t4 and t5")
        try machine.workspace.promote(set)
        let corrections = try machine.workspace.corrections(set)
        #expect(corrections.isEmpty, "partners have the corrected documents")
        #expect(try machine.workspace.sendCorrections(set) == 0)
        try machine.workspace.foldPostbacks()
        try machine.publish("t5")
        try machine.publish("t6")
        try machine.workspace.foldPostbacks()
        #expect(try machine.revisions("t1") == [1, 2, 3])
        #expect(try machine.revisions("t4") == [1])
        #expect(try machine.revisions("t5") == [1, 2, 3])
        #expect(try machine.revisions("t6") == [1])
        try machine.workspace.foldPostbacks(data: "fresh")
        #expect(
            try machine.workspace.contents("postbacks", data: set)
                == machine.workspace.contents("postbacks", data: "fresh"))
    }

    @Test(
        "are read by a worker that continues with a copied data directory from before the promotion",
        arguments: Backend.allCases, [true, false])
    func workerContinues(backend: Backend, hasLaterRecords: Bool) throws {
        // An embedded log shows only by later records that the store is an older copy.
        guard backend == .kafka || hasLaterRecords else { return }
        let machine = try Machine(backend)
        try machine.begin()
        try machine.promoteCorrected(emits: true)
        if hasLaterRecords { try machine.publish("t4") }
        try machine.workspace.foldPostbacks()
        try machine.lose()
        try machine.workspace.write(Samples.modelFile, Samples.model)
        try machine.workspace.foldPostbacks()
        try machine.publish("t5")
        try machine.workspace.foldPostbacks()
        #expect(try machine.revisions("t5") == [1, 2, 3])
        #expect(try machine.revisions("t2") == [1])
        // Corrected again, by what partners have now.
        try machine.promoteCorrected("again", emits: true)
        #expect(try machine.revisions("t1") == [1, 2])
        #expect(try machine.revisions("t3") == [1, 2])
        #expect(try machine.revisions("t5") == [1, 2, 3, 4])
        try machine.publish("t1")
        try machine.workspace.foldPostbacks()
        #expect(try machine.revisions("t1") == [1, 2, 3])
        // And back.
        try machine.workspace.write(Samples.modelFile, Samples.model)
        _ = try machine.workspace.promotion(.back).run(stop: StopSignal())
        try machine.workspace.sendCorrections("data")
        try machine.workspace.foldPostbacks()
        #expect(try machine.revisions("t1") == [1, 2, 3, 4])
        #expect(try machine.revisions("t3") == [1, 2, 3])
    }

    @Test("mark corrections as sent that were sent after the backup", arguments: Backend.allCases)
    func sentCorrections(backend: Backend) throws {
        let machine = try Machine(backend)
        try machine.begin()
        try machine.workspace.write(Samples.modelFile, Samples.correctedModel)
        let set = "data/sets/fixed"
        try machine.workspace.replay(
            ["postbacks"], machine.workspace.order(into: set, mode: .present))
        try machine.workspace.promote(set)
        try FileManager.default.removeItem(atPath: "\(machine.workspace.path)/backup")
        try FileManager.default.copyItem(
            atPath: "\(machine.workspace.path)/data", toPath: "\(machine.workspace.path)/backup")
        #expect(try machine.workspace.sendCorrections(set) == 3)
        try machine.lose()
        var reading = try RevisionReading(
            directory: "\(machine.workspace.path)/\(set)",
            committed: Dictionary(
                uniqueKeysWithValues: (0..<4).map { (Int32($0), GroupOffset(1)) }))
        let result = try reading.run(
            machine.log, partnerTopic: "partner-postbacks"
        ) { _ in }
        #expect(result.sent == 3 && result.recorded == 0)
        #expect(try machine.workspace.corrections(set).allSatisfy { $0.state == .sent })
        #expect(try machine.workspace.sendCorrections(set) == 0)
        try machine.publish("t5")
        try machine.workspace.foldPostbacks()
        #expect(try machine.revisions("t5") == [1, 2, 3])
    }

    @Test(
        "record nothing for stores that published everything themselves",
        arguments: Backend.allCases)
    func sameDocuments(backend: Backend) throws {
        let machine = try Machine(backend)
        try machine.begin()
        #expect(try machine.readRevisions().recorded == 0)
        try machine.publish("t1")
        try machine.publish("t4")
        try machine.workspace.foldPostbacks()
        try machine.lose()
        #expect(try machine.readRevisions().recorded == 2)
        try machine.workspace.foldPostbacks()
        // Folded again, they are what the store itself has.
        #expect(try machine.workspace.corrections("data").isEmpty)
        try machine.publish("t5")
        try machine.workspace.foldPostbacks()
        #expect(try machine.revisions("t1") == [1, 2])
        #expect(try machine.revisions("t4") == [1])
        #expect(try machine.revisions("t5") == [1, 2])
    }
}

@Suite("Snapshots and promotions")
struct PromotedSnapshotsTests {
    @Test("A promotion, and the way back, leave no snapshot of the stores that they replace")
    func snapshots() throws {
        let workspace = try Workspace()
        let root = "\(workspace.path)/snapshots"
        for stream in ["bids", "impressions"] {
            try workspace.write("\(stream).yaml", "batch_records: 100\nsnapshots: \(root)\n")
        }
        try workspace.publish("bids", Samples.bids(200, seed: 1))
        try workspace.foldBids()
        func manifests() throws -> [String] {
            try (0..<4).flatMap {
                try SnapshotDirectory(root: root, stream: "bids", partition: $0).manifests()
            }
        }
        let other = SnapshotDirectory(root: root, stream: "bids", partition: 9)
        try FileManager.default.createDirectory(
            atPath: other.path, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: "\(other.path)/snapshot-1.json"))
        #expect(try manifests().count == 4)
        try workspace.replay(["bids"], workspace.order(mode: .present))
        #expect(try manifests().count == 4, "a replay changes none")
        try workspace.promote()
        #expect(try manifests().isEmpty)
        #expect(try other.manifests().count == 1, "that of another data directory stays")
        try workspace.publish("bids", Samples.bids(100, seed: 2))
        try workspace.foldBids()
        #expect(try manifests().count == 4)
        _ = try workspace.promotion(.back).run(stop: StopSignal())
        #expect(try manifests().isEmpty)
        try workspace.foldBids()
        #expect(try manifests().count == 4)
    }

    @Test("A promotion that cannot delete a snapshot changes nothing, and names it")
    func notDeleted() throws {
        let workspace = try Workspace()
        let root = "\(workspace.path)/snapshots"
        try workspace.write("bids.yaml", "snapshots: \(root)\n")
        try workspace.publish("bids", Samples.bids(200, seed: 1))
        try workspace.foldBids()
        try workspace.replay(["bids"], workspace.order(mode: .present))
        // A directory cannot be unlinked, not even by root.
        let path = "\(root)/bids/0/snapshot-1.json"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let error = #expect(throws: StoreError.self) { try workspace.promote() }
        #expect("\(try #require(error))".contains("cannot delete \(path)"))
        #expect(try workspace.inForce("bids") == "data")
    }
}
