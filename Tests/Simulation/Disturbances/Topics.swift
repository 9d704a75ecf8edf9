import CSimulatedSystem
import Deliveries
import EventLog
import Streams

// What an operator, a setting or a producer does to a topic.

extension Disturbance {
    static let ofTopics = [
        Disturbance(.flood) { run in
            guard run.chance(1, in: 3), let feed = run.one(of: run.feeds),
                feed.flood(run.machine ?? run.cluster, count: 500, at: run.eventMilliseconds)
            else { return false }
            if let fault = run.machine?.fault { throw fault }
            run.note("\(feed.stream.streamName) is flooded with records that are rejected")
            return true
        },
        change(.trimming, documents: Simulation.trimDocuments) { run in { run.trim($0) } },
        change(.topicRecreated, documents: Simulation.makeDocumentsAnew, Simulation.recreate),
        change(.morePartitions, documents: nil, Simulation.addPartition),
    ]

    /// These are rare, and each of them asks for an operator.
    private static func change(
        _ kind: FaultKind, documents: (@Sendable (Simulation) -> () throws -> Bool)?,
        _ change: @escaping @Sendable (Simulation) -> (any Feed) throws -> Void
    ) -> Disturbance {
        Disturbance(kind) { run in
            if let documents, run.haveOwnTopic, run.chance(1, in: 2) {
                return try run.chance(1, in: 2) && documents(run)()
            }
            guard run.chance(1, in: 3), let feed = run.one(of: run.feeds) else { return false }
            try change(run)(feed)
            return true
        }
    }
}

extension Simulation {
    fileprivate func trim(_ feed: any Feed) {
        let name = feed.stream.streamName
        guard let topic = cluster.topic(name) else { return }
        let partition = trim(topic)
        // One that was started since the topic was made anew has no mark of the old one until it takes a partition.
        for worker in workers
        where worker.program.topic == name && partition.isTrimmedOverOldTopic
            && worker.process ?? 0 > topic.lastProcessOfOld
        {
            kill(worker)
        }
    }

    private func trim(_ topic: SimulatedCluster.Topic) -> SimulatedCluster.Partition {
        let partition = number(below: topic.partitions.count)
        let end = Int(topic.partitions[partition].endOffset)
        let offset = cluster.trim(
            topic, partition: Int32(partition), below: Int64(number(below: end + 1)))
        trimmed.insert(topic.name)
        note("\(topic.name)/\(partition) is trimmed below \(offset)")
        return topic.partitions[partition]
    }

    fileprivate func addPartition(to feed: any Feed) {
        let name = feed.stream.streamName
        guard let topic = cluster.topic(name), topic.partitions.count < Self.mostPartitions else {
            return
        }
        cluster.addPartition(to: topic)
        note("\(name) has \(topic.partitions.count) partitions")
    }

    fileprivate func recreate(_ feed: any Feed) throws {
        let name = feed.stream.streamName
        let isTrimmedToo = kinds.contains(.trimming)
        if isTrimmedToo, chance(1, in: 3) {
            try beginLate(name)
        } else if chance(1, in: 3) {
            try foldAgain(name)
        }
        if let topic = cluster.topic(name) {
            recreate(name, partitionCount: Int32(topic.partitions.count))
            clearPublished(name)
            feed.reset()
            recreated.insert(name)
            for worker in workers where worker.program.topic == name { backups[worker.name] = nil }
            trimmed.remove(name)
            note("\(name) is made anew")
        }
        // The new topic may soon be longer than the old one was, and have lost its beginning.
        guard chance(1, in: 2) else { return }
        for _ in 0..<number(below: 150) { _ = feed.send(to: cluster, at: nextTimestamp()) }
        if isTrimmedToo, chance(1, in: 3) { trim(feed) }
    }

    private func recreate(_ name: String, partitionCount: Int32) {
        cluster.recreate(name, partitionCount: partitionCount)
        guard let topic = cluster.topic(name) else { return }
        topic.lastProcessOfOld = processes
        weir_sim_enter(0)
        for worker in workers where worker.program.topic == name {
            // A store that is just made cannot be read yet.
            let folded = (try? Comparison.foldedOffsets(worker.directory, name)) ?? [:]
            for (partition, range) in folded {
                let lastOld = topic.partitions[Int(partition)].lastOldOffset ?? .max
                topic.partitions[Int(partition)].lastOldOffset = min(lastOld, range.upperBound - 1)
            }
        }
    }

