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

    private let options: Options
    let root: String
    var random: SeededGenerator
    let cluster: SimulatedCluster
    /// The machine of all processes, where the run is one of the embedded log.
    private(set) var machine: EmbeddedMachine?
    let partners: SimulatedPartners
    let documents: SimulatedDocuments
    /// Those that ask a collector, where there is one.
    private(set) var installs: SimulatedInstalls?
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
    var madeAnew: Set<String> = []
    /// Copies of stores, and what was in force when they were folded, by the names of their workers.
    var backups: [String: (store: String, windows: [Int32: WindowsInForce])] = [:]
    /// The workers that have gone on with a copy of their stores.
    var restored: Set<String> = []
    /// How many sets were replayed for a worker, by its name.
    var sets: [String: Int] = [:]

    private static let beginNanoseconds: Int64 = 1_795_219_200_000_000_000
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

    // MARK: What there is

    private func prepare() throws {
        let files = FileManager.default
        for name in ["disks", "pipelines"] {
            try? files.removeItem(atPath: "\(root)/\(name)")
            try files.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
        }
        kinds = Set(
            FaultKind.allCases.enumerated().filter { place, kind in
                let isOn =
                    kind.isOneIn.map { whole in
                        isDrawn(1, in: whole, by: kind == .flood ? 0xF1 : 0xF100 + UInt64(place))
                    } ?? chance(1, in: 2)
                return isOn || !options.isSwarm
            }.map(\.element)
        ).subtracting(options.without)
        cluster.isIncremental = kinds.contains(.incrementalRebalances)
        if cluster.isIncremental { meet(.incrementalRebalances) }
        if kinds.contains(.stop) {
            // What a worker has to publish then waits for its next start.
            cluster.onRefusal = { [unowned self] process in
                guard chance(1, in: 60) else { return }
                workers.first { $0.process == process }?.stop()
            }
        }
        eventMilliseconds = Self.beginNanoseconds / 1_000_000
        drawFeeds()
        // Nothing on such a machine delivers.
        if chance(1, in: 4), options.streams != [SimulatedDocuments.topic] {
            // A set under another configuration has corrections to send.
            if kinds.contains(.otherConfiguration), feeds.contains(where: { $0.stream.hasWindow }) {
                kinds.remove(isDrawn(1, in: 2, by: 0xC9) ? .promotion : .otherConfiguration)
            }
            try beginMachine()
        } else {
            kinds.subtract(FaultKind.ofEmbeddedLogs)
        }
        for feed in feeds {
            let topic = feed.stream.streamName
            cluster.make(topic, partitionCount: Int32(1 + number(below: 4)))
            // Without a group, one worker has all partitions.
            for place in 0...number(below: machine == nil ? options.mostWorkers : 1) {
                addWorker("\(topic)-\(place)", feed.program)
            }
            try feed.writeConfiguration(to: "\(root)/pipelines", settings: drawSettings())
        }
        try SimulatedDocuments.writeConfiguration(
            to: "\(root)/pipelines", settings: drawSettings())
        let documentTopic = SimulatedDocuments.topic
        let isDelivering = chance(1, in: 2) || options.streams == [documentTopic]
        if isDelivering, machine == nil,
            options.streams.isEmpty || options.streams.contains(documentTopic)
        {
            cluster.make(documentTopic, partitionCount: Int32(1 + number(below: 4)))
            addWorker(documentTopic, DeliveryProgram(partners: partners))
            cluster.mayTakeAgain = { [unowned self] process in
                workers.contains { $0.process == process && restored.contains($0.name) }
            }
            if isDrawn(1, in: 3, by: 0xD2) {
                addWorker("\(documentTopic)-2", DeliveryProgram(partners: partners))
                if isDrawn(1, in: 2, by: 0xD3) {
                    kinds.formUnion([.backup, .restore])
                    kinds.subtract(FaultKind.hidingCopiesOfDeliveries.union(options.without))
                }
            }
        }
        try drawCollector()
        let drawn = FaultKind.allCases.filter { kinds.contains($0) }
        report.kinds = drawn
        report.streams = workers.map(\.program.topic).reduce(into: []) { topics, topic in
            if !topics.contains(topic) { topics.append(topic) }
        }
        note(
            "\(workers.map(\.name).joined(separator: ", ")); \(drawn.map(\.rawValue).joined(separator: " "))"
        )
    }

    /// In some runs without another producer of its topic.
    private func drawCollector() throws {
        let isWanted =
            options.streams.contains(CollectorProgram.name)
            || (options.streams.isEmpty && isDrawn(1, in: 8, by: 0xC0))
        guard isWanted, !feeds.contains(where: { $0.stream.streamName == InstallLedger.topic })
        else { return }
        let installs = try SimulatedInstalls(cluster, seed: report.seed ^ 0xC0)
        self.installs = installs
        cluster.make(InstallLedger.topic, partitionCount: Int32(1 + report.seed % 4))
        addWorker(CollectorProgram.name, CollectorProgram(installs: installs))
        // Several on one Kafka each have a file of their own.
        guard machine == nil, isDrawn(1, in: 2, by: 0xC2) else { return }
        installs.hasSeveralCollectors = true
        addWorker("\(CollectorProgram.name)-2", CollectorProgram(installs: installs))
    }

    func isDrawn(_ part: UInt64, in whole: UInt64, by salt: UInt64) -> Bool {
        var random = SeededGenerator(seed: report.seed ^ salt)
        return random.next() % whole < part
    }

    private func beginMachine() throws {
        let machine = EmbeddedMachine(cluster, directory: "\(root)/disks/machine")
        try FileManager.default.createDirectory(
            atPath: machine.directory, withIntermediateDirectories: true)
        self.machine = machine
        kinds.subtract(FaultKind.ofClusters)
    }

    private func addWorker(_ name: String, _ program: any SimulatedProgram) {
        workers.append(
            SimulatedWorker(
                name, program, log: machine ?? cluster,
                directory: "\(machine?.directory ?? "\(root)/disks")/\(name)",
                pipelines: "\(root)/pipelines"))
    }

    /// Some of the streams. What is left out by the options changes little of what is drawn.
    private func drawFeeds() {
        let first = number(below: Self.feeds.count)
        let made = Self.feeds.map { make in (feed: make(random.next()), isDrawn: chance(1, in: 5)) }
        let wanted = made.enumerated().filter { place, feed in
            options.streams.isEmpty || options.streams.contains(feed.feed.stream.streamName)
        }
        let drawn = wanted.filter { place, feed in place == first || feed.isDrawn }
        feeds = (drawn.isEmpty ? wanted : drawn).map(\.element.feed)
    }

    package static var streamNames: [String] {
        feeds.map { $0(0).stream.streamName } + [SimulatedDocuments.topic, CollectorProgram.name]
    }

    /// The streams that have a model.
    static let feeds: [@Sendable (UInt64) -> any Feed] = [
        { ModelFeed<BidsModel>(stream: BidsFold.self, seed: $0) },
        { ModelFeed<ImpressionsModel>(stream: ImpressionsFold.self, seed: $0) },
        { ModelFeed<OverlayClicksModel>(stream: OverlayClicksFold.self, seed: $0) },
        { ModelFeed<PostbacksModel>(stream: PostbacksFold.self, seed: $0) },
        { ModelFeed<StoreNotificationsModel>(stream: StoreNotificationsFold.self, seed: $0) },
        { ModelFeed<ConversionUpdatesModel>(stream: ConversionUpdatesFold.self, seed: $0) },
        { ModelFeed<CostsModel>(stream: CostsFold.self, seed: $0) },
    ]

    private func drawSettings() -> String {
        """
        batch_records: \(1 + number(below: 40))
        commit_interval_ms: \(1 + number(below: 300))

        """
    }

    /// Nil for a worker that folds nothing.
    func feed(of worker: SimulatedWorker) -> (any Feed)? {
        feeds.first { $0.stream.streamName == worker.program.topic }
    }

    /// The workers that deliver to partners, where there are some.
    var deliverers: [SimulatedWorker] { workers.filter(isDelivering) }

    func isDelivering(_ worker: SimulatedWorker) -> Bool {
        worker.program.topic == SimulatedDocuments.topic
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

    // MARK: Steps

    private func step() throws {
        if chance(1, in: 10) { drawChancesOfLog() }
        // What a process goes on from that another one left has to be on the disk.
        if let worker = unsettled, worker.isRunning, kinds.contains(.powerLoss), chance(1, in: 8) {
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
            cluster.note(.stopped)
            note("\(worker.name) ends as it was asked")
        case .died:
            cluster.note(.killedAtCall)
            note("\(worker.name) is killed at a call")
            unsettled = worker
            if kinds.contains(.powerLoss), chance(1, in: 2) { losePower(worker) }
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
        try feed.writeConfiguration(to: "\(root)/pipelines", settings: drawSettings() + bound)
    }

    /// The operator gives a stream the memory that it needs.
    func raiseBound(of stream: String) throws {
        for feed in feeds where feed.stream.streamName == stream {
            try feed.writeConfiguration(to: "\(root)/pipelines", settings: drawSettings())
        }
    }

    /// What a worker folds from now on, it folds under the window that its stream's file says now.
    private func noteWindow(of worker: SimulatedWorker) throws {
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
        if partitions.contains(where: \.isTrimmedOverOldTopic) { try beginAnew(worker) }
        processes += 1
        do {
            try worker.start(
                as: processes, lanes: 1 + number(below: 3), chances: chances, seed: random.next())
            note("\(worker.name) starts")
        } catch {
            return try judge(error, of: worker)
        }
        try noteWindow(of: worker)
        guard let process = worker.process, !weir_sim_is_dead(process) else { return }
        try worker.checkPromotions()
    }
}
