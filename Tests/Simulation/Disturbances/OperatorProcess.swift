import CSimulatedSystem
import Engine
import EventLog
import History
import Store

// The actions of operators while records arrive. Each is a process: it may be killed, and its disk may fail.

extension Disturbance {
    static let ofStores = [
        operation(.backup, Simulation.backUp), operation(.restore, Simulation.restore),
        operation(.archive, Simulation.archive), operation(.promotion, Simulation.promote),
        operation(.upgrade, Simulation.upgrade), operation(.erasure, Simulation.erase),
    ]

    private static func operation(
        _ kind: FaultKind,
        _ apply: @escaping @Sendable (Simulation) -> (SimulatedWorker) throws -> Bool
    ) -> Disturbance {
        Disturbance(kind) { run in
            guard let worker = run.one(of: run.workers.filter { run.isOperated($0, kind) }) else {
                return false
            }
            return try apply(run)(worker)
        }
    }
}

extension Simulation {
    /// A deliverer recognises an older copy of its store by the offsets that it has reported to its group.
    fileprivate func isOperated(_ worker: SimulatedWorker, _ kind: FaultKind) -> Bool {
        guard isDelivering(worker) else { return feed(of: worker) != nil }
        return [.backup, .restore].contains(kind)
            && kinds.isDisjoint(with: FaultKind.hidingCopiesOfDeliveries)
    }

    /// Runs a process to its end. Returns whether it came there.
    func runOperator(_ work: () throws -> Void) throws -> Bool {
        processes += 1
        let process = processes
        let chances = drawChancesOfDisk()
        weir_sim_set_chances(process, chances, random.next())
        if kinds.contains(.crashAtCall), chance(1, in: 3) {
            weir_sim_crash_after(process, Int64(number(below: 200)))
        }
        weir_sim_enter(process)
        operatorsProcess = process
        defer { operatorsProcess = nil }
        var failure: (any Error)?
        do { try work() } catch { failure = error }
        let isDead = weir_sim_is_dead(process)
        weir_sim_kill(process)
        if let fault = failure as? SimulationFault { throw fault }
        if isDead {
            cluster.cover(.operatorKilled)
        } else if let failure {
            if case .dedupeMemoryFull(_, _, let stream) = failure as? WorkerError,
                report.kinds.contains(.fewIDs)
            {
                try raiseBound(of: stream)
            } else if chances.isAny, !Self.isOfNoDisk(failure) {
                // Each program has its own words for it.
                cluster.cover(.operatorFailed)
            } else {
                throw failure
            }
        }
        return !isDead && failure == nil
    }

    /// Whether an error has another cause than a failing disk.
    private static func isOfNoDisk(_ failure: any Error) -> Bool {
        switch failure {
        case StoreError.damaged, StoreError.notAStore, StoreError.otherColumns,
            StoreError.overflow, StoreError.fenced, StoreError.badSets, StoreError.correctionsGone,
            StoreError.promotedStoreGone, UpgradeError.differs, LogError.damaged,
            LogError.damagedRecord,
            LogError.notALog, LogError.corrupt, LogError.offsetGone:
            true
        default: false
        }
    }

    /// Nil without a file, and for one without anything in it: a worker that finds no room leaves such a file.
    static func store(_ path: String) throws -> StoreReader? {
        do {
            return try StoreReader(path: path)
        } catch StoreError.noStore {
            return nil
        }
    }
}
