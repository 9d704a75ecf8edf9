import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import ConversionValues
import CoreMetrics
import EmbeddedLog
import EventLog
import Foundation
import Logging
import Monitoring
import Program
import Streams

package struct CollectorProgram: CommandLineProgram {
    package static let programName = "weir-collector"
    package static let configuration = CommandConfiguration(
        commandName: programName,
        abstract:
            "Receives postbacks, notifications and events over HTTP, and appends them to the log.",
        discussion: """
            An answer of 2xx means that the records are durable in the log. docs/openapi/collector.yaml \
            describes the requests, collector.yaml sets limits and keys. The collector reloads the keys when the \
            file changes, or at SIGHUP. At SIGTERM, it finishes the running requests and ends.
            """,
        version: WeirVersion.current)

    /// The interval of the check of the stop signal.
    private static let pollSeconds = 0.1
    /// The time that the end waits for a log that hangs, and the time before the end when waiting requests are
    /// answered.
    private static let stopSeconds = 0.5

    @OptionGroup var options: CollectorOptions

    package init() {}

    package func run() throws {
        options.pipelinesPlace.warn(Logger(label: Self.programName))
        try Self.work(options, stop: .ofProcess)
    }

    /// The metrics that the collector serves.
    package static let metricDescriptions =
        CollectorMetrics.descriptions + ServiceMetrics.descriptions + WriteAheadMetrics.descriptions
        + ProcessMetrics.descriptions

    /// Runs until a stop is requested.
    ///
    /// - Parameters:
    ///   - services: the other services of the process, for `/readyz` and the metrics; nil for none.
    ///   - listening: called once, with the address that accepts connections, and that of the metrics.
    package static func work(
        _ options: CollectorOptions, stop: StopSignal,
        services: HostedServices? = nil,
        listening: (ListenAddress, _ metrics: ListenAddress?) -> Void = { _, _ in }
    ) throws {
        let pipelines = PipelineDirectory(options.pipelinesDirectory)
        let logger = Logger(label: programName)
        let configuration = try CollectorConfiguration(pipelines, listen: options.listenAddress)
        let (settings, apps) = (configuration.settings, configuration.apps)
        let log = try pipelines.openLog(options.address, .create, logger: logger)
        try CollectorTopics.createMissing(in: log, logger: logger)
        let registry = services?.registry ?? MetricRegistry(metricDescriptions)
        let states: @Sendable () -> [ServiceState] = { services?.states() ?? [] }
        let metrics: any MetricsFactory =
            if let services {
                LabelledMetrics(services.registry, worker: "collector")
            } else {
                registry
            }
        let conversions = try conversions(options, settings, apps, pipelines, logger)
        // By then every waiting request was answered.
        defer { conversions?.stop(withinSeconds: stopSeconds) }
        let routes = ConversionRoutes(service: conversions, apps: apps).routes
        let collector = try Collector(
            settings, log: log, metrics: metrics, logger: logger,
            fault: { conversions?.unreadiness }, services: states, more: routes)
        defer {
            let drain = Double(settings.limits.drainSeconds)
            conversions?.endWaits(inSeconds: max(drain - 2 * stopSeconds, 0))
            collector.stop()
        }
        let health = Health(waitMilliseconds: Int(pollSeconds * 1000))
        let endpoint = try metricsEndpoint(options, of: collector, states, registry, health, logger)
        defer { endpoint?.stop() }
        var keys = FollowedKeys(
            pipelines, from: configuration.pipeline, logger: logger, use: { collector.use($0) })
        logger.info("listening", metadata: ["address": "\(collector.address)"])
        listening(collector.address, endpoint?.address)
        while !stop.isRequested {
            health.beat()
            keys.look()
            // Monitoring also reports failed services as unready; load balancers do not use this endpoint.
            health.setReady(
                unless: collector.unreadiness ?? ServiceState.explanation(ofFailed: states()))
            Thread.sleep(forTimeInterval: pollSeconds)
        }
        logger.info("stopping")
    }

    /// The service of conversion values, with its own log; nil if no app has a model.
    private static func conversions(
        _ options: CollectorOptions, _ settings: CollectorSettings, _ apps: ConversionApps,
        _ pipelines: PipelineDirectory, _ logger: Logger
    ) throws -> ConversionService? {
        guard apps.hasModels else { return nil }
        return try ConversionService(
            log: pipelines.openLog(options.address, .existing, logger: logger),
            storePath: "\(options.dataDirectory)/conversions.sqlite", apps: apps,
            deadlineSeconds: Double(settings.limits.append.deadlineSeconds),
            warn: { logger.warning("\($0)") })
    }

    private static func metricsEndpoint(
        _ options: CollectorOptions, of collector: Collector,
        _ states: @escaping @Sendable () -> [ServiceState], _ registry: MetricRegistry,
        _ health: Health, _ logger: Logger
    ) throws -> MonitoringEndpoint? {
        guard let address = try options.metricsAddress else { return nil }
        let process = ProcessMetrics(factory: registry)
        let services = ServiceMetrics(factory: registry)
        let writeAhead = WriteAheadMetrics(
            factory: registry, directory: options.dataDirectory, log: try options.address.path)
        let endpoint = try MonitoringEndpoint(
            at: address, registry: registry, health: health, logger: logger,
            update: {
                process.update()
                collector.updateMetrics()
                services.update(states())
                writeAhead.update()
            })
        logger.info("serving metrics", metadata: ["url": "http://\(endpoint.address)/metrics"])
        return endpoint
    }
}

package enum CollectorTopics {
    /// As in the shipped `topics/`.
    private static let partitionCount: Int32 = 4

    /// Creates the topics that an embedded log lacks. Those of Kafka belong to the operator (`weir topics apply`): a
    /// missing one is logged, and records for it get a 503.
    package static func createMissing(in log: any LogBackend, logger: Logger) throws(LogError) {
        let existing = try log.topics().map(\.name)
        for topic in names where !existing.contains(topic) {
            if log is EmbeddedLog {
                try log.createTopic(topic, partitionCount: partitionCount)
            } else {
                logger.warning("the log has no topic '\(topic)': create it with weir topics apply")
            }
        }
    }

    /// These names are fixed, although workers may be configured to read other topics.
    static let names = allStreams.map { $0.streamName }
}
