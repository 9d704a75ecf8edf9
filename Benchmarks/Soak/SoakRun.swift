import Engine
import Foundation
import Program
import TestKit

/// Disturbs four workers of one group and their brokers, driven by a seed, while records are published.
///
/// Each disturbance depends on the members that are present. So a seed repeats the kinds and times of disturbances, and
/// the rest only if processes run at the same speed.
final class SoakRun {
    let workspace: SoakWorkspace
    let workers: [SoakWorker]
    let publisher: SoakPublisher
    private(set) var disturbances: [String: Int] = [:]
    /// Seconds from the last disturbance until everything was folded; nil if it never was.
    private(set) var recoverySeconds: Double?
    /// The largest number of unfolded records at one time.
    private(set) var largestLag: Int64 = 0
    /// The errors during the run.
    private(set) var faults: [String] = []

    private let cluster: any SoakCluster
    private var generator: SeededGenerator
    private var due: [(at: Double, action: () throws -> Void)] = []
    private var fault: SoakFault?
    private let begin = ContinuousClock.now
    /// The time since when a partition with unfolded records has not advanced.
    private var standing: [Int32: (next: Int64, since: Double)] = [:]
    private var hasToldOf: Set<Int32> = []
    private var lastLook = 0.0
    /// The time until which members must not join.
    private var closedUntil = 0.0

    /// The maximum time without progress of a partition, in seconds: a session, two rebalances of mock brokers, brokers
    /// that are unavailable in between, and a busy machine.
    private static let patienceSeconds = 90.0
    private static let runningAtLeast = 2

    init(workspace: SoakWorkspace, cluster: any SoakCluster, seed: UInt64, rate: Int) throws {
        self.workspace = workspace
        self.cluster = cluster
        generator = SeededGenerator(seed: seed)
        workers = (1...4).map { SoakWorker($0, isMember: $0 % 2 == 0, workspace: workspace) }
        publisher = try SoakPublisher(workspace, rate: rate, seed: seed)
    }

    var directories: [String] { workers.map(\.directory) }

    private var seconds: Double { begin.duration(to: .now) / .seconds(1) }

    /// Disturbs for this long, waits for the workers to settle, and returns the faults found by `verdict` and during
    /// the run.
    func disturb(seconds limit: Double, verdict: (SoakRun) throws -> SoakVerdict) throws -> [String]
    {
        defer { killAll() }
        for worker in workers.prefix(Self.runningAtLeast) { try start(worker) }
        var next = 5.0
        while seconds < limit, !StopSignal.ofProcess.isRequested {
            try tick()
            guard seconds >= next else { continue }
            next = seconds + Double.random(in: 1.5...6, using: &generator)
            try disturbOnce()
        }
        try comeToRest()
        return faults + (try verdict(self).faults)
    }

    private func tick() throws {
        usleep(100_000)
        guard cluster.isRunning else { throw SoakFailure("the mock brokers ended by themselves") }
        let now = seconds
        let actions = due.filter { $0.at <= now }
        due.removeAll { $0.at <= now }
        for (_, action) in actions { try action() }
        for worker in workers {
            switch worker.look() {
            case .none: break
            case .asked: tell("worker \(worker.number) has ended")
            case .killed: tell("worker \(worker.number) is gone")
            case .fenced: tell("worker \(worker.number) ended: its name was taken")
            case .byItself(let explanation):
                tell("worker \(worker.number) ENDED BY ITSELF: \(explanation)")
                faults.append("worker \(worker.number) ended by itself: \(explanation)")
            }
        }
        look(now)
    }

    private func look(_ now: Double) {
        guard now - lastLook >= 0.5 else { return }
        lastLook = now
        let next = workspace.nextOffsets(directories)
        let ends = publisher.published.ends
        largestLag = max(largestLag, ends.reduce(0) { $0 + $1.value - (next[$1.key] ?? 0) })
        for (partition, end) in ends {
            let reached = next[partition] ?? 0
            if let still = standing[partition], still.next == reached, reached < end {
                if now - still.since > Self.patienceSeconds, hasToldOf.insert(partition).inserted {
                    tell("partition \(partition) STANDS at \(reached) of \(end)")
                    faults.append(
                        "partition \(partition) stood at \(reached) of \(end) for longer than "
                            + "\(Int(Self.patienceSeconds)) s")
                }
            } else {
                standing[partition] = (reached, now)
                hasToldOf.remove(partition)
            }
        }
    }

