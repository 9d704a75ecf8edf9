import CSimulatedSystem
import EmbeddedLog

extension Simulation {
    /// Empties records that all stores have folded, while none of their workers runs.
    func erase(_ worker: SimulatedWorker) throws -> Bool {
        let stream = worker.program.topic
        let own = workers.filter { $0.program.topic == stream }
        guard let machine, !own.contains(where: \.isPaused) else { return false }
        for worker in own { try end(worker) }
        weir_sim_enter(0)
        let log = try machine.openLog()
        let reader = try log.reader(topic: stream, group: nil)
        let partition = Int32(number(below: Int(try reader.partitionCount())))
        let end = try foldedEnd(of: stream, partition)
        guard end > 0 else { return false }
        let identity = try reader.identity()
        let offsets = Set((0...number(below: 3)).map { _ in Int64(number(below: Int(end))) })
        // One that is killed may have emptied some.
        erased.insert(stream)
        let isDone = try runOperator {
            try machine.openLog().erase(
                topic: stream, identity: identity, partition: partition, offsets: offsets.sorted())
        }
        guard isDone else { return true }
        cluster.cover(.erased)
        note("\(stream)/\(partition): records at \(offsets.sorted()) are erased")
        return true
    }
}
