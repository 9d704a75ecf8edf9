import ArgumentParser
import Collector
import EventLog
import Foundation
import Logging
import PartnerPostbacks
import Pipelines
import Worker

/// `weir up`
struct UpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Runs collector, workers and delivery in one process, on this machine's own log.",
        discussion: """
            For trying Weir out, and for as much as one machine takes. What the collector answers with 2xx \
            is in the log; the workers fold it within a second, and what is for partners is delivered. \
            The parts are the programs of the same names: run them one by one once one machine is too \
            small. A part that fails says why, the others go on, and /readyz tells of it. It ends with \
            SIGTERM or SIGINT, everything that was folded committed.

              weir up --listen 127.0.0.1:8080
              curl --json @postback.json http://127.0.0.1:8080/v1/postbacks/skadnetwork
              weir dump postbacks
            """)

    @Option(
        help: ArgumentHelp(
            "Where the collector listens (WEIR_LISTEN; default: 127.0.0.1:8080).",
            valueName: "host:port"))
    var listen: String?
    @Option(
        help: ArgumentHelp(
            "Where log and stores live (WEIR_DATA; default: data). Made when it is not there.",
            valueName: "dir"))
    var data: String?
    @Option(
        help: ArgumentHelp(
            "The event log: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT] (WEIR_LOG; default: sqlite:DATA/log.sqlite).",
            valueName: "address"))
    var log: String?
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var topics: TopicsOptions

    /// The workers, in the order in which a day goes; delivery comes last.
    private static let workers: [(name: String, work: @Sendable (WorkerOptions) throws -> Void)] = [
        (BidsWorker.programName, { try BidsWorker.work($0, stop: .ofProcess) }),
        (ImpressionsWorker.programName, { try ImpressionsWorker.work($0, stop: .ofProcess) }),
        (OverlayClicksWorker.programName, { try OverlayClicksWorker.work($0, stop: .ofProcess) }),
        (PostbacksWorker.programName, { try PostbacksWorker.work($0, stop: .ofProcess) }),
        (
            StoreNotificationsWorker.programName,
            { try StoreNotificationsWorker.work($0, stop: .ofProcess) }
        ),
        (
            ConversionUpdatesWorker.programName,
            { try ConversionUpdatesWorker.work($0, stop: .ofProcess) }
        ),
        (
            PartnerPostbacksWorker.programName,
            { try PartnerPostbacksWorker.work($0, stop: .ofProcess) }
        ),
    ]

    func run() throws {
        StopSignal.listen()
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            // What each worker does by itself would hide what matters here.
            handler.logLevel = .warning
            return handler
        }
        let environment = Environment()
        let directory = data ?? environment.dataDirectories([])[0]
        let address = try LogAddress(environment.log(log, dataDirectories: [directory]))
        try checkConfiguration()
        try createTopics(at: address, dataDirectory: directory)

        let configuration = pipelines.directory.path
        let components = Self.workers.map { worker in
            Component(worker.name) {
                try worker.work(
                    WorkerOptions(
                        log: address, data: directory, pipelines: configuration, untilEnd: false))
            }
        }
        defer {
            StopSignal.ofProcess.request()
            for component in components { component.join() }
        }
        let summary = UpSummary(directory: directory, log: address, components: components)
        defer { summary.end() }
        try CollectorProgram.work(
            CollectorOptions(
                listen: listen, log: address, data: directory,
                pipelines: configuration),
            stop: .ofProcess, fault: { components.lazy.compactMap(\.fault).first },
            listening: { summary.begin(listeningAt: $0) })
        if let failed = components.first(where: { $0.fault != nil }), let fault = failed.fault {
            throw CommandError.failure("\(failed.name) failed: \(fault)")
        }
    }

    /// Every file is read before anything starts: what is wrong there is wrong for good.
    private func checkConfiguration() throws {
        let faults = pipelines.directory.check()
        guard let first = faults.first else { return }
        let more = faults.count > 1 ? " (and \(faults.count - 1) more: weir check)" : ""
        throw CommandError.failure("\(first)\(more)")
    }

    private func createTopics(at address: LogAddress, dataDirectory: String) throws {
        try FileManager.default.createDirectory(
            atPath: dataDirectory, withIntermediateDirectories: true)
        let log = try LogOptions.open(address, .create)
        for topic in try topics.directory.topics() {
            try log.createTopic(
                topic.name, partitionCount: topic.partitionCount, settings: topic.creationSettings)
        }
    }
}
