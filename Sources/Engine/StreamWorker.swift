import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import EventLog
import Foundation
import Logging
import Monitoring
import Program
import Store
import Streams

/// The worker of a stream as a program: options in, exit code out.
///
///     @main
///     enum WeirBids {
///         static func main() { StreamWorker<BidsFold>.start() }
///     }
package struct StreamWorker<Fold: StreamFold>: CommandLineProgram {
    package static var programName: String { Fold.programName }

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: programName, abstract: Fold.help.abstract,
            discussion: Fold.help.discussion, version: WeirVersion.current)
    }

    @OptionGroup package var options: WorkerOptions

    @Option(
        help: ArgumentHelp(
            "The number of partitions to fold at the same time, 1 to 64. Default: one per core. [WEIR_LANES]",
            valueName: "count"))
    var lanes: Int?

    package init() {}

    package func validate() throws {
        do {
            _ = try Environment().laneCount(lanes)
        } catch let error as UsageError {
            throw ValidationError("\(error)")
        }
    }

    package func run() throws {
        options.pipelinesPlace.warn(Logger(label: Self.programName))
        try Fold.work(options, lanes: lanes, stop: .ofProcess)
    }
}

extension StreamFold {
    /// Runs the worker with these options. While a set of stores is promoted, it releases its store, and then
    /// continues with the one in force.
    ///
    /// - Parameters:
    ///   - lanes: as for `Environment.laneCount`.
    ///   - shared: the metrics of the program that runs this worker as a service.
    package static func work(
        _ options: WorkerOptions, lanes: Int? = nil, stop: StopSignal,
        sharing shared: LabelledMetrics? = nil
    ) throws {
        var monitor: WorkerMonitor?
        defer { monitor?.stop() }
        while waitForPromotion(options, stop: stop, metrics: monitor?.metrics) {
            let directory = try sets(options).directory(of: streamName)
            do {
                let end = try workOnce(
                    options, lanes: lanes, in: directory, stop: stop, sharing: shared,
                    monitor: &monitor)
                guard end == .interrupted else { return }
            } catch let error as StoreError {
                // A promotion that was not visible yet may have locked the store, or has just ended.
                guard case .locked = error else { throw error }
                if let refusal = PromotionRequest.refusal(in: options.dataDirectory) {
                    throw refusal
                }
                let isHeld = PromotionRequest.isHeld(in: options.dataDirectory)
                guard try isHeld || sets(options).directory(of: streamName) != directory
                else { throw error }
            }
        }
    }

    /// The stores in force. The stream's own exists, or was never begun.
    private static func sets(_ options: WorkerOptions) throws -> PromotionJournal {
        let sets = try PromotionJournal(settledIn: options.dataDirectory)
        _ = try sets.presentPath(of: streamName)
        return sets
    }

