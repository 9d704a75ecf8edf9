import AggregateStore
import ArgumentParser
import EventLog
import Foundation
import JSONReader
import KafkaLog
import Logging
import Pipelines
import Streams

/// A worker as a program: options in, exit code out.
package protocol WorkerProgram: CommandLineProgram {
    /// The fold of the worker's stream.
    associatedtype Fold: StreamFold
    /// All that it depends on besides the log.
    associatedtype Rules: FoldRules
    /// The options that were given.
    var options: WorkerOptions { get }

    /// Reads the settings that every worker has.
    static func streamSettings(of pipelines: PipelineDirectory) throws -> StreamSettings
    /// Reads all that the fold depends on, as configuration says it now.
    static func rules(of pipelines: PipelineDirectory) throws -> Rules
    /// Makes the fold.
    ///
    /// - Parameters:
    ///   - rules: what it depends on.
    ///   - topic: name of the topic.
    ///   - store: where its memory is.
    ///   - threadCount: on how many threads signatures are verified; nothing else depends on it.
    static func makeFold(
        _ rules: Rules, topic: String, store: AggregateStore, threadCount: Int
    ) throws -> Fold
}

extension WorkerProgram {
    /// Makes the fold that a store has recorded, as it was: for folding a stretch of the log again.
    /// Throws `RecordedConfigurationFault` when that cannot be done.
    package static func makeFold(
        recorded: FoldConfiguration, topic: String, pipelines: PipelineDirectory,
        store: AggregateStore, threadCount: Int = ProcessInfo.processInfo.activeProcessorCount
    ) throws -> Fold {
        try makeFold(
            Rules(recorded: recorded, pipelines: pipelines), topic: topic, store: store,
            threadCount: threadCount)
    }

    /// Runs the worker until it is done or asked to stop.
    package func run() throws {
        try Self.work(options, stop: .ofProcess)
    }

    /// Runs the worker with these options. While a set of stores is promoted it gives its store up, and goes
    /// on with the one that is in force then.
    package static func work(_ options: WorkerOptions, stop: StopSignal) throws {
        var monitor: WorkerMonitor?
        defer { monitor?.stop() }
        while waitForPromotion(options, stop: stop, metrics: monitor?.metrics) {
            let directory = try setDirectory(options)
            do {
                let end = try workOnce(options, in: directory, stop: stop, monitor: &monitor)
                guard end == .interrupted else { return }
            } catch let error as StoreError {
                // A promotion may have had the store that was not seen yet, or is over already.
                guard case .locked = error else { throw error }
                let isHeld = PromotionRequest.isHeld(in: options.dataDirectory)
                guard try isHeld || setDirectory(options) != directory else { throw error }
            }
        }
    }

    /// The directory whose store is in force.
    private static func setDirectory(_ options: WorkerOptions) throws -> String {
        let sets = try StoreSets(directory: options.dataDirectory)
        _ = try sets.presentPath(of: Fold.streamName)
        return sets.directory(of: Fold.streamName)
    }

    /// Waits until no promotion is under way; false when a stop was asked for meanwhile.
    private static func waitForPromotion(
        _ options: WorkerOptions, stop: StopSignal, metrics: WorkerMetrics?
    ) -> Bool {
        var isTold = false
        while PromotionRequest.isMade(in: options.dataDirectory),
            PromotionRequest.isHeld(in: options.dataDirectory)
        {
            guard !stop.isRequested else { return false }
            if !isTold {
                isTold = true
                Logger(label: programName).notice("a promotion is under way: waiting for it")
            }
            metrics?.wait(for: "a promotion is under way")
            usleep(20_000)
        }
        return true
    }

