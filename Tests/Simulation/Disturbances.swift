import CSimulatedSystem
import Deliveries
import Engine
import EventLog
import Foundation
import Store
import Streams
import TestKit

// What disturbs a run: faults of disks, brokers, partners, processes and the clock.

extension Simulation {
    func disturb() throws {
        guard var kind = one(of: FaultKind.allCases.filter { kinds.contains($0) }) else { return }
        // It takes several: a replay, and then what is done with it.
        if kinds.contains(.promotion), chance(1, in: 5) { kind = .promotion }
        let running = workers.filter(\.isRunning)
        if let machine, [.kill, .crashAtCall].contains(kind), chance(1, in: 3) {
            if kind == .kill {
                machine.kill()
                // All of its processes: whoever comes next recovers what they have left of the log.
                if chance(1, in: 2) { for worker in running { kill(worker) } }
            } else {
                machine.crash(after: Int64(number(below: 8)))
            }
            return meet(kind)
        }
        switch kind {
        case .kill:
            guard let worker = one(of: running) else { return }
            kill(worker)
            note("\(worker.name) is killed")
        case .crashAtCall:
            guard let worker = one(of: running) else { return }
            worker.crash(after: Int64(number(below: 30)))
        case .powerLoss:
            guard let worker = one(of: running) else { return }
            losePower(worker)
            return
        case .stop:
            guard let worker = one(of: running) else { return }
            worker.stop()
            note("\(worker.name) is asked to stop")
        case .pause:
            if let worker = one(of: workers.filter(\.isPaused)) {
                worker.goOn()
                note("\(worker.name) goes on")
            } else if let worker = one(of: running) {
                worker.pause()
                note("\(worker.name) is paused, and its group goes on without it")
            }
        case .secondWorker:
            guard let worker = one(of: running) else { return }
            try startSecond(beside: worker)
        case .clockJump:
            let nanoseconds = Int64(number(below: 7_200)) * 1_000_000_000
            weir_sim_jump(chance(1, in: 2) ? nanoseconds : -nanoseconds)
            partners.endPauses()
        case .backup, .restore, .archive, .promotion:
            guard let worker = one(of: workers.filter { isOperated($0, kind) }),
                try operate(kind, on: worker)
            else { return }
        case .partnerRefuses, .partnerShut:
            guard try retryRefused() else { return }
        case .flood:
            guard chance(1, in: 3), let feed = one(of: feeds),
                feed.flood(machine ?? cluster, count: 500, at: eventMilliseconds)
            else { return }
            if let fault = machine?.fault { throw fault }
            note("\(feed.stream.streamName) is flooded with records that are rejected")
        case .trimming, .topicMadeAnew, .morePartitions:
            if kind != .morePartitions, haveOwnTopic, chance(1, in: 2) {
                guard chance(1, in: 2), try changeDocuments(kind) else { return }
                break
            }
            // These are rare, and each of them asks for an operator.
            guard chance(1, in: 3), let feed = one(of: feeds) else { return }
            guard kind == .topicMadeAnew else {
                change(feed, kind)
                break
            }
            let isTrimmedToo = kinds.contains(.trimming)
            if isTrimmedToo, chance(1, in: 3) {
                try beginLate(feed.stream.streamName)
            } else if chance(1, in: 3) {
                try foldAgain(feed.stream.streamName)
            }
            change(feed, kind)
            // The new topic may soon be longer than the old one was, and have lost its beginning.
            if chance(1, in: 2) {
                for _ in 0..<number(below: 150) {
                    _ = feed.send(to: cluster, at: nextTimestamp())
                }
                if isTrimmedToo, chance(1, in: 3) { change(feed, .trimming) }
            }
        default: return
        }
        meet(kind)
    }

    /// A deliverer recognises an older copy of its store by the offsets that it has reported to its group.
    private func isOperated(_ worker: SimulatedWorker, _ kind: FaultKind) -> Bool {
        guard isDelivering(worker) else { return feed(of: worker) != nil }
        return [.backup, .restore].contains(kind)
            && kinds.isDisjoint(with: FaultKind.hidingCopiesOfDeliveries)
    }

