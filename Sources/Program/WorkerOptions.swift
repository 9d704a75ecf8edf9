import ArgumentParser
import EventLog
import Foundation
import Monitoring

/// The options that all workers have. Each may be given as an environment variable too.
package struct WorkerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The event log: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT].",
            discussion:
                "Default sqlite:<data>/log.sqlite. How to reach Kafka stands in kafka.yaml. [WEIR_LOG]",
            valueName: "address"))
    var log: String?

    @Option(
        help: ArgumentHelp(
            "Where stores live, one file a worker. Default data. [WEIR_DATA]",
            valueName: "directory"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "Configuration. Default pipelines. [WEIR_PIPELINES]", valueName: "directory"))
    var pipelines: String?

    @Flag(
        help:
            "Stop once everything that was in the log at the start is folded and published. [WEIR_UNTIL_END=1]"
    )
    var untilEnd = false

    @Option(
        help: ArgumentHelp(
            "Own these partitions only, as 0,2-3, or all. Default all of the topic; on Kafka what the consumer group shares out, but for --until-end. [WEIR_PARTITIONS]",
            valueName: "list"))
    var partitions: String?

    @Option(
        help: ArgumentHelp(
            "An archive of the topic, as weir archive writes it, to read first, or off: sqlite:PATH.",
            discussion:
                "Default off. The worker goes on with the log where it ends. [WEIR_ARCHIVE]",
            valueName: "address"))
    var archive: String?

    @Option(
        help: ArgumentHelp(
            "Serve /metrics for Prometheus, /livez and /readyz here, or off.",
            discussion: """
                Default off. An IPv6 address stands in brackets; port 0 picks a free one, which \
                the log names. [WEIR_METRICS]
                """,
            valueName: "host:port"))
    var metrics: String?

    @Option(
        help: ArgumentHelp(
            "Name of this instance in the consumer group: with it the instance keeps its partitions over a restart. [WEIR_MEMBER]",
            valueName: "name"))
    var member: String?

    @Option(
        help: ArgumentHelp(
            "Go on although the topic now has this many partitions, and had others when it was folded. [WEIR_ACCEPT_PARTITION_COUNT]",
            valueName: "count"))
    var acceptPartitionCount: Int32?

    /// Whether a person at the terminal is told how far the worker is.
    package var showsProgress = true

    /// Options that were not given.
    package init() {}

    /// Options for a worker within another program, which has the terminal for itself.
    package init(
        log: LogAddress, data: String, pipelines: String, untilEnd: Bool, archive: String? = nil
    ) {
        self.log = log.description
        self.data = data
        self.pipelines = pipelines
        self.untilEnd = untilEnd
        // Said, so that the environment is not asked.
        partitions = Self.allPartitions
        self.archive = archive ?? Self.off
        metrics = Self.off
        member = nil
        acceptPartitionCount = nil
        showsProgress = false
    }

    /// Checks what can be checked without opening anything.
    package mutating func validate() throws {
        do {
            _ = try address
        } catch {
            throw ValidationError("\(error)")
        }
        _ = try archivePath
        _ = try assignment
        _ = try acceptedPartitionCount
        _ = try stopsAtEnd
        _ = try metricsAddress
        if data == nil, dataDirectory.contains(":") {
            throw ValidationError(
                "WEIR_DATA '\(dataDirectory)' lists several directories: a worker has one, give --data"
            )
        }
    }

    package var dataDirectory: String { data ?? Environment()["WEIR_DATA"] ?? "data" }

    package var pipelinesDirectory: String {
        pipelines ?? Environment()["WEIR_PIPELINES"] ?? "pipelines"
    }

    package var stopsAtEnd: Bool {
        get throws {
            try Environment().isSet("WEIR_UNTIL_END", option: untilEnd)
        }
    }

    package var address: LogAddress {
        get throws(LogError) {
            try LogAddress(
                log ?? Environment()["WEIR_LOG"] ?? "sqlite:\(dataDirectory)/log.sqlite")
        }
    }

    /// The file of the archive; nil when there is none.
    package var archivePath: String? {
        get throws {
            guard let text = archive ?? Environment()["WEIR_ARCHIVE"], text != Self.off
            else { return nil }
            guard case .sqlite(let path)? = try? LogAddress(text) else {
                throw ValidationError(
                    "--archive '\(LogAddress.masked(text))' is no archive: write sqlite:PATH")
            }
            return path
        }
    }

    package var memberName: String? { member ?? Environment()["WEIR_MEMBER"] }

    package var acceptedPartitionCount: Int32? {
        get throws {
            if let acceptPartitionCount { return acceptPartitionCount }
            return try Environment().count("WEIR_ACCEPT_PARTITION_COUNT").map {
                Int32(clamping: $0)
            }
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

    /// Where to serve metrics; nil for nowhere.
    package var metricsAddress: ListenAddress? {
        get throws {
            guard let text = metrics ?? Environment()["WEIR_METRICS"], text != Self.off
            else { return nil }
            guard let address = ListenAddress(text) else {
                throw ValidationError(
                    "--metrics '\(text)' is not understood: write HOST:PORT, as 127.0.0.1:9464 or [::1]:9464"
                )
            }
            return address
        }
    }

    private static let allPartitions = "all"
    private static let off = "off"

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
                    "--partitions '\(text)' is not understood: write numbers and ranges, as 0,2-3")
            }
            numbers.formUnion(first...last)
        }
        return numbers.sorted()
    }
}
