import CSimulatedSystem
import ConfigurationFiles
import ConfigurationValues
import Engine
import EventLog
import Foundation
import History
import Program
import Store
import Streams

extension Simulation {
    /// Folds a stream again while its worker goes on, or puts such a store in the place of the worker's; now and then goes
    /// back.
    func promote(_ worker: SimulatedWorker) throws -> Bool {
        guard let machine else { return false }
        let stream = worker.program.topic
        guard FileManager.default.fileExists(atPath: worker.directory) else { return false }
        weir_sim_enter(0)
        let journal = try PromotionJournal(directory: worker.directory)
        guard try Self.store(journal.path(of: stream)) != nil else { return false }
        let source = try replaySource(of: stream, in: machine)
        let isBack = !journal.promotions.isEmpty && !journal.isBack && chance(1, in: 3)
        if !isBack, machine.replayed[worker.name] == nil || chance(1, in: 3) {
            return try replay(worker, into: nextSet(of: worker, in: machine, journal), source)
        }
        let others = othersDuringPromotion(of: worker)
        let set = machine.replayed[worker.name] ?? ""
        let stop = StopSignal()
        let lastStep =
            kinds.contains(.stop) && chance(1, in: 3) ? one(of: PromotionStep.allCases) : nil
        var isRefused = false
        let isDone = try runOperator {
            let order = PromotionOrder(
                data: worker.directory, target: isBack ? .back : .directory(set), source: source,
                threadCount: 1, patienceSeconds: 5)
            do {
                try others.haveTurns {
                    _ = try Promotion(order).run(
                        stop: stop,
                        onStep: {
                            weir_sim_let_others()
                            if $0 == lastStep { stop.request() }
                            if $0 == .corrected { aimAtSwitch() }
                        })
                }
            } catch PromotionError.notGivenUp where worker.isPaused {
                isRefused = true
            } catch PromotionError.stopped where stop.isRequested {
                isRefused = true
                cluster.cover(.promotionStopped)
            } catch PromotionError.unknownDocuments where restored.contains(worker.name) {
                // The copy has not been folded as far as documents were published; its worker does that first.
                isRefused = true
            } catch PromotionError.lessHistory(_, _, first: nil, _) where isBack {
                // The store before was never begun, for want of room or a disk: no operator returns to it.
                isRefused = true
            }
        }
        if others.isHandedOver { cluster.cover(.handedOver) }
        if !isDone { unsettled = worker }
        // One that was killed may have come to its end: a set is promoted once.
        if !isBack { machine.replayed[worker.name] = nil }
        guard isDone, !isRefused else { return true }
        try worker.checkPromotions()
        restored.remove(worker.name)
        cluster.cover(isBack ? .rolledBack : .promoted)
        note(isBack ? "\(worker.name) is back" : "\(worker.name) goes on with \(set)")
        if !isBack, stream == emittingStream {
            try sendCorrections(of: set, in: worker.directory, source)
        }
        return true
    }

    /// Kills a promotion at one of the calls that replace the file that says what is in force.
    private func aimAtSwitch() {
        guard let operatorsProcess, kinds.contains(.crashAtCall), chance(1, in: 3) else { return }
        weir_sim_crash_after(operatorsProcess, Int64(number(below: 4)))
    }

    /// What the worker of a store does while a set is promoted: it was ended before, or goes on between the promotion's
    /// steps and while that waits for it.
    private func othersDuringPromotion(of worker: SimulatedWorker) -> Others {
        guard worker.isRunning, chance(1, in: 2) else {
            kill(worker)
            return Others { false }
        }
        return Others { [unowned self] in
            guard worker.isRunning, !worker.isPaused else { return false }
            if kinds.contains(.stop), chance(1, in: 20) { worker.stop() }
            if kinds.contains(.kill), chance(1, in: 40) { kill(worker) }
            let wasAsked = worker.isAskedToStop
            guard worker.isRunning, case .ended = try turn(worker) else { return false }
            return !wasAsked
        }
    }

