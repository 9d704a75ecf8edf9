import ArgumentParser
import EventLog
import Foundation
import Logging
import Monitoring

/// The places of a program's log, data, configuration and metrics. Each program's help explains its options; the
/// fallbacks of missing options are the same for all.
package protocol LocationOptions {
    var log: String? { get }
    var data: String? { get }
    var pipelines: String? { get }
    var metrics: String? { get }

    /// The port in examples of error messages.
    static var examplePort: Int { get }
}

extension LocationOptions {
    package var dataDirectory: String { data ?? Environment()["WEIR_DATA"] ?? "data" }

    package var pipelinesPlace: FilesPlace {
        Environment().place(of: .pipelines, pipelines, data: [dataDirectory])
    }

    package var pipelinesDirectory: String { pipelinesPlace.path }

    package var address: LogAddress {
        get throws(LogError) {
            try LogAddress(Environment().log(log, dataDirectories: [dataDirectory]))
        }
    }

    /// Where to serve metrics; nil to serve none.
    package var metricsAddress: ListenAddress? {
        get throws {
            guard let text = metrics ?? Environment()["WEIR_METRICS"], text != Environment.off
            else { return nil }
            return try Self.listenAddress(text, option: "--metrics")
        }
    }

    /// The monitor of a worker: at the address of `--metrics`, or in the metrics of the program whose service it is.
    /// Nil without either.
    ///
    /// - Parameters:
    ///   - descriptions: of the worker's own metrics.
    ///   - waitMilliseconds: how long the worker's loop may wait for records.
    package func monitor(
        _ descriptions: [MetricDescription], sharing shared: LabelledMetrics?,
        waitMilliseconds: Int, logger: Logger
    ) throws -> ServiceMonitor? {
        if let shared { return ServiceMonitor(sharing: shared, waitMilliseconds: waitMilliseconds) }
        guard let metricsAddress = try metricsAddress else { return nil }
        return try ServiceMonitor(
            at: metricsAddress, descriptions, waitMilliseconds: waitMilliseconds,
            data: dataDirectory, log: try address.path, logger: logger)
    }

    package static func listenAddress(_ text: String, option: String) throws -> ListenAddress {
        guard let address = ListenAddress(text) else {
            throw ValidationError(
                "\(option) '\(text)' is not an address: write HOST:PORT, for example 127.0.0.1:\(examplePort) or [::1]:\(examplePort)"
            )
        }
        return address
    }

