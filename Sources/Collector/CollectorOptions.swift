import ArgumentParser
import EventLog
import Foundation
import Monitoring

/// Each option may be given as an environment variable too. The command line wins.
package struct CollectorOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where to listen.",
            discussion: """
                Default 127.0.0.1:8080. An IPv6 address stands in brackets; port 0 picks a free \
                one, which the log names. [WEIR_LISTEN]
                """,
            valueName: "host:port"))
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "The event log: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT].",
            discussion:
                "Default sqlite:<data>/log.sqlite, which is made when it is not there. How to reach Kafka stands in kafka.yaml. [WEIR_LOG]",
            valueName: "address"))
    var log: String?

    @Option(
        help: ArgumentHelp(
            "Where conversions.sqlite lies, and the embedded log unless --log names another. Default data. [WEIR_DATA]",
            valueName: "directory"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "Configuration. Default pipelines. [WEIR_PIPELINES]", valueName: "directory"))
    var pipelines: String?

    @Option(
        help: ArgumentHelp(
            "Serve /metrics for Prometheus here too, or off.",
            discussion: "Default off. [WEIR_METRICS]", valueName: "host:port"))
    var metrics: String?

    package init() {}

    /// For a collector within another program. Where `listen` or `metrics` is nil, the environment
    /// decides.
    package init(
        listen: String?, log: LogAddress, data: String, pipelines: String, metrics: String?
    ) {
        self.listen = listen
        self.log = log.description
        self.data = data
        self.pipelines = pipelines
        self.metrics = metrics
    }

    package mutating func validate() throws {
        do {
            _ = try address
        } catch {
            throw ValidationError("\(error)")
        }
        _ = try listenAddress
        _ = try metricsAddress
        if data == nil, dataDirectory.contains(":") {
            throw ValidationError(
                "WEIR_DATA '\(dataDirectory)' lists several directories: give --data")
        }
    }

    var dataDirectory: String { data ?? Self.environment("WEIR_DATA") ?? "data" }

    var pipelinesDirectory: String {
        pipelines ?? Self.environment("WEIR_PIPELINES") ?? "pipelines"
    }

    var address: LogAddress {
        get throws(LogError) {
            try LogAddress(
                log ?? Self.environment("WEIR_LOG") ?? "sqlite:\(dataDirectory)/log.sqlite")
        }
    }

    var listenAddress: ListenAddress {
        get throws {
            let text = listen ?? Self.environment("WEIR_LISTEN") ?? "127.0.0.1:8080"
            return try Self.listenAddress(text, option: "--listen")
        }
    }

    /// Nil to serve no metrics.
    var metricsAddress: ListenAddress? {
        get throws {
            guard let text = metrics ?? Self.environment("WEIR_METRICS"), text != Self.off
            else { return nil }
            return try Self.listenAddress(text, option: "--metrics")
        }
    }

    private static func listenAddress(_ text: String, option: String) throws -> ListenAddress {
        guard let address = ListenAddress(text) else {
            throw ValidationError(
                "\(option) '\(text)' is not understood: write HOST:PORT, as 127.0.0.1:8080 or [::1]:8080"
            )
        }
        return address
    }

    private static let off = "off"

    private static func environment(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
