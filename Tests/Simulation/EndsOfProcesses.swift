import CSimulatedSystem
import Deliveries
import Engine
import EventLog
import Foundation
import Program
import Store
import Streams

// Errors that may end a process, and the reaction of its operator.

extension Simulation {
    /// An error that ends a process is fine when there was a reason for it.
    func judge(_ error: any Error, of worker: SimulatedWorker) throws {
        note("\(worker.name) ends: \(error)")
        guard !"\(error)".contains(where: \.isNewline) else {
            throw SimulationFault("the error that ends \(worker.name) has several lines: \(error)")
        }
        switch error {
        case let error as StoreError: try judge(error, of: worker)
        case let error as LogError: try judge(error, of: worker)
        default: try judgeWorker(error, of: worker)
        }
    }

    private func judge(_ error: StoreError, of worker: SimulatedWorker) throws {
        switch error {
        case .disk where worker.hasDiskFaults:
            cluster.cover(.diskFailed)
            unsettled = worker
        default: throw error
        }
    }

    private func judge(_ error: LogError, of worker: SimulatedWorker) throws {
        switch error {
        case .offsetGone where isOf(trimmed, worker) || isOf(recreated, worker):
            cluster.cover(.recordsGone)
        case .unavailable where !kinds.isEmpty: cluster.cover(.logFailed)
        case .disk where worker.hasDiskFaults: cluster.cover(.logDiskFailed)
        default: throw error
        }
    }

    private func judgeWorker(_ error: any Error, of worker: SimulatedWorker) throws {
        if let change = error as? LogChange { return try judge(change, ofDeliverer: worker) }
        switch error as? WorkerError {
        case .store(let error): try judge(error, of: worker)
        case .log(let error): try judge(error, of: worker)
        case .changed(.logStartsLater) where isOf(trimmed, worker):
            cluster.cover(.startsLater)
            try worker.moveStoresAway()
        case .changed(.beginningIsGone) where isOf(trimmed, worker):
            worker.acceptsMissingRecords = true
        case .dedupeMemoryFull(let ids, let bound, _)
        where report.kinds.contains(.fewIDs) && bound <= Self.mostIDs && ids >= bound:
            cluster.cover(.memoryFull)
            try raiseBound(of: worker.program.topic)
        case .changed(.partitionCountChanged(_, _, let now, _))
        where Int(now) == cluster.topic(worker.program.topic)?.partitions.count && machine == nil:
            cluster.cover(.otherPartitions)
            worker.acceptedPartitionCount = now
        case .changed(.groupBeyondEnd) where isOf(recreated, worker),
            .changed(.groupOfOther) where isOf(recreated, worker):
            cluster.cover(.endsEarlier)
            for other in workers where other.program.topic == worker.program.topic { kill(other) }
            cluster.forgetOffsets(ofTopic: worker.program.topic)
        case let other?:
            guard let transition = Self.transition(ofRecreatedTopic: other), isOf(recreated, worker)
            else { throw error }
            cluster.cover(transition)
            try reset(worker)
        case nil: throw error
        }
    }

    private func judge(_ change: LogChange, ofDeliverer worker: SimulatedWorker) throws {
        switch change {
        case .documentsGone(let topicPartition, _, let earliest) where isOf(trimmed, worker):
            cluster.cover(.documentsGone)
            for other in deliverers { kill(other) }
            cluster.setOffset(earliest, of: topicPartition)
        case .groupBeyondEnd where isOf(recreated, worker),
            .groupOfOther where isOf(recreated, worker):
            cluster.cover(.endsEarlier)
            for other in deliverers { kill(other) }
            cluster.forgetOffsets(ofTopic: SimulatedDocuments.topic)
        case .documentsEndEarlier where isOf(recreated, worker),
            .otherDocuments where isOf(recreated, worker):
            cluster.cover(.otherDocuments)
            try reset(worker)
        default: throw change
        }
    }

    /// The end of a worker that has met another topic of the same name; nil for an error of another kind.
    private static func transition(ofRecreatedTopic error: WorkerError) -> Transition? {
        switch error {
        case .changed(.logEndsEarlier), .changed(.logStartsEarlier): .endsEarlier
        case .changed(.otherRecords), .offsetsAgain: .otherRecords
        default: nil
        }
    }

    /// The steps of ops/runbooks/topic-recreated.md: all workers of the topic stop, their stores are moved away, and the
    /// group's offsets are deleted.
    func reset(_ worker: SimulatedWorker) throws {
        guard !isDelivering(worker) else { return try resetDeliveries() }
        for stream in recreated where worker.program.topic == stream {
            for other in workers where other.program.topic == stream {
                try other.moveStoresAway()
                backups[other.name] = nil
            }
            try deleteSnapshots(of: stream)
            cluster.forgetOffsets(ofTopic: stream)
            cluster.endOldTopic(stream)
            clearPublished(stream)
            note("\(stream) begins with empty stores")
        }
    }

    /// The same of documents: the stores keep what they have, and take the topic over from its beginning.
    private func resetDeliveries() throws {
        for deliverer in deliverers {
            kill(deliverer)
            // Documents that the copy of a store does not know may follow a lower revision in the topic.
            if restored.contains(deliverer.name) {
                partners.forgetSettled(deliverer.name, isShared: true)
            }
            weir_sim_enter(0)
            let path = DeliveryStore.path(in: deliverer.directory)
            guard FileManager.default.fileExists(atPath: path) else { continue }
            _ = try DeliveryStore.reset(path)
        }
        cluster.forgetOffsets(ofTopic: SimulatedDocuments.topic)
        cluster.endOldTopic(SimulatedDocuments.topic)
        note("documents are read again from the beginning")
    }

    /// Documents and dead letters of another topic are not compared.
    func clearPublished(_ stream: String) {
        cluster.disregard("\(stream).dlq")
        if stream == emittingStream { cluster.disregard(SimulatedDocuments.topic) }
    }

    private func isOf(_ topics: Set<String>, _ worker: SimulatedWorker) -> Bool {
        topics.contains(worker.program.topic)
    }
}
