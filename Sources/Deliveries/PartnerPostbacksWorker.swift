import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import HTTPClient
import JSON
import KafkaLog
import Logging
import Monitoring
import Program
import Store
import Streams

/// `weir-partner-postbacks`: delivers the topic `partner-postbacks` to partners over HTTP.
///
/// The module contains the path of a document from the log to a partner. `DeliveryLoop` ingests documents from the
/// log into the `DeliveryStore`. The `Dispatcher` sends due ones through an `HTTPSender`, and the result of each
/// attempt returns to the store. `Templates/` turns a document into the request that a partner's file describes.
///
///     // The whole program; `weir up` runs it in a process with the other workers.
///     try PartnerPostbacksWorker.work(options, stop: .ofProcess)
///
///     // The request for one document, with secrets masked and nothing sent (`weir partners preview`).
///     let preview = try PartnerPreview(of: document, for: partner, timestampSeconds: now)
package struct PartnerPostbacksWorker: CommandLineProgram {
    /// Also the name of the consumer group.
    package static let programName = "weir-partner-postbacks"

    package static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Delivers decoded postbacks to partners over HTTP.",
        discussion: """
            Ingests the documents of partner-postbacks into deliveries.sqlite and sends each to its \
            partner as configured in partners/<name>.yaml, at least once, with a stable Idempotency-Key. \
            It retries while the partner is unavailable: \(RetrySchedule.explanation). You can stop it \
            at any time. After a restart it continues where it stopped.

              weir partners preview acme        what would be sent
              weir-partner-postbacks --until-end
              weir deliveries list --state dead
            """,
        version: WeirVersion.current)

    @OptionGroup package var options: WorkerOptions

    package init() {}

    package func run() throws {
        options.pipelinesPlace.warn(Logger(label: Self.programName))
        try Self.work(options, stop: .ofProcess)
    }

    /// - Parameter shared: the metrics of the program that runs this worker as a service.
    package static func work(
        _ options: WorkerOptions, stop: StopSignal, sharing shared: LabelledMetrics? = nil
    ) throws {
        try work(options, stop: stop, clock: SystemClock(), sender: nil, sharing: shared)
    }

    /// Delivers with the caller's clock and sender; a nil sender means HTTP.
    static func work(
        _ options: WorkerOptions, stop: StopSignal, clock: any DeliveryClock,
        sender: (any PartnerSender)?, sharing shared: LabelledMetrics? = nil
    ) throws {
        let configuration = try DeliveryConfiguration(options)
        let stream = configuration.stream
        let logger = Logger(label: programName)
        let log = try stream.openLog(
            options.address, pipelines: configuration.pipelines, memberName: options.memberName,
            logger: logger)
        let reader = try openReader(options, stream, log)
        defer { reader.close() }
        let monitor = try options.monitor(
            DeliveryMetrics.descriptions, sharing: shared,
            waitMilliseconds: stream.commitIntervalMilliseconds, logger: logger)
        let metrics = monitor.map {
            DeliveryMetrics(
                topic: stream.topic, group: stream.group,
                partners: configuration.routes.map(\.name), factory: $0.factory, health: $0.health)
        }
        defer {
            metrics?.end()
            monitor?.stop()
        }
        let http = sender == nil ? HTTPSender(receiverCount: configuration.routes.count) : nil
        defer { http?.stop() }
        guard let sender = sender ?? http else { return }
        try makeLoop(
            options, configuration, log: log, reader: reader, sender: sender, clock: clock,
            stop: stop, metrics: metrics, logger: logger
        ).run()
    }

    /// The loop with the caller's reader and sender, and the system's clock.
    package static func makeLoop(
        _ options: WorkerOptions, _ configuration: DeliveryConfiguration, log: any LogBackend,
        reader: any LogReader, sender: any PartnerSender, stop: StopSignal, logger: Logger
    ) throws -> DeliveryLoop {
        try makeLoop(
            options, configuration, log: log, reader: reader, sender: sender, clock: SystemClock(),
            stop: stop, metrics: nil, logger: logger)
    }

    private static func makeLoop(
        _ options: WorkerOptions, _ configuration: DeliveryConfiguration, log: any LogBackend,
        reader: any LogReader, sender: any PartnerSender, clock: any DeliveryClock,
        stop: StopSignal,
        metrics: DeliveryMetrics?, logger: Logger
    ) throws -> DeliveryLoop {
        let stream = configuration.stream
        let store = try DeliveryStore(
            path: DeliveryStore.path(in: options.dataDirectory), topic: stream.topic,
            logIdentity: try reader.identity())
        if let refusal = try store.foldedLog().refusal(of: reader) {
            throw refusal.ofDocuments
        }
        let configured = ConfiguredPartners(configuration.partners)
        for name in configured.off.sorted() {
            logger.info(
                "a partner is off, because its file has no url: its documents are held",
                metadata: ["partner": "\(name)"])
        }
        let untilEnd = try options.stopsAtEnd
        let dispatcher = Dispatcher(
            store: store, routes: configuration.routes, sender: sender, clock: clock,
            parser: try JSONParser.make(), off: configured.off, attemptsOnce: untilEnd,
            metrics: metrics, logger: logger)
        try dispatcher.begin(isStart: true)
        return DeliveryLoop(
            store: store, reader: reader, dispatcher: dispatcher,
            partners: configured, parser: try JSONParser.make(), clock: clock,
            settings: .init(
                assignment: try options.assignment, untilEnd: untilEnd,
                batchRecords: stream.batchRecords, maxRecordBytes: stream.maxRecordBytes,
                waitMilliseconds: stream.commitIntervalMilliseconds),
            stop: stop, logger: logger, metrics: metrics,
            files: FollowedPartners(
                configuration.pipelines, from: configuration.partners, logger: logger),
            patience: BrokerPatience(
                seconds: stream.brokerPatienceSeconds, isStopped: { stop.isRequested },
                logger: logger, report: { metrics?.wait(for: $0, seconds: $1) }),
            openReader: { try log.lookingReader(topic: stream.topic) })
    }

    private static func openReader(
        _ options: WorkerOptions, _ stream: StreamSettings, _ log: any LogBackend
    ) throws -> any LogReader {
        let reader = try log.reader(topic: stream.topic, group: stream.group)
        let partitionCount = try reader.partitionCount()
        if case .partitions(let wanted) = try options.assignment,
            let unknown = wanted.first(where: { $0 >= partitionCount })
        {
            throw LogChange.unknownPartition(unknown, topic: stream.topic)
        }
        return reader
    }
}

