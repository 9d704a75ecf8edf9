import CSimulatedSystem
import EventLog
import Store

// Workers that are killed, stopped, paused, without power, or not alone.

extension Disturbance {
    static let ofProcesses = [
        Disturbance(.kill, when: { $0.machine != nil || $0.hasRunning }) { run in
            if let machine = run.machine, run.chance(1, in: 3) {
                machine.kill()
                // All of its processes: the next one recovers what they have left of the log.
                if run.chance(1, in: 2) { for worker in run.running { run.kill(worker) } }
                return true
            }
            guard let worker = run.one(of: run.running) else { return false }
            run.kill(worker)
            run.note("\(worker.name) is killed")
            return true
        },
        Disturbance(.crashAtCall, when: { $0.machine != nil || $0.hasRunning }) { run in
            if let machine = run.machine, run.chance(1, in: 3) {
                machine.crash(after: Int64(run.number(below: 8)))
                return true
            }
            guard let worker = run.one(of: run.running) else { return false }
            worker.crash(after: Int64(run.number(below: 30)))
            return true
        },
        Disturbance(.powerLoss, when: \.hasRunning) { run in
            guard let worker = run.one(of: run.running) else { return false }
            run.losePower(worker)
            return true
        },
        Disturbance(.stop, when: \.hasRunning) { run in
            guard let worker = run.one(of: run.running) else { return false }
            worker.stop()
            run.note("\(worker.name) is asked to stop")
            return true
        },
        Disturbance(.pause) { run in
            if let worker = run.one(of: run.workers.filter(\.isPaused)) {
                worker.goOn()
                run.note("\(worker.name) goes on")
            } else if let worker = run.one(of: run.running) {
                worker.pause()
                run.note("\(worker.name) is paused, and its group goes on without it")
            }
            return true
        },
        Disturbance(.secondWorker, when: \.hasRunning) { run in
            guard let worker = run.one(of: run.running) else { return false }
            try run.startSecond(beside: worker)
            return true
        },
    ]
}

extension Simulation {
    /// Paused ones too.
    fileprivate var running: [SimulatedWorker] { workers.filter(\.isRunning) }

    fileprivate var hasRunning: Bool { workers.contains(where: \.isRunning) }

    func kill(_ worker: SimulatedWorker) {
        if let process = worker.process { partners.forget(process, of: worker.name) }
        worker.kill()
    }

    func losePower(_ worker: SimulatedWorker) {
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
    fileprivate func startSecond(beside worker: SimulatedWorker) throws {
        processes += 1
        let second = SimulatedWorker(
            "\(worker.name) again", worker.program, log: machine ?? cluster,
            directory: worker.directory, pipelines: "\(root)/pipelines")
        do {
            try second.start(as: processes, lanes: 1, chances: weir_sim_chances(), seed: 0)
        } catch let error as StoreError {
            guard case .locked = error else { throw error }
            cluster.cover(.refused)
            return
        } catch is LogError {
            return
        }
        throw SimulationFault("two workers on \(worker.directory)")
    }
}