    /// The operator retries what partners have refused, unless the worker may go on with a copy from before.
    private func retryRefused() throws -> Bool {
        let steady = deliverers.filter { backups[$0.name] == nil && !restored.contains($0.name) }
        guard let deliverer = steady.count > 1 ? one(of: steady) : steady.first else {
            return false
        }
        let path = DeliveryStore.path(in: deliverer.directory)
        guard FileManager.default.fileExists(atPath: path) else { return false }
        weir_sim_enter(0)
        _ = try DeliveryStore(existing: path).retryRefused(by: partners, at: deliverer.name)
        note("an operator retries what partners have refused")
        return true
    }

    /// What an operator, or a setting of the topic, does to a topic.
    private func change(_ feed: any Feed, _ kind: FaultKind) {
        let name = feed.stream.streamName
        guard let topic = cluster.topic(name) else { return }
        let count = topic.partitions.count
        switch kind {
        case .trimming:
            let partition = number(below: count)
            let end = Int(topic.partitions[partition].endOffset)
            let offset = cluster.trim(
                topic, partition: Int32(partition), below: Int64(number(below: end + 1)))
            trimmed.insert(name)
            note("\(name)/\(partition) is trimmed below \(offset)")
            // One that was started since the topic was made anew has no mark of the old one until it takes a partition.
            for worker in workers
            where worker.program.topic == name && topic.partitions[partition].isTrimmedOverOldTopic
                && worker.process ?? 0 > topic.lastProcessOfOld
            {
                kill(worker)
            }
        case .topicMadeAnew:
            makeAnew(name, partitionCount: Int32(count))
            clearPublished(name)
            feed.beginAnew()
            madeAnew.insert(name)
            for worker in workers where worker.program.topic == name { backups[worker.name] = nil }
            trimmed.remove(name)
            note("\(name) is made anew")
        default:
            guard count < Self.mostPartitions else { return }
            cluster.addPartition(to: topic)
            note("\(name) has \(count + 1) partitions")
        }
    }

    /// Whether deliverers have documents that no worker publishes: of one it would have to be replayed.
    private var haveOwnTopic: Bool {
        !deliverers.isEmpty && !feeds.contains { $0.stream.streamName == emittingStream }
    }

