import ConfigurationValues
import Engine
import EventLog
import Foundation
import Logging
import Program
import Store
import Streams

/// Replays a stream into its own store: the worker's loop within bounds, without publishing and without commits to a
/// group.
///
/// If several configurations were in force, the loop runs once for each, up to the offset at which the next begins.
struct StreamReplay<Fold: StreamFold> {
    let order: ReplayOrder
    let settings: StreamSettings
    let stop: StopSignal
    private let logger = ReplaySource.logger

    init(_ order: ReplayOrder, stop: StopSignal) throws {
        self.order = order
        self.stop = stop
        settings = try Fold.file(in: order.source.pipelines).settings
    }

    /// The target store.
    var storePath: String { "\(order.directory)/\(Fold.streamName).sqlite" }

    /// Folds up to the present end of the log, or to the requested one.
    func run(interruption: @escaping () -> Bool = { false }) throws -> WorkerEnd {
        let reader = try openReader()
        defer { reader.close() }
        let stretches = try stretches(of: reader)
        let configurations = try configurations(reader)
        return try fold(
            stretches, configurations, identity: reader.identity(),
            partitionCount: reader.partitionCount(), interruption: interruption)
    }

    /// Folds up to these offsets.
    func run(
        to ends: [Int32: Int64], under configurations: ReplayConfigurations,
        starts: [Int32: Int64] = [:]
    ) throws -> WorkerEnd {
        let reader = try openReader()
        defer { reader.close() }
        var stretches: [Int32: Range<Int64>] = [:]
        for bounds in try reader.bounds(of: ends.keys.sorted()) {
            let end = ends[bounds.partition] ?? bounds.endOffset
            let start = max(bounds.earliestOffset, starts[bounds.partition] ?? 0)
            stretches[bounds.partition] = min(start, end)..<end
        }
        return try fold(
            stretches, configurations, identity: reader.identity(),
            partitionCount: reader.partitionCount(), interruption: { false })
    }

    func openReader() throws -> any LogReader {
        try order.source.openReader(topic: settings.topic, settings: settings)
    }

    /// The requested range of each partition, as far as the log or the archive has it.
    func stretches(of reader: any LogReader) throws -> [Int32: Range<Int64>] {
        var stretches: [Int32: Range<Int64>] = [:]
        let storeEnds = order.endsAtStores ? try storeEnds() : nil
        for bounds in try reader.bounds() {
            let range = order.range
            var end = bounds.endOffset
            if let storeEnds {
                guard let reached = storeEnds[bounds.partition] else { continue }
                end = min(end, reached)
            }
            if let offset = range.toOffset { end = min(end, offset) }
            if let time = range.toMilliseconds {
                let found = try reader.offset(partition: bounds.partition, atOrAfter: time)
                end = min(end, found ?? end)
            }
            var start = bounds.earliestOffset
            if let offset = range.fromOffset { start = max(start, offset) }
            if let time = range.fromMilliseconds {
                let found = try reader.offset(partition: bounds.partition, atOrAfter: time)
                start = max(start, found ?? bounds.endOffset)
            }
            stretches[bounds.partition] = min(start, end)..<end
        }
        return stretches
    }

    /// The next offset of each partition in the live stores.
    private func storeEnds() throws -> [Int32: Int64] {
        var ends: [Int32: Int64] = [:]
        for directory in order.dataDirectories {
            let path = try PromotionJournal(directory: directory).path(of: Fold.streamName)
            guard FileManager.default.fileExists(atPath: path) else { continue }
            for state in try StoreReader(path: path).snapshot({ try $0.partitionStates() }) {
                ends[state.partition] = max(ends[state.partition] ?? 0, state.nextOffset)
            }
        }
        return ends
    }

    func configurations(_ reader: any LogReader) throws -> ReplayConfigurations {
        let recorded = order.mode == .recorded ? try recordedEpochs(reader) : nil
        let present = { try Fold.rules(in: order.source.pipelines).configuration }
        guard let recorded else { return .one(try present()) }
        let unknown = try (0..<reader.partitionCount()).contains { number in
            recorded.partitions[number]?.epochs.isEmpty ?? true
        }
        let any = recorded.partitions.values.compactMap(\.epochs.last?.configuration).first
        // The present configuration is read only if it is needed: it may be faulty or missing.
        guard !unknown, let any else { return .recorded(recorded, otherwise: try present()) }
        return .recorded(recorded, otherwise: any)
    }

    /// The records of the live stores; nil without a store.
    func recordedEpochs(_ reader: any LogReader) throws -> RecordedEpochs? {
        try RecordedEpochs(
            stream: Fold.streamName, directories: order.dataDirectories,
            topic: settings.topic, logIdentity: reader.identity())
    }
}

// MARK: Folding

extension StreamReplay {
    /// A partition with remaining records.
    private struct Open {
        var partition: Int32
        /// The remaining offsets under its configuration.
        var stretch: Range<Int64>
        /// The remaining records under later configurations.
        var later: Int64
        var configuration: FoldConfiguration
    }

