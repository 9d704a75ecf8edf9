import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import Streams
import TestKit
import Testing

@testable import Store

@Suite("Snapshots of partitions")
struct SnapshotsTests {
    /// The records of a stream, and stores that fold them.
    private final class Machines {
        let measured: MeasuredWorkspace
        let stream: String
        let records: [ReadRecord]

        init(_ stream: String, seed: UInt64) throws {
            self.stream = stream
            measured = try MeasuredWorkspace(stream)
            try measured.configure(0)
            try measured.publish(try measured.records(400, seed: seed))
            records = try measured.workspace.records(stream)
                .sorted { ($0.offset, $0.partition) < ($1.offset, $1.partition) }
        }

        var root: String { measured.workspace.path + "/snapshots" }

        func directory(_ partition: Int32) -> SnapshotDirectory {
            SnapshotDirectory(root: root, stream: stream, partition: partition)
        }

        func machine<Fold: StreamFold>(_: Fold.Type, _ data: String) throws -> Machine<Fold> {
            try Machine(self, data)
        }

        func contents(_ data: String) throws -> [String] {
            try measured.workspace.contents(stream, data: data)
        }

        /// The index of explanations, which contents do not show.
        func explanations(_ data: String) throws -> [String] {
            try measured.workspace.snapshot(stream, data: data) { snapshot in
                var lines: [String] = []
                for table in try measured.tables {
                    let index = try snapshot.contributions(of: table)
                    let partitions = Set(try snapshot.partitionStates().map(\.partition))
                    try snapshot.forEachNumberedRow(of: table, partitions: partitions) {
                        number, partition, columns, _ in
                        try index.forEach(
                            inSlot: number.slot, where: { key, _ in key == number.key }
                        ) { _, measures, runs in
                            let offsets = runs.flatMap { $0.first..<$0.end }
                            for offset in offsets {
                                lines.append(
                                    "\(table.name) \(partition) \(columns) \(measures.rawValue) \(offset)"
                                )
                            }
                        }
                    }
                }
                for state in try snapshot.partitionStates() {
                    try snapshot.forEachRememberedID(of: state) {
                        lines.append("id \(state.partition) \($0)")
                    }
                }
                return lines.sorted()
            }
        }
    }

    /// A store and its fold.
    private final class Machine<Fold: StreamFold> {
        let store: AggregateStore
        let fold: Fold
        private let machines: Machines
        private var writers: [Int32: SnapshotWriter] = [:]
        private var copies: [Int32: PartitionCopy] = [:]
        private var positions: [Int32: Int64] = [:]
        private let configuration: FoldConfiguration

        init(_ machines: Machines, _ data: String) throws {
            self.machines = machines
            let workspace = machines.measured.workspace
            let directory = workspace.path + "/" + data
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true)
            let rules = try Fold.rules(in: PipelineDirectory(workspace.pipelines))
            configuration = rules.configuration
            store = try AggregateStore(
                path: "\(directory)/\(machines.stream).sqlite", fold: Fold.self,
                topic: machines.stream, logIdentity: "log", partitionCount: 4)
            store.notesChanges = true
            fold = try Fold.make(
                rules, topic: machines.stream, memory: store, threadCount: 1)
        }