    /// Waits until no promotion is running; false if a stop was requested first.
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
                Logger(label: programName).notice("a promotion is running: waiting until it ends")
            }
            metrics?.wait(for: "a promotion is running")
            usleep(20_000)
        }
        return true
    }

    private static func workOnce(
        _ options: WorkerOptions, lanes: Int?, in directory: String, stop: StopSignal,
        sharing shared: LabelledMetrics?, monitor: inout WorkerMonitor?
    ) throws -> WorkerEnd {
        let pipelines = PipelineDirectory(options.pipelinesDirectory)
        let configuration = try readConfiguration(pipelines)
        let stream = configuration.stream
        let logger = Logger(label: programName)
        let log = try stream.openLog(
            try options.address, pipelines: pipelines, memberName: options.memberName,
            logger: logger)
        let reader = try openReader(of: stream, in: log, options)
        defer { reader.close() }
        let worker = try makeWorker(
            options, configuration, lanes: Environment().laneCount(lanes), in: directory, log: log,
            reader: reader, stop: stop, logger: logger
        ) { settings in
            if monitor == nil {
                monitor = try options.monitor(
                    WorkerMetrics.descriptions, sharing: shared,
                    waitMilliseconds: settings.commitIntervalMilliseconds, logger: logger
                ).map { WorkerMonitor($0, topic: stream.topic, group: settings.group) }
            }
            return monitor?.metrics
        }
        return try worker?.run() ?? .interrupted
    }

    /// Opens the store in force, and its worker; nil if another store has come into force, or a promotion is running.
    ///
    /// - Parameters:
    ///   - directory: of the store, which is in force in the options' data directory.
    ///   - reader: of the log's topic; closed by the caller.
    ///   - metrics: called with the settings, once the worker can start.
    package static func makeWorker(
        _ options: WorkerOptions, _ configuration: WorkerConfiguration<Rules>, lanes: Int,
        in directory: String, log: any LogBackend, reader: any LogReader, stop: StopSignal,
        logger: Logger, snapshotPacing: SnapshotPacing = SnapshotPacing(),
        metrics: (WorkerSettings) throws -> WorkerMetrics? = { _ in nil }
    ) throws -> Worker<Self>? {
        let pipelines = PipelineDirectory(options.pipelinesDirectory)
        let (stream, rules) = (configuration.stream, configuration.rules)
        let partitionCount = try reader.partitionCount()
        let assignment = try options.assignment
        if case .partitions(let wanted) = assignment,
            let unknown = wanted.first(where: { $0 >= partitionCount })
        {
            throw WorkerError.changed(.unknownPartition(unknown, topic: stream.topic))
        }
        let store = try AggregateStore(
            path: "\(directory)/\(streamName).sqlite", fold: Self.self,
            topic: stream.topic, logIdentity: try reader.identity(),
            partitionCount: partitionCount)
        // While the store is locked, no other can replace it. Until then one may have done so, or be about to: a
        // promotion releases the lock while it publishes the rest.
        let sets = try sets(options)
        let isPromoting =
            PromotionRequest.isMade(in: options.dataDirectory)
            && PromotionRequest.isHeld(in: options.dataDirectory)
        guard sets.directory(of: streamName) == directory, !isPromoting else { return nil }
        let accepted = try options.acceptedPartitionCount
        if let refusal = try store.foldedLog().refusal(of: reader, accepting: accepted) {
            throw WorkerError.changed(refusal)
        }
        // Also checks partitions that are assigned later or to no worker now, before anything is written.
        let (refusal, unknown) = try store.snapshot {
            (
                try rules.configuration.refusal(of: $0, store: store.path),
                try $0.unknownMeasures().filter { $0.knownFrom == nil }
            )
        }
        if let refusal { throw refusal }
        if !store.changedInPlace.isEmpty {
            logger.notice(
                "\(store.path) was changed in place: added \(store.changedInPlace.joined(separator: ", "))"
            )
        }
        if !unknown.isEmpty {
            logger.warning("\(UnknownMeasure.explanation(unknown, store: store.path))")
        }
        if try store.origin().partitionCount != partitionCount {
            try store.setPartitionCount(partitionCount)
        }
        let folds = try makeLanes(
            lanes, rules, topic: stream.topic, partitionCount: partitionCount, memory: store,
            threadCount: ProcessInfo.processInfo.activeProcessorCount)
        var settings = WorkerSettings(
            stream, assignment: assignment, partitionCount: partitionCount)
        settings.name = programName
        settings.untilEnd = try options.stopsAtEnd
        settings.showsProgress = options.showsProgress
        settings.requiresAllRecords = try !options.acceptsMissingRecords
        let metrics = try metrics(settings)
        let isInterrupted = { PromotionRequest.isMade(in: options.dataDirectory) }
        let patience = BrokerPatience(
            seconds: stream.brokerPatienceSeconds,
            isStopped: { stop.isRequested || isInterrupted() }, logger: logger
        ) { reason, seconds in
            guard let reason else { return metrics?.goOn() ?? () }
            metrics?.wait(for: reason)
            metrics?.setBrokerWait(seconds)
        }
        let isArchive = try log.topics().contains { $0.name == stream.topic && $0.isArchive }
        let emitter = Emitter(
            store: store, log: log, topic: stream.topic,
            deadLetters: .deadLetters(ofTopic: stream.topic, stream: Self.self),
            partitionCount: partitionCount,
            catalog: configuration.catalog, partnerTopic: emits ? configuration.partnerTopic : nil,
            corrections: emits ? try CorrectionStore(of: streamName, in: sets) : nil,
            patience: EmissionPatience(
                address: log.address, stop: stop, logger: logger, metrics: metrics))
        let isStandby = try options.isStandby
        guard !isStandby || stream.snapshots != nil else {
            throw UsageError(
                "--standby copies snapshots of other workers: add the key snapshots to pipelines/\(streamName).yaml"
            )
        }
        metrics?.isStandby = isStandby
        let snapshots = stream.snapshots.map {
            WorkerSnapshots(
                root: $0, group: stream.group, store: store, logger: logger, metrics: metrics,
                pacing: snapshotPacing,
                isStandby: isStandby, openReader: { try log.lookingReader(topic: stream.topic) })
        }
        return Worker(
            lanes: folds,
            others: try makeOtherLanes(folds, rules, topic: stream.topic, memory: store),
            store: store, reader: reader, emitter: isArchive ? nil : emitter,
            settings: settings,
            configuration: rules.configuration, stop: stop, logger: logger,
            metrics: metrics,
            configurationFiles: FollowedConfiguration(
                pipelines, hash: rules.configuration.hash, logger: logger,
                rulesNow: {
                    let present = try presentRules(in: pipelines)
                    return (present.configuration.hash, present.differences(from: rules))
                },
                use: emits ? { emitter.catalog = $0 } : nil),
            interruption: isInterrupted, patience: patience,
            openReader: { try log.lookingReader(topic: stream.topic) },
            snapshots: isArchive ? nil : snapshots,
            promotions: emits ? sets.times(of: streamName) : [])
    }

    /// The log's reader, after the archive's if there is one.
    private static func openReader(
        of stream: StreamSettings, in log: any LogBackend, _ options: WorkerOptions
    ) throws -> any LogReader {
        let reader = try log.reader(topic: stream.topic, group: stream.group)
        guard let path = try options.archivePath else { return reader }
        return try ArchivedLogReader(path: path, before: reader)
    }
}

