import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import EventLog
import KafkaLog
import Logging
import Program
import Reports
import Store

/// What commands and pages read: where stores, log and configuration are, and what time it is.
package struct Installation: Sendable {
    /// The directories of stores.
    package let directories: [String]
    /// The address of the log, as it was given.
    private let log: String
    /// The archive to read first, as it was given; nil for that of the environment.
    private let archive: String?
    package let configuration: ReportConfiguration
    /// The time that was given instead of the clock's, as it was written; nil for the clock.
    package let givenTime: String?
    private let readPresent: @Sendable () throws -> Present

    /// - Parameter present: the time of the clock, unless another one is given.
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

    /// - Parameter present: the time of the clock, where reports end at it.
    package func stores(_ present: Present?) throws -> OpenStores {
        try OpenStores(directories: directories, present: present)
    }

    /// The stores of deliveries that exist.
    package func deliveryStores() throws -> [DeliveryStore] {
        try directories.compactMap { try DeliveryStore.existing(in: $0) }
    }

    /// Opens the log, which exists.
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

    /// Tells how much of an hour had been appended at an instant. The log is opened when it is
    /// first needed.
    package func hours() throws -> FoldedHours {
        let path = try archivePath
        return FoldedHours(
            openReader: { try Self.reader(of: $0, in: openLog(), archivePath: path) },
            address: LogAddress.masked(log), rules: .pipelines(pipelines))
    }

    /// The records that postbacks were decoded from. The log is opened when it is first needed.
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
    /// Opens a log for commands and pages: a cluster as `kafka.yaml` says, where there is a configuration.
    package func openLog(
        _ address: LogAddress, _ mode: EmbeddedLog.Mode
    ) throws -> any LogBackend {
        var logger = Logger(label: "weir")
        logger.logLevel = .warning
        return try address.open(mode, logger: logger) { brokers in
            let kafka = exists ? try kafka() : KafkaFile()
            return try KafkaSettings(
                brokers: brokers, written: kafka.settings, places: kafka.places,
                memoryBytes: kafka.memoryMebibytes << 20)
        }
    }
}