    /// Ends all disturbances, runs at least two workers, and waits until everything is folded.
    private func comeToRest() throws {
        for (_, action) in due { try action() }
        due = []
        while isClosed { try tick() }
        while workers.count(where: \.isFree) < Self.runningAtLeast,
            let worker = workers.first(where: { !$0.isRunning })
        {
            try start(worker)
        }
        publisher.end()
        let rest = seconds
        tell("the last disturbance; \(lag) records are left to fold")
        while lag > 0, seconds - rest < 240 { try tick() }
        if lag == 0 { recoverySeconds = seconds - rest }
        for worker in workers where worker.isRunning { worker.ask() }
        let asked = seconds
        while workers.contains(where: \.isRunning), seconds - asked < 30 { try tick() }
        for worker in workers where worker.isRunning {
            faults.append("worker \(worker.number) did not end within 30 s of SIGTERM")
        }
    }

    /// The number of unfolded records.
    private var lag: Int64 {
        let next = workspace.nextOffsets(directories)
        return publisher.published.ends.reduce(0) { $0 + $1.value - (next[$1.key] ?? 0) }
    }

    private func killAll() {
        for worker in workers where worker.isRunning { worker.kill() }
    }

    private func tell(_ explanation: String) {
        print(String(format: "%7.1f s  ", seconds) + explanation)
        fflush(nil)
    }

    private func count(_ kind: String, _ explanation: String) {
        disturbances[kind, default: 0] += 1
        tell(explanation)
    }
}

// MARK: Disturbances

extension SoakRun {
    private func disturbOnce() throws {
        let free = workers.filter(\.isFree)
        let away = workers.filter { !$0.isRunning }
        let chance = Int.random(in: 0..<100, using: &generator)
        let hasEnough = free.count > Self.runningAtLeast
        switch chance {
        case ..<35 where fault == nil && !cluster.faults.isEmpty: try strike()
        case 35..<50 where hasEnough: try leave(pick(free))
        case 50..<65 where !free.isEmpty && workers.count(where: \.isRunning) > 1:
            kill(pick(free))
        case 65..<80 where free.count > 1 && !isClosed: halt(pick(free))
        default:
            guard !away.isEmpty, !isClosed else { return }
            try start(pick(away))
        }
    }

    private var isClosed: Bool { seconds < closedUntil }

    private func pick(_ workers: [SoakWorker]) -> SoakWorker {
        workers[Int.random(in: 0..<workers.count, using: &generator)]
    }

    private func start(_ worker: SoakWorker) throws {
        try worker.start()
        count("joins", "worker \(worker.number) starts\(worker.isMember ? " with --member" : "")")
    }

    private func leave(_ worker: SoakWorker) throws {
        worker.ask()
        count("SIGTERM", "worker \(worker.number) is asked to leave")
        let number = worker.endings.count
        later(30) { [self] in
            guard worker.endings.count == number, worker.isRunning else { return }
            faults.append("worker \(worker.number) did not end within 30 s of SIGTERM")
            worker.kill()
        }
    }

    private func kill(_ worker: SoakWorker) {
        worker.kill()
        count("SIGKILL", "worker \(worker.number) is killed")
    }

    private func halt(_ worker: SoakWorker) {
        let length = SoakWorkspace.sessionSeconds + Double.random(in: 1...8, using: &generator)
        // Until the worker has found out that it is not a member any more.
        if cluster.reusesMemberIDs { closedUntil = seconds + length + 5 }
        worker.halt()
        count("SIGSTOP", String(format: "worker \(worker.number) is stopped for %.1f s", length))
        later(length) { [self] in
            worker.goOn()
            tell("worker \(worker.number) goes on")
        }
    }

    private func strike() throws {
        let faults = cluster.faults
        let fault = faults[Int.random(in: 0..<faults.count, using: &generator)]
        let length = Double.random(in: 1...cluster.longestFaultSeconds, using: &generator)
        try cluster.strike(fault)
        self.fault = fault
        count(fault.rawValue, String(format: "\(fault.rawValue), for %.1f s", length))
        later(length) { [self] in
            try cluster.mend(fault)
            self.fault = nil
        }
    }

    private func later(_ length: Double, _ action: @escaping () throws -> Void) {
        due.append((seconds + length, action))
    }
}