extension AggregateStore {
    func foldedLog() throws(StoreError) -> FoldedLog {
        let origin = try origin()
        return FoldedLog(
            store: path, topic: origin.topic, logIdentity: origin.logIdentity,
            partitionCount: origin.partitionCount)
    }
}

// MARK: Configuration

/// The configuration that a worker reads at its start.
package struct WorkerConfiguration<Rules: StreamRules> {
    package let stream: StreamSettings
    let catalog: Catalog
    /// The topic of documents for partners.
    let partnerTopic: EmittedTopic
    let rules: Rules
}

extension StreamFold {
    /// Reads the configuration. Throws its fault with the line.
    package static func readConfiguration(
        _ pipelines: PipelineDirectory
    ) throws -> WorkerConfiguration<Rules> {
        try pipelines.requireKnownFiles()
        return WorkerConfiguration(
            stream: try file(in: pipelines).settings, catalog: try pipelines.catalog(),
            partnerTopic: .partnerPostbacks(named: try pipelines.partnerPostbacksTopic()),
            rules: try rules(in: pipelines))
    }

    /// Reads the rules for a worker, which rejects files with unknown names.
    fileprivate static func presentRules(in pipelines: PipelineDirectory) throws -> Rules {
        try pipelines.requireKnownFiles()
        return try rules(in: pipelines)
    }

    /// Reads the configuration that the worker reads at its start. Throws any fault that prevents the start.
    ///
    /// - Parameter address: of the log that it would read. The settings of a cluster are read too, without contacting
    ///   it.
    package static func checkConfiguration(
        _ pipelines: PipelineDirectory, log address: LogAddress?
    ) throws {
        let stream = try readConfiguration(pipelines).stream
        try stream.checkSettings(of: address, pipelines: pipelines)
    }
}
