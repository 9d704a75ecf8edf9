public import ArgumentParser
import EventLog
import Foundation
import KafkaLog
import Logging
import Monitoring
import Pipelines
public import Worker

/// The collector as a program: `weir-collector`.
public struct CollectorProgram: CommandLineProgram {
    /// Name of the program.
    public static let programName = "weir-collector"
    /// What the command line says of it.
    public static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Takes in postbacks, notifications and events by HTTP, and puts them in the log.",
        discussion: """
            Each answer of 2xx means that the log has it durably. What it takes stands in \
            docs/openapi/collector.yaml, its limits and keys in collector.yaml. It ends with SIGTERM, \
            after the requests that have begun.
            """)

    /// How often it looks whether it is to stop.
    private static let pollSeconds = 0.1

    @OptionGroup var options: CollectorOptions

    /// A program without options.
    public init() {}

    /// Runs until it is asked to stop.
    public func run() throws {
        let pipelines = PipelineDirectory(options.pipelinesDirectory)
        let logger = Logger(label: Self.programName)
        let settings = try CollectorSettings(
            pipelines.collector(), listen: options.listenAddress)
        let log = try options.address.open(.create, logger: logger) { brokers in
            let kafka = try pipelines.kafka()
            return try KafkaSettings(
                brokers: brokers, written: kafka.settings,
                memoryBytes: kafka.memoryMebibytes << 20, memberName: nil)
        }
        try CollectorTopics.createMissing(in: log, logger: logger)
        let registry = MetricRegistry(CollectorMetrics.descriptions + ProcessMetrics.descriptions)
        let collector = try Collector(settings, log: log, registry: registry, logger: logger)
        defer { collector.stop() }
        let health = Health(waitMilliseconds: Int(Self.pollSeconds * 1000))
        let endpoint = try metricsEndpoint(of: collector, registry, health, logger)
        defer { endpoint?.stop() }
        logger.notice("listening", metadata: ["address": "\(collector.address)"])
        while !StopSignal.ofProcess.isRequested {
            health.turn()
            health.setReady(unless: collector.appender.unreadiness)
            Thread.sleep(forTimeInterval: Self.pollSeconds)
        }
        logger.notice("stopping")
    }

    private func metricsEndpoint(
        of collector: Collector, _ registry: MetricRegistry, _ health: Health, _ logger: Logger
    ) throws -> MonitoringEndpoint? {
        guard let address = try options.metricsAddress else { return nil }
        let process = ProcessMetrics(factory: registry)
        let endpoint = try MonitoringEndpoint(
            at: address, registry: registry, health: health, logger: logger,
            update: {
                process.update()
                collector.updateMetrics()
            })
        logger.notice(
            "serving metrics", metadata: ["url": "http://\(endpoint.address)/metrics"])
        return endpoint
    }
}
