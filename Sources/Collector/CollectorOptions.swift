import ArgumentParser
import EventLog
import Monitoring
import Program

/// Each option has an environment variable too. The command line wins.
package struct CollectorOptions: ParsableArguments, PlaceOptions {
    package static let examplePort = 8080

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
    package var log: String?

    @Option(
        help: ArgumentHelp(
            "Where conversions.sqlite lies, and the embedded log unless --log names another. Default data. [WEIR_DATA]",
            valueName: "directory"))
    package var data: String?

    @Option(
        help: ArgumentHelp(
            "Configuration. Default pipelines. [WEIR_PIPELINES]", valueName: "directory"))
    package var pipelines: String?

    @Option(
        help: ArgumentHelp(
            "Serve /metrics for Prometheus here too, or off.",
            discussion: "Default off. [WEIR_METRICS]", valueName: "host:port"))
    package var metrics: String?

    @OptionGroup var access: FileAccessOptions

    package init() {}

    /// For a collector within another program. If `listen` or `metrics` is nil, the environment decides.
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
        try checkAddress()
        _ = try listenAddress
        _ = try metricsAddress
        try checkDataDirectory(remedy: "give --data")
    }

    var listenAddress: ListenAddress {
        get throws {
            let text = listen ?? Environment()["WEIR_LISTEN"] ?? "127.0.0.1:\(Self.examplePort)"
            return try Self.listenAddress(text, option: "--listen")
        }
    }
}
