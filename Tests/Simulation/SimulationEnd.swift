import CSimulatedSystem
import ConfigurationFiles
import ConfigurationValues
import ConversionValues
import Deliveries
import EventLog
import Store
import Streams

extension Simulation {
    /// Faults cease; everything catches up, stops, and is compared.
    func finish() throws {
        cluster.chances = SimulatedCluster.Chances()
        cluster.appendsToRefuse = 0
        kinds = []
        partners.chances = SimulatedPartners.Chances()
        for feed in feeds { try raiseBound(of: feed.stream.streamName) }
        for worker in workers {
            worker.goOn()
            worker.mendDisk()
        }
        if deliverers.count > 1 {
            // From docs/guides/back-up-and-restore.md: the copy takes over alone what it has lost.
            for copy in deliverers where restored.contains(copy.name) {
                for other in deliverers where other !== copy { try end(other) }
                try catchUp([copy])
            }
        }
        try catchUp(workers)
        if !recreated.isEmpty {
            // A worker looks every 30 seconds whether its topic is another one. One that was made anew between two
            // looks, and is as long as the old one when the worker reads on, shows at the next.
            weir_sim_pass(60 * 1_000_000_000)
            try catchUp(workers)
        }
        if try finishUpgrades() { try catchUp(workers) }
        try requireAnswers()
        for worker in workers { try end(worker) }
        for worker in workers { try worker.checkPromotions() }
        try machine?.verify()
        for feed in feeds { try compare(feed) }
        if let installs, let topic = try topic(InstallLedger.topic) {
            try installs.compare(with: topic)
        }
        guard !deliverers.isEmpty, let topic = cluster.topic(SimulatedDocuments.topic) else {
            return
        }
        let stores = try deliverers.map { try $0.deliveries }
        report.met[Transition.delivered.rawValue, default: 0] += try documents.compare(
            topic, partners, stores)
    }

    /// Whether everything in the log was ingested; what partners have refused is then sent again, and time passes
    /// until it is due.
    private func isCaughtUp(_ worker: SimulatedWorker) throws -> Bool {
        guard worker.isCaughtUp else { return false }
        guard isDelivering(worker) else { return true }
        let store = try worker.deliveries
        guard try store.retryRefused(by: partners, at: worker.name) > 0 else { return true }
        weir_sim_pass(600 * 1_000_000_000)
        return false
    }

    func end(_ worker: SimulatedWorker) throws {
        worker.stop()
        for _ in 0..<100 where worker.isRunning { try turn(worker) }
        guard !worker.isRunning else { throw SimulationFault("\(worker.name) does not stop") }
    }

    private func catchUp(_ workers: [SimulatedWorker]) throws {
        guard !workers.isEmpty else { return }
        var idleTurns = 0
        for round in 0..<Self.mostTurnsToCatchUp {
            guard idleTurns <= workers.count * 4 else { return }
            let worker = workers[round % workers.count]
            if !worker.isRunning { try start(worker, chances: weir_sim_chances()) }
            try self.turn(worker)
            idleTurns = try workers.allSatisfy(isCaughtUp) ? idleTurns + 1 : 0
        }
        throw SimulationFault("it has not caught up after \(Self.mostTurnsToCatchUp) turns")
    }

    /// Nothing is in the way of an answer to an install any more.
    private func requireAnswers() throws {
        guard let installs else { return }
        for worker in workers where worker.program.topic == CollectorProgram.name {
            let first = installs.askCount
            // A request may be none that is answered.
            for _ in 0..<20 where installs.askCount == first { try turn(worker) }
            guard installs.askCount > first else {
                throw SimulationFault("\(worker.name) takes no requests")
            }
            if let request = installs.unanswered(from: first) {
                throw SimulationFault("\(worker.name) does not answer request \(request)")
            }
        }
    }

    private func compare(_ feed: any Feed) throws {
        let stream = feed.stream.streamName
        let own = workers.filter { $0.program.topic == stream }
        guard let first = own.first, let topic = try self.topic(stream) else { return }
        if machine != nil { try feed.settle(with: topic) }
        let comparison = try Comparison(feed, topic, own)
        for reason in try comparison.compareWithModel() {
            report.met[Coverage.rejected(stream, reason), default: 0] += 1
        }
        // No other store knows the records that are gone, and what was published of them.
        guard !trimmed.contains(stream) else { return cluster.cover(.trimmedLeftOut) }
        // A fold from scratch lacks what they added.
        guard !erased.contains(stream) else { return }
        processes += 1
        let anew = "\(machine?.directory ?? "\(root)/disks")/anew-\(stream)"
        if try comparison.isUnderOneWindow() {
            // In batches of another size, too.
            try feed.writeConfiguration(to: "\(root)/pipelines", settings: "")
            try first.refold(as: processes, in: anew)
            try comparison.compareDigest(with: anew, "a fold from scratch")
        } else if let machine {
            cluster.cover(.followedEpochs)
            try comparison.compareDigest(
                with: replayAsRecorded(first, in: machine), "a replay of what was recorded")
        } else {
            cluster.cover(.digestLeftOut)
        }
        try comparison.compareDeadLetters(self.topic("\(stream).dlq"))
        let dump = feed.dumps[Int(report.seed % UInt64(feed.dumps.count))]
        let pipelines = PipelineDirectory("\(root)/pipelines")
        weir_sim_enter(0)
        if try comparison.checkIndex(of: dump, openReader: openReader, pipelines: pipelines) {
            cluster.cover(.indexAgrees)
        }
        if isDrawn(1, in: 8, by: 0xE1) {
            try comparison.checkEvidence(
                of: dump, in: root, openReader: openReader, pipelines: pipelines)
            cluster.cover(.evidenceHolds)
        }
        guard stream == emittingStream else { return }
        report.met[Transition.published.rawValue, default: 0] +=
            try comparison.comparePartnerPostbacks(
                self.topic(SimulatedDocuments.topic), withFoldIn: anew)
    }

    private func openReader(ofTopic name: String) throws -> any LogReader {
        try machine?.reader(ofTopic: name)
            ?? SimulatedLog(cluster, process: 0).reader(topic: name, group: nil)
    }

    private func topic(_ name: String) throws -> SimulatedCluster.Topic? {
        try machine.map { try $0.topic(name) } ?? cluster.topic(name)
    }
}
