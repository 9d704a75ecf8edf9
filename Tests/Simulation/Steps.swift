import CSimulatedSystem
import Engine
import EventLog
import Foundation
import Store
import Streams

extension Simulation {
    func step() throws {
        if chance(1, in: 10) { drawChancesOfLog() }
        // What a process goes on from that another one left has to be on the disk.
        if let worker = unsettled, worker.isRunning, kinds.contains(.powerLoss), chance(1, in: 8) {
            meet(.powerLoss)
            return losePower(worker)
        }
        switch number(below: 20) {
        case 0..<6: try send()
        case 6..<15: try turn()
        case 15..<17: try start()
        default: try disturb()
        }
    }

    private func send() throws {
        if !deliverers.isEmpty, chance(1, in: 3) {
            for _ in 0...number(below: 3) {
                documents.send(to: cluster, at: weir_sim_now() / 1_000_000)
            }
            return
        }
        guard let feed = one(of: feeds) else { return }
        if let machine, !machine.isRunning { startProducer(machine) }
        for _ in 0...number(below: 12) {
            if kinds.contains(.gaps), chance(1, in: 40),
                let topic = cluster.topic(feed.stream.streamName)
            {
                meet(.gaps)
                cluster.leaveGap(
                    in: topic, partition: Int32(number(below: topic.partitions.count)),
                    count: Int64(1 + number(below: 3)))
            }
            let newest = feed.send(to: machine ?? cluster, at: nextTimestamp())
            if let fault = machine?.fault { throw fault }
            // Not from the year 9999, or all that follows would be.
            if newest < eventMilliseconds + 90 * 86_400_000 {
                eventMilliseconds = max(eventMilliseconds, newest)
            }
        }
    }

    private func startProducer(_ machine: EmbeddedMachine) {
        processes += 1
        machine.start(as: processes, chances: drawChancesOfDisk(), seed: random.next())
    }

    func nextTimestamp() -> Int64 {
        if kinds.contains(.extremeTimes), chance(1, in: 300) {
            meet(.extremeTimes)
            return chance(1, in: 2) ? -1 : 253_402_300_799_999
        }
        eventMilliseconds += Int64(number(below: chance(1, in: 30) ? 7_200_000 : 4000))
        if kinds.contains(.timesOutOfOrder), chance(1, in: 10) {
            meet(.timesOutOfOrder)
            return eventMilliseconds - Int64(number(below: 7_200_000))
        }
        return eventMilliseconds
    }

    private func turn() throws {
        guard let worker = one(of: workers.filter { $0.isRunning && !$0.isPaused }) else { return }
        for _ in 0...number(below: 3) where worker.isRunning { try turn(worker) }
    }

    @discardableResult
    func turn(_ worker: SimulatedWorker) throws -> SimulatedWorker.Turn {
        let process = worker.process ?? 0
        partners.answer(process)
        let turn = worker.takeTurn()
        switch turn {
        case .goesOn, .ended: partners.settle(process, of: worker.name)
        case .died, .failed: partners.forget(process, of: worker.name)
        }
        if let fault = partners.fault ?? cluster.fault { throw fault }
        switch turn {
        case .goesOn: break
        case .ended:
            cluster.cover(.stopped)
            note("\(worker.name) ends as it was asked")
        case .died:
            cluster.cover(.killedAtCall)
            note("\(worker.name) is killed at a call")
            unsettled = worker
            if kinds.contains(.powerLoss), chance(1, in: 2) {
                meet(.powerLoss)
                losePower(worker)
            }
        case .failed(let error): try judge(error, of: worker)
        }
        return turn
    }

    private func start() throws {
        guard let worker = one(of: workers.filter { !$0.isRunning }) else { return }
        try start(worker, chances: drawChancesOfDisk())
    }

    /// Other settings of the next start, which no number depends on; and another dedupe window, under which what comes
    /// next is folded.
    private func drawConfiguration(of feed: any Feed) throws {
        let isBounded = kinds.contains(.fewIDs) && chance(1, in: 4)
        let isOther =
            kinds.contains(.otherConfiguration) && feed.stream.hasWindow && chance(1, in: 3)
        guard isBounded || isOther || kinds.contains(.otherBatches) && chance(1, in: 3) else {
            return
        }
        if isBounded { meet(.fewIDs) }
        if isOther {
            let windows: [Int?] = [nil, 0, 1, 60, 3600, 86_400, 604_800, 31_622_400]
            let drawn = windows[number(below: windows.count)]
            let window = drawn == feed.stream.defaultWindowSeconds ? nil : drawn
            if window != feed.windowSeconds { meet(.otherConfiguration) }
            feed.windowSeconds = window
        }
        if !isBounded, !isOther { meet(.otherBatches) }
        let bound = isBounded ? "dedupe_max_ids: \(1 + number(below: Self.mostIDs))\n" : ""
        try feed.writeConfiguration(to: "\(root)/pipelines", settings: drawStreamSettings() + bound)
    }

    /// The operator gives a stream the memory that it needs.
    func raiseBound(of stream: String) throws {
        for feed in feeds where feed.stream.streamName == stream {
            try feed.writeConfiguration(to: "\(root)/pipelines", settings: drawStreamSettings())
        }
    }

    /// What a worker folds from now on, it folds under the window that its stream's file says now.
    private func countWindow(of worker: SimulatedWorker) throws {
        guard report.kinds.contains(.otherConfiguration), let feed = feed(of: worker) else {
            return
        }
        weir_sim_enter(0)
        // A log that its last process removed could come back with a loss of power, and with a commit that had failed: more
        // would be folded under the window of before.
        let store = try Comparison.storePath(worker.directory, worker.program.topic)
        weir_sim_forget_names(URL(fileURLWithPath: store).deletingLastPathComponent().path)
        let folded = try Comparison.foldedOffsets(worker.directory, worker.program.topic)
        for partition in 0..<Self.mostPartitions {
            worker.windows[partition, default: WindowsInForce()].begin(
                at: folded[partition]?.upperBound ?? 0, seconds: feed.windowSeconds)
        }
    }

    func start(_ worker: SimulatedWorker, chances: weir_sim_chances) throws {
        if let feed = feed(of: worker) {
            try drawConfiguration(of: feed)
        }
        let partitions = cluster.topic(worker.program.topic)?.partitions ?? []
        if partitions.contains(where: \.isTrimmedOverOldTopic) { try reset(worker) }
        processes += 1
        do {
            try worker.start(
                as: processes, lanes: 1 + number(below: 3), chances: chances, seed: random.next())
            note("\(worker.name) starts")
        } catch {
            return try judge(error, of: worker)
        }
        try countWindow(of: worker)
        guard let process = worker.process, !weir_sim_is_dead(process) else { return }
        try worker.checkPromotions()
    }
}