        /// Begins a partition, or continues the restored one.
        func begin(_ partition: Int32) throws {
            if try !store.partitionStates().contains(where: { $0.partition == partition }) {
                try store.beginPartition(partition, at: 0, emitFrom: 0)
            }
            try store.recordEpoch(partition: partition, configuration: configuration)
            let state = try #require(
                try store.partitionStates().first { $0.partition == partition })
            store.expect(state)
            try store.restore(state, in: fold)
            positions[partition] = state.nextOffset
        }

        /// Folds the next records of its partitions, up to an offset.
        func fold(to end: Int64, batch size: Int = 23) throws {
            let records = machines.records.filter { record in
                positions[record.partition].map { record.offset >= $0 && record.offset < end }
                    ?? false
            }
            for start in stride(from: 0, to: records.count, by: size) {
                let batch = RecordBatch()
                for record in records[start..<min(start + size, records.count)] {
                    batch.append(record)
                    positions[record.partition] = record.offset + 1
                }
                let prepared = fold.prepare(batch)
                for index in 0..<batch.count { try fold.fold(index, of: prepared) }
                _ = try store.store(fold, prepared)
            }
            try store.awaitCommit()
        }

        func take(_ partition: Int32) throws -> SnapshotManifest? {
            let writer =
                try writers[partition]
                ?? SnapshotWriter(
                    machines.directory(partition), of: partition, in: store, group: nil)
            writers[partition] = writer
            return try writer.take()
        }

        /// Restores a partition from its newest snapshot.
        ///
        /// - Parameter orNot: whether there may be none.
        func restore(_ partition: Int32, orNot: Bool = false) throws {
            let directory = machines.directory(partition)
            let newest = try directory.manifests().first
            if orNot, newest == nil { return }
            let name = try #require(newest)
            let manifest = try directory.manifest(named: name)
            try directory.verify(manifest)
            let copy = try store.restore(manifest, in: directory, over: copies[partition])
            copies[partition] = copy
            writers[partition] = try SnapshotWriter(
                directory, of: partition, in: store, group: nil, after: copy.sharedManifest)
        }
    }

    private static func takeOver<Fold: StreamFold>(_: Fold.Type, seed: UInt64) throws {
        let machines = try Machines(Fold.streamName, seed: seed)
        var random = SeededGenerator(seed: seed)
        let ends = (1...6).map { Int64($0) * 20 }
        let straight = try machines.machine(Fold.self, "straight")
        for partition in Int32(0)..<4 { try straight.begin(partition) }
        try straight.fold(to: .max)
        // Two machines fold two partitions each, with snapshots in between.
        let first = try machines.machine(Fold.self, "first")
        for partition in [Int32(0), 1] { try first.begin(partition) }
        let second = try machines.machine(Fold.self, "second")
        for partition in [Int32(2), 3] { try second.begin(partition) }
        // Another one copies their partitions from the snapshots, again and again.
        let standby = try machines.machine(Fold.self, "standby")
        for end in ends {
            try first.fold(to: end)
            try second.fold(to: end)
            for partition in Int32(0)..<4 where random.next() % 2 > 0 {
                try standby.restore(partition, orNot: true)
            }
            for partition in [Int32(0), 1] where random.next() % 3 > 0 {
                _ = try first.take(partition)
            }
            for partition in [Int32(2), 3] where random.next() % 3 > 0 {
                _ = try second.take(partition)
            }
        }
        for partition in [Int32(0), 1] { _ = try first.take(partition) }
        for partition in [Int32(2), 3] { _ = try second.take(partition) }
        for partition in Int32(0)..<4 { try standby.restore(partition) }
        // A third one restores all partitions and continues. The keys of the second have other numbers there.
        let third = try machines.machine(Fold.self, "third")
        for partition in [Int32(1), 3, 0, 2] {
            try third.restore(partition)
            try third.begin(partition)
        }
        try third.fold(to: .max)
        #expect(try machines.contents("third") == machines.contents("straight"))
        let explanations = try machines.explanations("third")
        #expect(try explanations == machines.explanations("straight"))
        #expect(!explanations.isEmpty)
        // Copies of partitions with a new owner: keys have other numbers.
        for partition in [Int32(0), 1] {
            _ = try third.take(partition)
            try standby.restore(partition)
        }
        for partition in Int32(0)..<4 { try standby.begin(partition) }
        try standby.fold(to: .max)
        #expect(try machines.contents("standby") == machines.contents("straight"))
        #expect(try machines.explanations("standby") == explanations)
        // The first one is behind: what it has of two partitions gives way to new snapshots.
        for partition in [Int32(0), 3] {
            _ = try third.take(partition)
            try first.restore(partition)
            try first.begin(partition)
        }
        for partition in [Int32(1), 2] {
            try first.store.clear(partition: partition)
            try first.begin(partition)
        }
        try first.fold(to: .max)
        #expect(try machines.contents("first") == machines.contents("straight"))
        #expect(try machines.explanations("first") == explanations)
    }

    @Test(
        "continue partitions on another machine, with what was stored there",
        arguments: MeasuredWorkspace.streams)
    func takeOver(stream: String) throws {
        guard let fold = Streams.stream(named: stream) else { throw TestFault(stream) }
        for seed in 1...3 as ClosedRange<UInt64> {
            try Self.takeOver(fold, seed: seed)
        }
    }

    @Test("A partition whose restoration was killed is not counted, and begins again")
    func partlyRestored() throws {
        let machines = try Machines("bids", seed: 4)
        let straight = try machines.machine(BidsFold.self, "straight")
        for partition in Int32(0)..<4 { try straight.begin(partition) }
        try straight.fold(to: .max)
        do {
            let killed = try machines.machine(BidsFold.self, "killed")
            for partition in Int32(0)..<4 { try killed.begin(partition) }
            try killed.fold(to: 40)
            // A killed restoration leaves rows without a state, and the mark.
            try killed.store.commit { db in
                try RestoredPartitions.begin(1, db)
            }
        }
        let states = try machines.measured.workspace.snapshot("bids", data: "killed") {
            try $0.partitionStates().map(\.partition)
        }
        #expect(states == [0, 2, 3])
        let again = try machines.machine(BidsFold.self, "killed")
        for partition in Int32(0)..<4 { try again.begin(partition) }
        try again.fold(to: .max)
        #expect(try machines.contents("killed") == machines.contents("straight"))
        #expect(try machines.explanations("killed") == machines.explanations("straight"))
        // The mark is gone, so that a lost state is damage again.
        try again.store.commit { try $0.execute(sql: "DELETE FROM partitions") }
        #expect(throws: StoreError.self) {
            try machines.measured.workspace.snapshot("bids", data: "killed") { _ in }
        }
    }
}