/// The configuration that the program reads at start: its own file, the partners' files and their secrets.
package struct DeliveryConfiguration {
    let pipelines: PipelineDirectory
    package let stream: StreamSettings
    let partners: [Partner]
    let routes: [PartnerRoute]

    package init(_ options: WorkerOptions) throws {
        pipelines = PipelineDirectory(options.pipelinesDirectory)
        try pipelines.requireKnownFiles()
        stream = try pipelines.partnerPostbacks()
        partners = try pipelines.partners()
        routes = try PartnerRoute.routes(to: partners, directory: pipelines.path)
    }
}

extension DeliveryStore {
    package func foldedLog() throws(StoreError) -> FoldedLog {
        let origin = try origin()
        return FoldedLog(store: path, topic: origin.topic, logIdentity: origin.logIdentity)
    }
}

extension PartnerPostbacksWorker {
    /// Reads the configuration for a start, except the partners: see `PartnerCheck`. Throws any fault that prevents
    /// the start.
    ///
    /// - Parameter address: the log that would be read. The settings of a Kafka cluster are read too, without
    ///   contacting it.
    package static func checkConfiguration(
        _ pipelines: PipelineDirectory, log address: LogAddress?
    ) throws {
        try pipelines.partnerPostbacks().checkSettings(of: address, pipelines: pipelines)
    }
}