    func fold(
        _ stretches: [Int32: Range<Int64>], _ configurations: ReplayConfigurations,
        identity: String, partitionCount: Int32, interruption: @escaping () -> Bool
    ) throws -> WorkerEnd {
        let store = try openStore(identity: identity, partitionCount: partitionCount)
        var rules: [String: Fold.Rules] = [:]
        var before: [Open]?
        while !stop.isRequested {
            let open = try open(stretches, configurations, in: store)
            guard let first = open.first else { return .reachedEnd }
            guard
                before.map({ $0.map(\.stretch) != open.map(\.stretch) || $0.count != open.count })
                    ?? true
            else { throw ReplayError.stuck(store: store.path) }
            before = open
            let hash = first.configuration.hash
            let cached = try rules[hash] ?? self.rules(for: first.configuration)
            rules[hash] = cached
            let end = try work(
                open.filter { $0.configuration.hash == hash }, all: open, rules: cached, in: store,
                interruption: interruption)
            guard end == .reachedEnd else { return end }
        }
        return .stopped
    }

    func openStore(identity: String, partitionCount: Int32) throws -> AggregateStore {
        let store = try AggregateStore(
            path: storePath, fold: Fold.self, topic: settings.topic,
            logIdentity: identity, partitionCount: partitionCount)
        let origin = try store.origin()
        guard origin.topic == settings.topic, origin.logIdentity == identity else {
            throw ReplayError.otherLog(store: store.path, topic: settings.topic)
        }
        guard origin.partitionCount == partitionCount else {
            throw WorkerError.changed(
                .partitionCountChanged(
                    topic: settings.topic, folded: origin.partitionCount, now: partitionCount,
                    store: store.path))
        }
        return store
    }

    /// The partitions with remaining work: records, or the note of a new configuration.
    private func open(
        _ stretches: [Int32: Range<Int64>], _ configurations: ReplayConfigurations,
        in store: AggregateStore
    ) throws -> [Open] {
        let states = try store.partitionStates()
        return try stretches.sorted { $0.key < $1.key }.compactMap { partition, stretch in
            let state = states.first { $0.partition == partition }
            let last = try state.flatMap { _ in try store.epochs(of: partition).last }
            let next = max(state?.nextOffset ?? stretch.lowerBound, stretch.lowerBound)
            let (configuration, boundary) = configurations.configuration(
                of: partition, at: next, last: last?.configuration)
            guard next < stretch.upperBound || last?.configuration.hash != configuration.hash
            else { return nil }
            if case .one = configurations, let last, last.configuration.hash != configuration.hash {
                throw ReplayError.otherConfiguration(store: store.path)
            }
            let end = max(next, min(boundary ?? .max, stretch.upperBound))
            return Open(
                partition: partition, stretch: next..<end,
                later: max(0, stretch.upperBound - end), configuration: configuration)
        }
    }

    private func work(
        _ group: [Open], all: [Open], rules: Fold.Rules, in store: AggregateStore,
        interruption: @escaping () -> Bool
    ) throws -> WorkerEnd {
        let reader = BoundedLogReader(
            try openReader(),
            stretches: Dictionary(uniqueKeysWithValues: group.map { ($0.partition, $0.stretch) }))
        defer { reader.close() }
        let later =
            all.reduce(0) { $0 + $1.later + Int64($1.stretch.count) }
            - group.reduce(0) { $0 + Int64($1.stretch.count) }
        return try worker(
            reader, rules: rules, store: store, partitions: group.map(\.partition),
            recordsLater: later, interruption: interruption
        ).run()
    }

    func worker(
        _ reader: any LogReader, rules: Fold.Rules, store: AggregateStore, partitions: [Int32],
        untilEnd: Bool = true, recordsLater: Int64 = 0, interruption: @escaping () -> Bool
    ) throws -> Worker<Fold> {
        let lanes = try Fold.makeLanes(
            order.threadCount, rules, topic: settings.topic,
            partitionCount: try reader.partitionCount(), memory: store,
            threadCount: order.threadCount)
        var workerSettings = WorkerSettings(
            settings, assignment: .partitions(partitions),
            partitionCount: try reader.partitionCount())
        workerSettings.untilEnd = untilEnd
        if let records = order.batchRecords { workerSettings.batchRecords = records }
        workerSettings.recordsLater = recordsLater
        workerSettings.showsProgress = order.showsProgress
        return Worker(
            lanes: lanes,
            others: try Fold.makeOtherLanes(lanes, rules, topic: settings.topic, memory: store),
            store: store, reader: reader, emitter: nil, settings: workerSettings,
            configuration: rules.configuration, stop: stop, logger: logger,
            interruption: interruption, openReader: openReader)
    }

    /// The rules of a configuration: the present ones if they are the same.
    func rules(for configuration: FoldConfiguration) throws -> Fold.Rules {
        if order.mode == .present, let present = try? Fold.rules(in: order.source.pipelines),
            present.configuration.hash == configuration.hash
        {
            return present
        }
        return try Fold.Rules(recorded: configuration, from: .pipelines(order.source.pipelines))
    }
}
