import CSimulatedSystem
import ConfigurationFiles
import Engine
import EventLog
import Foundation
import GRDB
import History
import Program
import Store
import Streams

extension Simulation {
    /// Takes a measure from a store, as if an earlier version had folded it, and upgrades it. If the upgrade is killed,
    /// the worker continues the store without the measure.
    func upgrade(_ worker: SimulatedWorker) throws -> Bool {
        guard let machine else { return false }
        let stream = worker.program.topic
        weir_sim_enter(0)
        let path = try Comparison.storePath(worker.directory, stream)
        guard FileManager.default.fileExists(atPath: path), try Self.store(path) != nil else {
            return false
        }
        kill(worker)
        weir_sim_enter(0)
        guard try Self.forgetMeasure(of: worker.program.topic, path) else { return false }
        withoutMeasure.insert(worker.name)
        let stop = StopSignal()
        let lastStep = kinds.contains(.stop) && chance(1, in: 3) ? one(of: UpgradeStep.all) : nil
        var isRefused = false
        let isDone = try runOperator {
            do {
                _ = try Upgrade(order(for: worker, in: machine)).run(
                    stop: stop,
                    onStep: {
                        weir_sim_let_others()
                        if $0 == lastStep { stop.request() }
                    })
            } catch UpgradeError.stopped where stop.isRequested {
                isRefused = true
            } catch PromotionError.stopped where stop.isRequested {
                isRefused = true
            } catch PromotionError.unknownDocuments where restored.contains(worker.name) {
                // The copy has not been folded as far as documents were published; its worker does that first.
                isRefused = true
            }
        }
        if !isDone { unsettled = worker }
        guard isDone, !isRefused else { return true }
        try settleUpgrade(of: worker)
        note("\(worker.name) is upgraded")
        return true
    }

    /// Upgrades the stores that still lack a measure, or lack it again after a rollback or with an older copy, without
    /// faults. Returns whether there may be any.
    func finishUpgrades() throws -> Bool {
        guard let machine, !withoutMeasure.isEmpty else { return false }
        for worker in workers where withoutMeasure.contains(worker.name) {
            try end(worker)
            weir_sim_enter(0)
            _ = try Upgrade(order(for: worker, in: machine)).run(stop: StopSignal())
            try settleUpgrade(of: worker)
        }
        return true
    }

    private func settleUpgrade(of worker: SimulatedWorker) throws {
        try worker.checkPromotions()
        restored.remove(worker.name)
        cluster.cover(.upgraded)
    }

    private func order(
        for worker: SimulatedWorker, in machine: EmbeddedMachine
    ) throws -> UpgradeOrder {
        UpgradeOrder(
            data: worker.directory, source: try replaySource(of: worker.program.topic, in: machine),
            threadCount: 1, patienceSeconds: 5)
    }

    /// Drops the first measure of the stream's first aggregate. Returns false if the store has lost it already.
    private static func forgetMeasure(of stream: String, _ path: String) throws -> Bool {
        guard let table = Streams.stream(named: stream)?.tables.first,
            let measure = table.measures.first
        else { return false }
        return try DatabaseQueue(path: path).inDatabase { db in
            let sums = "\(table.sqlName)_sums"
            guard try db.columns(in: sums).contains(where: { $0.name == measure }) else {
                return false
            }
            try db.execute(
                sql: """
                    DROP VIEW \(table.sqlName);
                    ALTER TABLE \(sums) DROP COLUMN \(measure);
                    """)
            return true
        }
    }
}