    /// The same records under the same configuration: partners were told what is right.
    private func sendCorrections(
        of set: String, in data: String, _ source: ReplaySource
    ) throws {
        var count = 0
        let isDone = try runOperator {
            count = try CorrectionSending(directory: set, data: data, source: source)
                .run(stop: StopSignal())
        }
        guard count == 0 else {
            throw SimulationFault("\(count) corrections of \(set), whose records are the same")
        }
        if isDone { cluster.cover(.nothingCorrected) }
    }

    func replaySource(
        of stream: String, in machine: EmbeddedMachine
    ) throws -> ReplaySource {
        ReplaySource(
            log: try LogAddress(machine.address),
            archivePath: machine.archivedEnds[stream] == nil ? nil : machine.archivePath,
            pipelines: PipelineDirectory("\(root)/pipelines"))
    }

    /// Folds what a worker has folded, each record under the configuration of that time.
    ///
    /// - Returns: where the new store is.
    func replayAsRecorded(_ worker: SimulatedWorker, in machine: EmbeddedMachine) throws -> String {
        let set = "\(machine.directory)/recorded-\(worker.name)"
        let stream = worker.program.topic
        weir_sim_enter(0)
        let order = ReplayOrder(
            source: try replaySource(of: stream, in: machine),
            dataDirectories: [worker.directory], directory: set, threadCount: 1)
        _ = try ReplayRun(order, topics: [stream]).replay(follows: false, stop: StopSignal())
        return set
    }

    private func replay(
        _ worker: SimulatedWorker, into set: String, _ source: ReplaySource
    ) throws -> Bool {
        let isDone = try runOperator {
            let order = ReplayOrder(
                source: source, dataDirectories: [worker.directory], directory: set, threadCount: 1)
            _ = try ReplayRun(order, topics: [worker.program.topic]).replay(
                follows: false, stop: StopSignal())
        }
        guard isDone else { return true }
        cluster.cover(.replayed)
        note("\(worker.program.topic) is replayed into \(set)")
        machine?.replayed[worker.name] = set
        return true
    }

    /// A new directory, or one that was begun and is not in force.
    private func nextSet(
        of worker: SimulatedWorker, in machine: EmbeddedMachine, _ journal: PromotionJournal
    ) -> String {
        func path(_ number: Int) -> String { "\(machine.directory)/sets/\(worker.name)-\(number)" }
        let number = sets[worker.name] ?? 0
        let wasInForce = journal.promotions.contains { promotion in
            promotion.streams.values.contains { $0.to == path(number) }
        }
        // A set that began without an archive does not continue with one.
        let hasArchive = machine.archivedEnds[worker.program.topic] != nil
        if number > 0, !wasInForce, machine.setHasArchive[worker.name] == hasArchive,
            chance(1, in: 2)
        {
            return path(number)
        }
        machine.setHasArchive[worker.name] = hasArchive
        sets[worker.name] = number + 1
        return path(number + 1)
    }
}

/// A process that has turns in the middle of another process's work.
private final class Others {
    private let turn: () throws -> Bool
    /// Whether one of them gave up what the other process waits for.
    private(set) var isHandedOver = false
    /// What the first turn found wrong; there are none after it.
    private var fault: SimulationFault?

    /// - Parameter turn: returns whether it gave up what is waited for.
    init(_ turn: @escaping () throws -> Bool) { self.turn = turn }

    /// Throws what was found in a turn, else what `work` throws.
    func haveTurns(during work: () throws -> Void) throws {
        weir_sim_while_asleep(
            { context in
                guard let context else { return }
                Unmanaged<Others>.fromOpaque(context).takeUnretainedValue().takeTurn()
            }, Unmanaged.passUnretained(self).toOpaque())
        defer { weir_sim_while_asleep(nil, nil) }
        do { try work() } catch { throw fault ?? error }
        if let fault { throw fault }
    }

    private func takeTurn() {
        guard fault == nil else { return }
        do {
            if try turn() { isHandedOver = true }
        } catch {
            fault = error as? SimulationFault ?? SimulationFault("\(error)")
        }
    }
}