    private static func workOnce(
        _ options: WorkerOptions, in directory: String, stop: StopSignal,
        monitor: inout WorkerMonitor?
    ) throws -> WorkerEnd {
        let address = try options.address
        let pipelines = PipelineDirectory(options.pipelinesDirectory)
        let configuration = try readConfiguration(pipelines)
        let (stream, rules) = (configuration.stream, configuration.rules)
        let logger = Logger(label: programName)
        let log = try stream.openLog(
            address, pipelines: pipelines, memberName: options.memberName, logger: logger)
        let reader = try openReader(of: stream, in: log, options)
        defer { reader.close() }
        let partitionCount = try reader.partitionCount()
        if case .partitions(let wanted) = try options.assignment,
            let unknown = wanted.first(where: { $0 >= partitionCount })
        {
            throw WorkerError.unknownPartition(unknown, topic: stream.topic)
        }
        let store = try AggregateStore(
            path: "\(directory)/\(Fold.streamName).sqlite", fold: Fold.self,
            topic: stream.topic, logIdentity: try reader.identity(),
            partitionCount: partitionCount)
        // While it is locked nobody takes its place; until then somebody may have.
        guard try setDirectory(options) == directory else { return .interrupted }
        let accepted = try options.acceptedPartitionCount
        if let refusal = try store.standing().refusal(of: reader, accepting: accepted) {
            throw refusal
        }
        // Those that are assigned later, or to nobody now, are judged too: only then anything is written.
        let refusal = try store.snapshot {
            try rules.configuration.refusal(of: $0, store: store.path)
        }
        if let refusal { throw refusal }
        if try store.origin().partitionCount != partitionCount {
            try store.setPartitionCount(partitionCount)
        }
        let fold = try makeFold(
            rules, topic: stream.topic, store: store,
            threadCount: ProcessInfo.processInfo.activeProcessorCount)
        let settings = WorkerSettings(
            name: programName, group: stream.group, assignment: try options.assignment,
            partitionCount: partitionCount, untilEnd: try options.stopsAtEnd,
            batchRecords: stream.batchRecords,
            commitIntervalMilliseconds: stream.commitIntervalMilliseconds,
            dedupeMaxIDs: stream.dedupeMaxIDs, showsProgress: options.showsProgress)
        if monitor == nil {
            monitor = try options.metricsAddress.map {
                try WorkerMonitor(at: $0, topic: stream.topic, settings: settings, logger: logger)
            }
        }
        let isPublishing = Fold.streamName == PostbacksFold.streamName
        let isArchive = try log.topics().contains { $0.name == stream.topic && $0.isArchive }
        let emitter = Emitter(
            store: store, log: log, topic: stream.topic, partitionCount: partitionCount,
            catalog: configuration.catalog, partnerTopic: configuration.partnerTopic,
            corrections: isPublishing
                ? try CorrectionStore(directory: directory) : nil,
            patience: EmissionPatience(
                address: log.address, stop: stop, logger: logger, metrics: monitor?.metrics))
        let worker = Worker(
            fold: fold, store: store, reader: reader, emitter: isArchive ? nil : emitter,
            settings: settings,
            configuration: rules.configuration, stop: stop, logger: logger,
            metrics: monitor?.metrics,
            configurationFiles: FollowedConfiguration(
                pipelines, hash: rules.configuration.hash, logger: logger,
                rulesHash: { try Self.rules(of: pipelines).configuration.hash },
                use: isPublishing ? { emitter.catalog = $0 } : nil),
            interruption: { PromotionRequest.isMade(in: options.dataDirectory) },
            openReader: { try log.lookingReader(topic: stream.topic) })
        return try worker.run()
    }

    /// The log's reader, behind the archive's where there is one.
    private static func openReader(
        of stream: StreamSettings, in log: any LogBackend, _ options: WorkerOptions
    ) throws -> any LogReader {
        let reader = try log.reader(topic: stream.topic, group: stream.group)
        guard let path = try options.archivePath else { return reader }
        return try ArchivedLogReader(path: path, before: reader)
    }

    /// A JSON parser of the caller's own.
    static func makeParser() throws(WorkerError) -> JSONParser {
        guard let parser = JSONParser() else { throw .unexpected("no memory for a JSON parser") }
        return parser
    }
}

extension AggregateStore {
    fileprivate func standing() throws(StoreError) -> StoreStanding {
        let origin = try origin()
        return StoreStanding(
            store: path, topic: origin.topic, logIdentity: origin.logIdentity,
            partitionCount: origin.partitionCount)
    }
}