    /// What an operator, or a setting of the topic, does to the topic of documents. False when nothing would tell a
    /// store that the topic is another one.
    private func changeDocuments(_ kind: FaultKind) throws -> Bool {
        let name = SimulatedDocuments.topic
        guard let topic = cluster.topic(name) else { return false }
        let count = topic.partitions.count
        // What a copy of a store has lost may be gone with it.
        for deliverer in deliverers where restored.contains(deliverer.name) {
            partners.forgetSettled(deliverer.name, isShared: true)
        }
        guard kind == .topicMadeAnew else {
            let partition = number(below: count)
            let end = Int(topic.partitions[partition].endOffset)
            documents.retire(topic)
            let offset = cluster.trim(
                topic, partition: Int32(partition), below: Int64(number(below: end + 1)))
            trimmed.insert(name)
            note("\(name)/\(partition) is trimmed below \(offset)")
            return true
        }
        weir_sim_enter(0)
        var known: [Int32: Int64] = [:]
        for deliverer in deliverers {
            // A store that is just made cannot be read yet.
            guard let store = try? deliverer.deliveries else { continue }
            for partition in try store.watched() {
                guard let last = partition.last?.offset else {
                    guard partition.nextOffset == 0 else { return false }
                    continue
                }
                known[partition.partition] = min(known[partition.partition] ?? .max, last)
            }
        }
        documents.retire(topic)
        let old = topic.recordsAsAppended
        cluster.makeAnew(name, partitionCount: Int32(count))
        guard let topic = cluster.topic(name) else { return false }
        for (partition, offset) in known {
            topic.partitions[Int(partition)].lastOldOffset = offset
        }
        madeAnew.insert(name)
        for deliverer in deliverers { backups[deliverer.name] = nil }
        note("\(name) is made anew")
        // A producer may send what it had sent once more, and the new topic soon be longer than the old one was.
        documents.beginAnew(old, in: cluster, at: weir_sim_now() / 1_000_000)
        if chance(1, in: 2) {
            for _ in 0..<number(below: 60) {
                documents.send(to: cluster, at: weir_sim_now() / 1_000_000)
            }
        }
        return true
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

    private func makeAnew(_ name: String, partitionCount: Int32) {
        cluster.makeAnew(name, partitionCount: partitionCount)
        guard let topic = cluster.topic(name) else { return }
        topic.lastProcessOfOld = processes
        weir_sim_enter(0)
        for worker in workers where worker.program.topic == name {
            // A store that is just made cannot be read yet.
            let folded = (try? Comparison.foldedOffsets(worker.directory, name)) ?? [:]
            for (partition, range) in folded {
                let known = topic.partitions[Int(partition)].lastOldOffset ?? .max
                topic.partitions[Int(partition)].lastOldOffset = min(known, range.upperBound - 1)
            }
        }
    }

    func kill(_ worker: SimulatedWorker) {
        if let process = worker.process { partners.forget(process, of: worker.name) }
        worker.kill()
    }

    func losePower(_ worker: SimulatedWorker) {
        meet(.powerLoss)
        unsettled = nil
        let losesNames = kinds.contains(.unsyncedNames)
        if losesNames { meet(.unsyncedNames) }
        note("\(worker.name) loses power")
        for other in machine == nil ? [worker] : workers {
            installs?.losePower(in: other.directory)
        }
        guard let machine else {
            kill(worker)
            return worker.losePower(
                seed: random.next(), losesNames: losesNames)
        }
        for worker in workers { kill(worker) }
        if let operatorsProcess { weir_sim_kill(operatorsProcess) }
        machine.losePower(seed: random.next(), losesNames: losesNames)
    }

    /// A second process on the same store has to be refused.
    private func startSecond(beside worker: SimulatedWorker) throws {
        processes += 1
        let second = SimulatedWorker(
            "\(worker.name) again", worker.program, log: machine ?? cluster,
            directory: worker.directory, pipelines: "\(root)/pipelines")
        do {
            try second.start(as: processes, lanes: 1, chances: weir_sim_chances(), seed: 0)
        } catch let error as StoreError {
            guard case .locked = error else { throw error }
            cluster.note(.refused)
            return
        } catch is LogError {
            return
        }
        throw SimulationFault("two workers on \(worker.directory)")
    }

    func drawChancesOfDisk() -> weir_sim_chances {
        var chances = weir_sim_chances()
        func draw(_ kind: FaultKind, _ most: Int) -> UInt32 {
            guard kinds.contains(kind), chance(1, in: 3) else { return 0 }
            meet(kind)
            return UInt32(number(below: most))
        }
        chances.write_error = draw(.writeError, 20_000)
        chances.disk_full = draw(.diskFull, 20_000)
        chances.sync_error = draw(.syncError, 50_000)
        chances.read_error = draw(.readError, 5000)
        chances.short_read = draw(.shortReadsAndWrites, 100_000)
        chances.short_write = draw(.shortReadsAndWrites, 100_000)
        return chances
    }

    func drawChancesOfLog() {
        func draw(_ kind: FaultKind, _ most: Int) -> UInt64 {
            guard kinds.contains(kind), chance(1, in: 2) else { return 0 }
            meet(kind)
            return UInt64(number(below: most))
        }
        cluster.chances = SimulatedCluster.Chances(
            unavailable: draw(.unavailableLog, 50_000), slow: draw(.slowLog, 300_000),
            lostAnswer: draw(.lostAnswer, 200_000), repeated: draw(.repeatedAppend, 100_000),
            notTaken: draw(.offsetsNotTaken, 500_000))
        if kinds.contains(.leaderAway), chance(1, in: 4) {
            meet(.leaderAway)
            cluster.appendsToRefuse = number(below: 100)
        }
        guard !deliverers.isEmpty else { return }
        partners.chances = SimulatedPartners.Chances(
            away: draw(.partnerAway, 600_000), lostAnswer: draw(.partnerLostAnswer, 300_000),
            busy: draw(.partnerBusy, 300_000), refuses: draw(.partnerRefuses, 300_000),
            shut: draw(.partnerShut, 100_000), late: draw(.partnerLate, 500_000))
    }
}