    package func checkAddress() throws {
        do {
            _ = try address
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// - Parameter remedy: what to do if the environment lists several directories.
    package func checkDataDirectory(remedy: String) throws {
        guard data == nil, dataDirectory.contains(":") else { return }
        throw ValidationError("WEIR_DATA '\(dataDirectory)' lists several directories: \(remedy)")
    }
}

/// The options of all workers. Each has an environment variable too.
package struct WorkerOptions: ParsableArguments, LocationOptions {
    package static let examplePort = 9464

    @Option(
        help: ArgumentHelp(
            "The event log: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT].",
            discussion:
                "Default sqlite:<data>/log.sqlite. kafka.yaml contains the settings for Kafka. [WEIR_LOG]",
            valueName: "address"))
    package var log: String?

    @Option(
        help: ArgumentHelp(
            "The directory of the stores, one file for each worker. Default data. [WEIR_DATA]",
            valueName: "directory"), completion: .directory)
    package var data: String?

    @Option(
        help: ArgumentHelp(
            "The directory of the configuration. Default \(FilesPlace.Kind.pipelines.defaults). [WEIR_PIPELINES]",
            valueName: "directory"), completion: .directory)
    package var pipelines: String?

    @Flag(
        help:
            "Stop after everything that was in the log at the start is folded and published. [WEIR_UNTIL_END=1]"
    )
    var untilEnd = false

    @Option(
        help: ArgumentHelp(
            "Own only these partitions, for example 0,2-3, or all. Default all of the topic; on Kafka those that the consumer group assigns, except with --until-end. [WEIR_PARTITIONS]",
            valueName: "list"))
    package var partitions: String?

    @Option(
        help: ArgumentHelp(
            "An archive of weir archive to read before the log: sqlite:PATH, or off.",
            discussion:
                "Default off. The worker continues with the log at the end of the archive. [WEIR_ARCHIVE]",
            valueName: "address"))
    var archive: String?

    @Option(
        help: ArgumentHelp(
            "The address for /metrics of Prometheus, /livez and /readyz, or off.",
            discussion: """
                Default off. Write an IPv6 address in brackets. Port 0 picks a free port, which the worker logs. \
                [WEIR_METRICS]
                """,
            valueName: "host:port"))
    package var metrics: String?

    @Option(
        help: ArgumentHelp(
            "The name of this instance in the consumer group. With a name, the instance keeps its partitions over a restart. [WEIR_MEMBER]",
            valueName: "name"))
    var member: String?

    @Flag(
        help:
            "Keep copies of the partitions that other workers own, from their snapshots, to take them over at once. [WEIR_STANDBY=1]"
    )
    package var standby = false

    @Option(
        help: ArgumentHelp(
            "Continue after the topic's number of partitions has changed to this number. [WEIR_ACCEPT_PARTITION_COUNT]",
            valueName: "count"))
    package var acceptPartitionCount: Int32?

    @Flag(
        help:
            "Begin a partition whose first records are deleted, although workers of the group have folded them: the numbers lack these. [WEIR_ACCEPT_MISSING_RECORDS=1]"
    )
    package var acceptMissingRecords = false

    @OptionGroup var access: FileAccessOptions

    /// Whether progress is shown on a terminal.
    package var showsProgress = true

    /// Without any option.
    package init() {}

    /// Options for a worker within another program, which owns the terminal.
    package init(
        log: LogAddress, data: String, pipelines: String, untilEnd: Bool, archive: String? = nil
    ) {
        self.log = log.description
        self.data = data
        self.pipelines = pipelines
        self.untilEnd = untilEnd
        // Explicit, so that the environment is ignored.
        partitions = Self.allPartitions
        self.archive = archive ?? Environment.off
        metrics = Environment.off
        member = nil
        standby = false
        acceptPartitionCount = nil
        acceptMissingRecords = false
        showsProgress = false
    }

    /// Checks everything that needs no open file.
    package mutating func validate() throws {
        try checkAddress()
        do {
            _ = try archivePath
            _ = try assignment
            _ = try acceptedPartitionCount
            _ = try stopsAtEnd
            _ = try isStandby
            _ = try acceptsMissingRecords
            _ = try metricsAddress
        } catch let error as UsageError {
            throw ValidationError("\(error)")
        }
        try checkDataDirectory(remedy: "a worker uses one directory, give --data")
    }

    package var stopsAtEnd: Bool {
        get throws { try Environment().isSet("WEIR_UNTIL_END", option: untilEnd) }
    }

    /// The file of the archive; nil without one.
    package var archivePath: String? {
        get throws(UsageError) { try Environment().archivePath(archive) }
    }

    /// Whether the store keeps copies of partitions of other workers.
    package var isStandby: Bool {
        get throws { try Environment().isSet("WEIR_STANDBY", option: standby) }
    }

    /// Whether a store may lack records that the group has folded.
    package var acceptsMissingRecords: Bool {
        get throws {
            try Environment().isSet(
                "WEIR_ACCEPT_MISSING_RECORDS", option: acceptMissingRecords)
        }
    }

    package var memberName: String? { member ?? Environment()["WEIR_MEMBER"] }

    package var acceptedPartitionCount: Int32? {
        get throws {
            let variable = "WEIR_ACCEPT_PARTITION_COUNT"
            let found = try Environment().count(variable).map { Int32(clamping: $0) }
            guard let count = acceptPartitionCount ?? found else { return nil }
            guard count > 0 else {
                let name = acceptPartitionCount == nil ? variable : "--accept-partition-count"
                throw UsageError("\(name) is \(count): write the topic's number of partitions")
            }
            return count
        }
    }

    package var assignment: LogAssignment {
        get throws {
            guard let text = partitions ?? Environment()["WEIR_PARTITIONS"] else {
                if case .kafka = try address { return try stopsAtEnd ? .all : .shared }
                return .all
            }
            return text == Self.allPartitions ? .all : .partitions(try Self.partitions(text))
        }
    }

    private static let allPartitions = "all"

    /// Reads `0,2-3`.
    package static func partitions(_ text: String) throws -> [Int32] {
        var numbers: Set<Int32> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let bounds = part.split(separator: "-", omittingEmptySubsequences: false)
                .map { Int32($0) }
            guard let first = bounds.first ?? nil, let last = bounds.last ?? nil,
                bounds.count <= 2, first >= 0, first <= last, last < 1_000_000
            else {
                throw ValidationError(
                    "--partitions '\(text)' is not a list of partitions: write numbers and ranges, for example 0,2-3"
                )
            }
            numbers.formUnion(first...last)
        }
        return numbers.sorted()
    }
}

extension Environment {
    private static let mostLanes = 64

    /// The number of partitions folded in parallel: the option, otherwise WEIR_LANES, otherwise the number of cores.
    package func laneCount(_ option: Int?) throws -> Int {
        let count =
            try option ?? self.count("WEIR_LANES")
            ?? ProcessInfo.processInfo.activeProcessorCount
        guard (1...Self.mostLanes).contains(count) else {
            let name = option == nil ? "WEIR_LANES" : "--lanes"
            throw UsageError("\(name) is \(count): write 1 to \(Self.mostLanes)")
        }
        return count
    }
}
