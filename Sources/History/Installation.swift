import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import EventLog
import KafkaLog
import Logging
import Program
import Reports
import Store

/// The inputs of commands and pages: the places of stores, log and configuration, and the present time.
package struct Installation: Sendable {
    /// The directories of stores.
    package let directories: [String]
    /// The address of the log, as given.
    private let log: String
    /// The archive to read first, as given; nil for the environment's archive.
    private let archive: String?
    package let configuration: ReportConfiguration
    /// The time given instead of the clock's, as written; nil for the clock.
    package let givenTime: String?
    private let readPresent: @Sendable () throws -> Present

    /// - Parameter present: the clock's time, unless another one is given.
    package init(
        directories: [String], log: String, archive: String?, configuration: ReportConfiguration,
        givenTime: String?, present: @escaping @Sendable () throws -> Present
    ) {
        self.directories = directories
        self.log = log
        self.archive = archive
        self.configuration = configuration
        self.givenTime = givenTime
        readPresent = present
    }

    package var pipelines: PipelineDirectory { configuration.directory }

    package var present: Present {
        get throws { try readPresent() }
    }

    /// The stores, read at the present.
    package func stores() throws -> OpenStores { try stores(present) }

    /// - Parameter present: the clock's time, if reports end at it.
    package func stores(_ present: Present?) throws -> OpenStores {
        try OpenStores(directories: directories, present: present)
    }

    /// The existing stores of deliveries.
    package func deliveryStores() throws -> [DeliveryStore] {
        try directories.compactMap { try DeliveryStore.existing(in: $0) }
    }

    /// Whether the log is a file of this machine, which answers at once.
    package var isLogLocal: Bool {
        if case .sqlite? = try? LogAddress(log) { true } else { false }
    }

    /// Opens the existing log.
    package func openLog() throws -> any LogBackend {
        try pipelines.openLog(LogAddress(log), .existing)
    }

    /// Explains numbers of the stores by the records of the log.
    package func explainer() throws -> Explainer {
        let log = try openLog()
        let path = try archivePath
        return Explainer(
            stores: try stores(),
            openReader: { try Self.reader(of: $0, in: log, archivePath: path) },
            address: log.address, rules: .pipelines(pipelines))
    }

    /// Reads a topic, from the archive first.
    package func reader(of topic: String) throws -> any LogReader {
        try Self.reader(of: topic, in: openLog(), archivePath: archivePath)
    }

    /// Reports the part of an hour that was appended by an instant. The log is opened on first use.
    package func hours() throws -> FoldedHours {
        let path = try archivePath
        return FoldedHours(
            openReader: { try Self.reader(of: $0, in: openLog(), archivePath: path) },
            address: LogAddress.masked(log), rules: .pipelines(pipelines))
    }

    /// The records of decoded postbacks. The log is opened on first use.
    package func loggedPostbacks() throws -> LoggedPostbacks {
        let path = try archivePath
        return LoggedPostbacks(
            openReader: { try Self.reader(of: $0, in: openLog(), archivePath: path) },
            address: LogAddress.masked(log), rules: .pipelines(pipelines))
    }

    private static func reader(
        of topic: String, in log: any LogBackend, archivePath path: String?
    ) throws -> any LogReader {
        let reader = try log.reader(topic: topic)
        guard let path else { return reader }
        return try ArchivedLogReader(path: path, before: reader)
    }

    private var archivePath: String? {
        get throws { try Environment().archivePath(archive) }
    }
}

extension PipelineDirectory {
    /// Opens a log for commands and pages: a cluster as configured in `kafka.yaml`, if there is a configuration.
    package func openLog(
        _ address: LogAddress, _ mode: EmbeddedLog.Mode
    ) throws -> any LogBackend {
        var logger = Logger(label: "weir")
        logger.logLevel = .warning
        return try address.open(mode, logger: logger) { brokers in
            let kafka = exists ? try kafka() : KafkaFile()
            return try KafkaSettings(
                brokers: brokers, written: kafka.settings, locations: kafka.locations,
                memoryBytes: kafka.memoryMebibytes << 20)
        }
    }
}
