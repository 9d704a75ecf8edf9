import CSimulatedSystem
import ConversionValues
import Deliveries
import EmbeddedLog
import Engine
import EventLog
import Foundation
import Reports
import Store
import Streams
import TestKit

/// One run: a cluster, workers, disks and a clock, all of whose choices come from a seed.
///
/// Everything happens on one thread, step after step. What works is the real code: the worker, its folds, SQLite, the
/// emitter. At the end faults cease, everything has to catch up within a bound of steps, and is then compared with a
/// fold from scratch and with the models.
package final class Simulation {
    package struct Report: Sendable {
        package let seed: UInt64
        package internal(set) var finding: String?
        package internal(set) var met: [String: Int] = [:]
        /// Names of what came up at all, in order.
        package var eventsMet: [String] { met.filter { $0.value > 0 }.keys.sorted() }
        /// The streams and kinds of faults that it had.
        package internal(set) var streams: [String] = []
        package internal(set) var kinds: [FaultKind] = []
        package internal(set) var steps = 0
        package internal(set) var records = 0
        /// Time that passed for the simulated clock.
        package internal(set) var simulatedSeconds = 0.0
        /// The last steps, in words.
        package internal(set) var trace: [String] = []
    }

    package struct Options: Sendable, Equatable {
        package var steps = 300
        /// Faults that are never drawn.
        package var without: Set<FaultKind> = []
        /// Whether each run has a part of the kinds of faults, which its seed draws; else it has all.
        package var isSwarm = true
        /// Of a stream.
        package var mostWorkers = 3
        /// Names of the streams that there may be; of partners that of their topic. Empty for all.
        package var streams: Set<String> = []
        /// How many of the last steps the trace keeps.
        package var traceLength = 60

        package init() {}
    }

    let options: Options
    let root: String
    var random: SeededGenerator
    let cluster: SimulatedCluster
    /// The machine of all processes, where the run is one of the embedded log.
    var machine: EmbeddedMachine?
    let partners: SimulatedPartners
    let documents: SimulatedDocuments
    /// Those that ask a collector, where there is one.
    var installs: SimulatedInstalls?
    var feeds: [any Feed] = []
    var workers: [SimulatedWorker] = []
    var kinds: Set<FaultKind> = []
    var processes: Int32 = 0
    /// That of an operator who is at work.
    var operatorsProcess: Int32?
    /// Whose last process, or whose operator's, ended within what it wrote.
    var unsettled: SimulatedWorker?
    var eventMilliseconds: Int64 = 0
    var report: Report
    /// Topics that have lost their beginning, or are not those that they were.
    var trimmed: Set<String> = []
    var recreated: Set<String> = []
    /// Streams some of whose records were erased after they were folded.
    var erased: Set<String> = []
    /// Copies of stores, and what was in force when they were folded, by the names of their workers.
    var backups: [String: (store: String, windows: [Int32: WindowsInForce])] = [:]
    /// The workers that have gone on with a copy of their stores.
    var restored: Set<String> = []
    /// The workers that have, or have had, a store without a measure.
    var withoutMeasure: Set<String> = []
    /// The directory of snapshots, which all machines share; nil in runs without.
    var snapshotRoot: String?
    /// How many sets were replayed for a worker, by its name.
    var sets: [String: Int] = [:]

    static let beginNanoseconds: Int64 = 1_795_219_200_000_000_000
    static let mostTurnsToCatchUp = 20_000
    static let mostPartitions: Int32 = 8
    /// The largest `dedupe_max_ids` that is too small.
    static let mostIDs = 100

    /// - Parameter root: an absolute directory that is there, without links in its path; what is in it is removed.
    package init(seed: UInt64, root: String, options: Options = Options()) {
        self.options = options
        self.root = root
        random = SeededGenerator(seed: seed)
        cluster = SimulatedCluster(seed: seed ^ 0xC1)
        partners = SimulatedPartners(cluster)
        documents = SimulatedDocuments(seed: seed ^ 0xD0)
        report = Report(seed: seed)
    }

    /// Runs to the end, or to the first finding.
    package func run() -> Report {
        let before = Coverage.systemEvents
        do {
            try prepare()
            weir_sim_begin("\(root)/disks", Self.beginNanoseconds, report.seed)
            weir_sim_work_late(isDrawn(1, in: 2, by: 0x1A7E))
            defer { weir_sim_end() }
            let topics =
                feeds.map { $0.stream.streamName } + (installs == nil ? [] : [InstallLedger.topic])
            try machine?.begin(with: topics) { 1 + number(below: 4) }
            for _ in 0..<options.steps {
                report.steps += 1
                try step()
            }
            try finish()
        } catch {
            report.finding = brief("\(error)")
        }
        report.trace = report.trace.map(brief)
        for worker in workers { worker.kill() }
        machine?.kill()
        cluster.dissolveGroups()
        report.records = feeds.reduce(0) { $0 + $1.records }
        report.simulatedSeconds = Double(weir_sim_elapsed()) / 1e9
        for (event, count) in cluster.met { report.met[event, default: 0] += count }
        for (event, old) in zip(Coverage.systemEvents, before) {
            report.met[event.name, default: 0] += event.count - old.count
        }
        return report
    }

    // MARK: Choices

    func number(below bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

    func chance(_ part: Int, in whole: Int) -> Bool { number(below: whole) < part }

    func one<Element>(of elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[number(below: elements.count)]
    }

    /// A text without the directory that all paths begin with.
    private func brief(_ text: String) -> String { text.replacing("\(root)/disks/", with: "") }

    func note(_ step: String) {
        report.trace.append("\(report.steps): \(step)")
        if report.trace.count > options.traceLength { report.trace.removeFirst() }
    }

    func meet(_ kind: FaultKind) { report.met[kind.rawValue, default: 0] += 1 }
}
