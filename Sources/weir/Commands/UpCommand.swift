import ArgumentParser
import Collector
import ConfigurationValues
import Dashboard
import Deliveries
import Engine
import EventLog
import Foundation
import Logging
import Monitoring
import Program
import Streams

struct UpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Runs collector, workers and delivery in one process on one machine.",
        discussion: """
            Use it to try Weir, and for a load that one machine can carry. If the collector answers 2xx, the \
            record is in the log. The workers fold it within a second, and delivery sends the documents for \
            partners. The services are the programs of the same names; run them separately when one machine is \
            too small.

            If a service fails, it reports the error and restarts; the other services continue. If its file was \
            moved away, it restarts only with weir up. /readyz reports whether the collector accepts records, \
            and names failed services.

            Keys, partners and the names of the catalog are reloaded when their files change, or at SIGHUP. \
            Settings of folds take effect after a restart; a log line reports such a change. After SIGTERM or \
            SIGINT, weir up accepts no more records, folds the accepted ones, and ends.

              weir up --listen 127.0.0.1:8080
              curl --json @postback.json http://127.0.0.1:8080/v1/postbacks/skadnetwork
              weir dump postbacks
            """)

    @Option(
        help: ArgumentHelp(
            "The address of the collector (WEIR_LISTEN; default: 127.0.0.1:8080).",
            valueName: "host:port"))
    var listen: String?
    @Option(
        help: ArgumentHelp(
            "The directory of the log and the stores, created if missing (WEIR_DATA; default: data).",
            valueName: "dir"))
    var data: String?
    @Option(
        help: ArgumentHelp(
            "The event log: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT] (WEIR_LOG; default: sqlite:DATA/log.sqlite).",
            valueName: "address"))
    var log: String?
    @Option(
        help: ArgumentHelp(
            "An extra address for /metrics of all services (WEIR_METRICS; default: off).",
            valueName: "host:port"))
    var metrics: String?
    @Option(
        help: ArgumentHelp(
            "The address of the dashboard, or off (WEIR_DASHBOARD; default: \(DashboardCommand.defaultAddress)).",
            discussion: "The pages are those of weir dashboard.", valueName: "host:port"))
    var dashboard: String?
    @OptionGroup var proxies: TrustedProxyOptions
    @Option(
        help: ArgumentHelp(
            "How often to delete records past their topic's retention; 0: never (WEIR_TRIM_SECONDS; default: \(UpTrim.defaultSeconds)).",
            discussion:
                "Like weir log trim, it keeps records that a store, a delivery or a replay still needs.",
            valueName: "seconds"))
    var trimSeconds: Int?
    @Option(
        help: ArgumentHelp(
            "Partitions that each worker folds at the same time, 1 to 64 (WEIR_LANES; default: one for each core).",
            valueName: "count"))
    var lanes: Int?
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var topics: TopicsOptions
    @OptionGroup var access: FileAccessOptions

    /// The workers in the order of `allStreams`; delivery comes last.
    ///
    /// - Parameter registry: for the metrics of all; nil if no metrics are served.
    private static func workers(
        lanes: Int, registry: MetricRegistry?, _ options: @escaping @Sendable () -> WorkerOptions
    ) -> [Services.Work] {
        let metrics = registry.map { LabelledMetrics($0, worker: "partner-postbacks") }
        return allStreams.map { worker(of: $0, lanes: lanes, registry: registry, options) }
            + [
                (
                    PartnerPostbacksWorker.programName,
                    { @Sendable in
                        try PartnerPostbacksWorker.work(options(), stop: $0, sharing: metrics)
                    }
                )
            ]
    }

    private static func worker<Fold: StreamFold>(
        of stream: Fold.Type, lanes: Int, registry: MetricRegistry?,
        _ options: @escaping @Sendable () -> WorkerOptions
    ) -> Services.Work {
        let metrics = registry.map { LabelledMetrics($0, worker: Fold.streamName) }
        return (
            Fold.programName,
            { try Fold.work(options(), lanes: lanes, stop: $0, sharing: metrics) }
        )
    }

    func run() throws {
        StopSignal.listen()
        ReloadSignal.listen()
        // The notices of every worker would hide the important lines.
        LoggingSystem.bootstrap { ConsoleLogHandler(label: $0, level: .notice) }
        let environment = Environment()
        let directories = environment.dataDirectories(data.map { [$0] } ?? [])
        guard let directory = directories.first, directories.count == 1 else {
            throw CommandError.usage("WEIR_DATA lists several directories: give --data")
        }
        let address = try LogAddress(environment.log(log, dataDirectories: directories))
        let place = pipelines.place(data: directories)
        place.warn(Logger(label: "up"))
        let pipelines = PipelineDirectory(place.path)
        var collector = CollectorOptions(
            listen: listen, log: address, data: directory, pipelines: place.path,
            metrics: metrics)
        try collector.validate()
        let lanes = try environment.laneCount(lanes)
        let trimming = try trimming(of: address, directory: directory, pipelines)
        try checkConfiguration(pipelines, address)
        try createTopics(pipelines, at: address, dataDirectory: directory)

        let services = Services(directory: directory, log: address, pipelines: pipelines)
        defer { services.stop() }
        let trusted = try proxies.ranges()
        let pages = try servePages(
            of: directory, log: address, pipelines: place.path, trusted: trusted
        ) {
            services.failures
        }
        defer { pages.server?.stop() }
        let summary = UpSummary(
            directory: directory, log: address, pipelines: pipelines, services: services)
        defer { summary.end() }
        let registry = MetricRegistry(
            CollectorProgram.metricDescriptions + WorkerMetrics.descriptions
                + DeliveryMetrics.descriptions)
        do {
            try CollectorProgram.work(
                collector, stop: .ofProcess,
                services: HostedServices(sharing: registry, states: { services.states }),
                listening: { listening, metrics in
                    summary.begin(
                        listeningAt: listening, pagesAt: pages.server?.address, metricsAt: metrics)
                    if let fault = pages.fault { Console.write("up: \(fault)") }
                    let workers = Self.workers(
                        lanes: lanes, registry: metrics == nil ? nil : registry
                    ) {
                        WorkerOptions(
                            log: address, data: directory, pipelines: place.path,
                            untilEnd: false)
                    }
                    services.start(workers + trimming)
                })
        } catch let error as CollectorError {
            throw CommandError.failure(error.description)
        }
        services.catchUp()
        services.stop()
        guard let failed = services.failures.first else { return }
        throw CommandError.failure("\(failed.name) failed: \(failed.fault)")
    }

    /// The dashboard; nil when it is turned off. If it is only on by default, a failure to start is returned and does
    /// not end the program.
    private func servePages(
        of directory: String, log: LogAddress, pipelines: String, trusted: [AddressRange]?,
        failures: @escaping @Sendable () -> [ServiceFailure]
    ) throws -> (server: DashboardServer?, fault: String?) {
        guard let listen = try DashboardCommand.address(dashboard, option: "--dashboard") else {
            return (nil, nil)
        }
        let options = try DashboardCommand.parse([
            "--data", directory, "--log", log.description, "--pipelines", pipelines,
        ])
        do {
            let server = try DashboardCommand.server(
                at: listen, options.installation, trusted: trusted, failures: failures)
            return (server, nil)
        } catch CommandError.failure(let fault)
            where dashboard == nil && Environment()["WEIR_DASHBOARD"] == nil
        {
            return (nil, fault)
        }
    }

    /// The service that trims the log; empty on a cluster, or when it is turned off.
    private func trimming(
        of address: LogAddress, directory: String, _ pipelines: PipelineDirectory
    ) throws -> [Services.Work] {
        let seconds = try trimSeconds ?? Environment().count("WEIR_TRIM_SECONDS")
        if let seconds, seconds < 0 {
            throw CommandError.usage("--trim-seconds is \(seconds): write 0 or more")
        }
        let trim = seconds ?? UpTrim.defaultSeconds
        guard case .sqlite(let path) = address, trim > 0 else { return [] }
        let archivePath = try Environment().archivePath(nil)
        return [
            (
                "log trim",
                { [topics] stop in
                    UpTrim(
                        path: path, directory: directory, pipelines: pipelines,
                        topics: topics.directory, archivePath: archivePath, seconds: trim
                    ).work(until: stop)
                }
            )
        ]
    }

    /// Reads every file before anything starts, because errors there are permanent.
    private func checkConfiguration(
        _ pipelines: PipelineDirectory, _ address: LogAddress
    ) throws {
        var report = CheckReport()
        report.checkServices(
            pipelines, topics.directory(pipelines), log: address)
        let faults = report.findings.compactMap {
            if case .wrong(let explanation) = $0 { explanation } else { nil }
        }
        guard let first = faults.first else { return }
        let more = faults.count > 1 ? " (and \(faults.count - 1) more: see weir check)" : ""
        throw CommandError.failure("\(first)\(more)")
    }

    private func createTopics(
        _ pipelines: PipelineDirectory, at address: LogAddress, dataDirectory: String
    ) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: dataDirectory, withIntermediateDirectories: true)
        } catch {
            throw CommandError.failure(
                "\(dataDirectory) cannot be created: \(error.localizedDescription) Give --data another directory"
            )
        }
        let log = try pipelines.openLog(address, .create)
        for topic in try topics.directory(pipelines).topics() { try log.create(topic) }
    }
}
