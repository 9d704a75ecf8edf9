import ConversionValues
import Deliveries
import Engine
import EventLog
import Foundation
import Streams
import TestKit

// The streams, programs and faults of a run, as its seed draws them.

extension Simulation {
    func prepare() throws {
        let files = FileManager.default
        for name in ["disks", "pipelines"] {
            try? files.removeItem(atPath: "\(root)/\(name)")
            try files.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
        }
        kinds = Set(
            FaultKind.allCases.enumerated().filter { index, kind in
                let isOn =
                    kind.isOneIn.map { whole in
                        isDrawn(1, in: whole, by: kind == .flood ? 0xF1 : 0xF100 + UInt64(index))
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
            if kinds.contains(.erasure) { kinds.subtract(FaultKind.foldingAgain) }
            // A set under another configuration has corrections to send.
            if kinds.contains(.otherConfiguration), feeds.contains(where: { $0.stream.hasWindow }) {
                kinds.remove(isDrawn(1, in: 2, by: 0xC9) ? .promotion : .otherConfiguration)
            }
            if kinds.contains(.otherConfiguration) { kinds.remove(.upgrade) }
            try beginMachine()
        } else {
            kinds.subtract(FaultKind.ofEmbeddedLogs)
        }
        drawSnapshots()
        for feed in feeds {
            let topic = feed.stream.streamName
            cluster.make(topic, partitionCount: Int32(1 + number(below: 4)))
            // Without a group, one worker has all partitions.
            for index in 0...number(below: machine == nil ? options.mostWorkers : 1) {
                addWorker("\(topic)-\(index)", feed.program)
                workers.last?.isStandby = kinds.contains(.standby) && index > 0
            }
            try feed.writeConfiguration(to: "\(root)/pipelines", settings: drawStreamSettings())
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

    /// Some runs of several machines write snapshots, which are compared under one window only.
    private func drawSnapshots() {
        guard machine == nil, kinds.contains(.snapshots) else {
            return kinds.subtract(FaultKind.ofSnapshots)
        }
        kinds.remove(.otherConfiguration)
        // A snapshot that ends where a trimmed topic begins cannot be compared with it.
        if kinds.contains(.topicRecreated) { kinds.remove(.trimming) }
        snapshotRoot = "\(root)/disks/snapshots"
        meet(.snapshots)
        if kinds.contains(.standby) { meet(.standby) }
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
        let wanted = made.enumerated().filter { index, feed in
            options.streams.isEmpty || options.streams.contains(feed.feed.stream.streamName)
        }
        let drawn = wanted.filter { index, feed in index == first || feed.isDrawn }
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

    func drawSettings() -> String {
        """
        batch_records: \(1 + number(below: 40))
        commit_interval_ms: \(1 + number(below: 300))

        """
    }

    /// Settings of the file of a stream.
    func drawStreamSettings() -> String {
        drawSettings() + (snapshotRoot.map { "snapshots: \($0)\n" } ?? "")
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
}
