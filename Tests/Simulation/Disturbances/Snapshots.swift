import CSimulatedSystem
import Foundation
import Store
import Streams

// What happens to snapshots of partitions, and to the machines that wrote them.

extension Disturbance {
    static let ofSnapshots = [
        Disturbance(.lostMachine, when: \.hasSnapshots) { try $0.loseMachine() },
        Disturbance(.damagedSnapshot, when: \.hasSnapshots) { try $0.damageSnapshot() },
        Disturbance(.handOff, when: \.hasSnapshots) { try $0.handOff() },
    ]
}

extension Simulation {
    fileprivate var hasSnapshots: Bool { snapshotRoot != nil }

    private var folding: [SimulatedWorker] { workers.filter { feed(of: $0) != nil } }

    /// A machine is lost with its disk; another one of the name begins without a store.
    fileprivate func loseMachine() throws -> Bool {
        guard let worker = one(of: folding) else { return false }
        kill(worker)
        try worker.moveStoresAway()
        note("\(worker.name) is lost with its disk")
        return true
    }

    /// A file of a snapshot is changed, cut or lost.
    fileprivate func damageSnapshot() throws -> Bool {
        guard let snapshotRoot, let feed = one(of: feeds) else { return false }
        weir_sim_enter(0)
        let partition = number(below: Int(Self.mostPartitions))
        let directory = "\(snapshotRoot)/\(feed.stream.streamName)/\(partition)"
        guard FileManager.default.fileExists(atPath: directory),
            let name = one(
                of: try FileManager.default.contentsOfDirectory(atPath: directory).sorted())
        else { return false }
        let path = "\(directory)/\(name)"
        switch number(below: 3) {
        case 0: try FileManager.default.removeItem(atPath: path)
        case 1:
            truncate(path, off_t(number(below: 4096)))
        default:
            let file = open(path, O_RDWR | O_CLOEXEC)
            defer { close(file) }
            let place = off_t(number(below: 4096))
            var byte: UInt8 = 0
            guard pread(file, &byte, 1, place) == 1 else { return false }
            byte ^= 1
            guard pwrite(file, &byte, 1, place) == 1 else { return false }
        }
        note("\(name) of \(feed.stream.streamName)/\(partition) is damaged")
        return true
    }

    /// The runbook of a recreated topic.
    func deleteSnapshots(of stream: String) throws {
        guard let snapshotRoot else { return }
        weir_sim_enter(0)
        let directory = "\(snapshotRoot)/\(stream)"
        guard FileManager.default.fileExists(atPath: directory) else { return }
        try FileManager.default.removeItem(atPath: directory)
        weir_sim_forget_names(directory)
    }

    /// An operator hands a partition from the store of one worker to that of another, as `weir handoff` does.
    fileprivate func handOff() throws -> Bool {
        guard let giver = one(of: folding) else { return false }
        let stream = giver.program.topic
        let others = folding.filter { $0.program.topic == stream && $0 !== giver }
        guard let taker = one(of: others), let fold = Streams.stream(named: stream) else {
            return false
        }
        kill(taker)
        weir_sim_enter(0)
        let source = try Comparison.storePath(giver.directory, stream)
        guard let store = try Self.store(source) else { return false }
        let states = try store.snapshot { try $0.partitionStates().filter { $0.records > 0 } }
        guard let state = one(of: states) else { return false }
        let root = "\(self.root)/disks/hand-off-\(processes)"
        let target = try Comparison.storePath(taker.directory, stream)
        let isDone = try runOperator {
            let directory = SnapshotDirectory(
                root: root, stream: stream, partition: state.partition)
            guard
                let manifest = try SnapshotWriter(directory, of: state.partition, at: source)
                    .take()
            else { return }
            try FileManager.default.createDirectory(
                atPath: taker.directory, withIntermediateDirectories: true)
            let store = try AggregateStore(
                path: target, fold: fold, topic: manifest.topic,
                logIdentity: manifest.logIdentity, partitionCount: manifest.partitionCount)
            let own = try store.partitionStates().first { $0.partition == state.partition }
            guard own?.extent ?? -1 < manifest.nextOffset else { return }
            _ = try store.restore(manifest, in: directory)
        }
        if !isDone { unsettled = taker }
        guard isDone else { return true }
        cluster.cover(.handedOff)
        note("\(stream)/\(state.partition) of \(giver.name) is handed to \(taker.name)")
        return true
    }
}