    /// Nothing is left of a topic, and new stores begin where it ends: they have partitions, and nothing folded of them.
    private func beginLate(_ name: String) throws {
        guard let topic = cluster.topic(name) else { return }
        for (number, partition) in topic.partitions.enumerated() {
            _ = cluster.trim(topic, partition: Int32(number), below: partition.endOffset)
        }
        let own = workers.filter { $0.program.topic == name }
        for worker in own {
            try worker.moveStoresAway()
            backups[worker.name] = nil
        }
        try deleteSnapshots(of: name)
        cluster.forgetOffsets(ofTopic: name)
        clearPublished(name)
        note("\(name) is trimmed to its end, and begins with empty stores")
        for worker in own where chance(2, in: 3) {
            try start(worker, chances: weir_sim_chances())
        }
        for _ in 0..<number(below: 6) {
            for worker in own where worker.isRunning { try turn(worker) }
        }
    }

    /// A worker has lost its stores and begins to fold its topic again, while the group's offsets stay.
    private func foldAgain(_ name: String) throws {
        guard cluster.topic(name) != nil,
            let worker = one(of: workers.filter { $0.program.topic == name })
        else { return }
        try worker.moveStoresAway()
        backups[worker.name] = nil
        note("\(worker.name) begins with an empty store")
        try start(worker, chances: weir_sim_chances())
        for _ in 0..<number(below: 4) where worker.isRunning { try turn(worker) }
    }
}

// The topic of documents.

extension Simulation {
    /// Whether deliverers have documents that no worker publishes: of one it would have to be replayed.
    fileprivate var haveOwnTopic: Bool {
        !deliverers.isEmpty && !feeds.contains { $0.stream.streamName == emittingStream }
    }

    private func beginChangeOfDocuments() -> SimulatedCluster.Topic? {
        // What a copy of a store has lost may be gone with it.
        for deliverer in deliverers where restored.contains(deliverer.name) {
            partners.forgetSettled(deliverer.name, isShared: true)
        }
        return cluster.topic(SimulatedDocuments.topic)
    }

    fileprivate func trimDocuments() -> Bool {
        guard let topic = beginChangeOfDocuments() else { return false }
        documents.retire(topic)
        _ = trim(topic)
        return true
    }

    /// False when nothing would tell a store that the topic is another one.
    fileprivate func makeDocumentsAnew() throws -> Bool {
        guard let old = beginChangeOfDocuments(), let lastOffsets = try lastDocuments() else {
            return false
        }
        documents.retire(old)
        let records = old.recordsAsAppended
        cluster.recreate(old.name, partitionCount: Int32(old.partitions.count))
        guard let topic = cluster.topic(old.name) else { return false }
        for (partition, offset) in lastOffsets {
            topic.partitions[Int(partition)].lastOldOffset = offset
        }
        recreated.insert(old.name)
        for deliverer in deliverers { backups[deliverer.name] = nil }
        note("\(old.name) is made anew")
        // A producer may send what it had sent once more, and the new topic soon be longer than the old one was.
        documents.reset(records, in: cluster, at: weir_sim_now() / 1_000_000)
        if chance(1, in: 2) {
            for _ in 0..<number(below: 60) {
                documents.send(to: cluster, at: weir_sim_now() / 1_000_000)
            }
        }
        return true
    }

    /// The least offset of the documents that deliverers have taken over last, by partition; nil where one has taken
    /// over offsets that had no document.
    private func lastDocuments() throws -> [Int32: Int64]? {
        weir_sim_enter(0)
        var lastOffsets: [Int32: Int64] = [:]
        for deliverer in deliverers {
            // A store that is just made cannot be read yet.
            guard let store = try? deliverer.deliveries else { continue }
            for partition in try store.watched() {
                guard let last = partition.last?.offset else {
                    guard partition.nextOffset == 0 else { return nil }
                    continue
                }
                lastOffsets[partition.partition] = min(
                    lastOffsets[partition.partition] ?? .max, last)
            }
        }
        return lastOffsets
    }
}
