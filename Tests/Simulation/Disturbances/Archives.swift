import CSimulatedSystem
import EmbeddedLog
import EventLog

extension Simulation {
    /// Copies a topic to the archive, or trims what was archived and is folded.
    func archive(_ worker: SimulatedWorker) throws -> Bool {
        let topic = worker.program.topic
        guard let machine else { return false }
        if let ends = machine.archivedEnds[topic], chance(1, in: 2) {
            return try trimArchived(topic, ends, in: machine)
        }
        var ends: [Int32: Int64] = [:]
        let isDone = try runOperator {
            let reader = try machine.openLog().reader(topic: topic, group: nil)
            let copy = try ArchiveCopy(
                from: reader, to: EmbeddedLog(path: machine.archivePath, mode: .create))
            try copy.copyToEnd()
            for range in copy.ranges { ends[range.partition] = range.endOffset }
        }
        guard isDone else { return true }
        cluster.cover(.archived)
        note("\(topic) is archived")
        machine.archivedEnds[topic] = ends
        for worker in workers where worker.program.topic == topic {
            worker.archivePath = machine.archivePath
        }
        return true
    }

    /// Trims only records that all stores have, as `weir log trim` does.
    private func trimArchived(
        _ topic: String, _ ends: [Int32: Int64], in machine: EmbeddedMachine
    ) throws -> Bool {
        guard let partition = one(of: ends.keys.sorted()) else { return false }
        let end = min(ends[partition] ?? 0, try foldedEnd(of: topic, partition))
        guard end > 0 else { return false }
        let offset = chance(1, in: 2) ? end : Int64(number(below: Int(end))) + 1
        let isTrimmed = try runOperator {
            try machine.openLog().trim(topic: topic, partition: partition, before: offset)
        }
        guard isTrimmed else { return true }
        cluster.cover(.trimmedArchived)
        note("\(topic)/\(partition) is trimmed below \(offset), which is archived")
        return true
    }

    /// The offset up to which all stores of a stream have folded a partition.
    func foldedEnd(of stream: String, _ partition: Int32) throws -> Int64 {
        weir_sim_enter(0)
        return try workers.filter { $0.program.topic == stream }.map { worker in
            let path = try Comparison.storePath(worker.directory, stream)
            guard let store = try Self.store(path) else { return 0 }
            return try store.snapshot { snapshot in
                try snapshot.partitionStates().first { $0.partition == partition }?.nextOffset ?? 0
            }
        }.min() ?? 0
    }
}
