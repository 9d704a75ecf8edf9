import ArgumentParser
import EventLog
import Monitoring
import Program

/// Each option has an environment variable too. The command line wins.
package struct CollectorOptions: ParsableArguments, LocationOptions {
    package static let examplePort = 8080

    @Option(
        help: ArgumentHelp(
            "The address to listen on.",
            discussion: """
                Default 127.0.0.1:8080. Write an IPv6 address in brackets. Port 0 picks a free port, which the \
                collector logs. [WEIR_LISTEN]
                """,
            valueName: "host:port"))
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "The event log: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT].",
            discussion:
                "Default sqlite:<data>/log.sqlite, created if missing. kafka.yaml contains the settings for Kafka. [WEIR_LOG]",
            valueName: "address"))
    package var log: String?

    @Option(
        help: ArgumentHelp(
            "The directory of conversions.sqlite, and of the embedded log without --log. Default data. [WEIR_DATA]",
            valueName: "directory"), completion: .directory)
    package var data: String?

    @Option(
        help: ArgumentHelp(
            "The directory of the configuration. Default \(FilesPlace.Kind.pipelines.defaults). [WEIR_PIPELINES]",
            valueName: "directory"), completion: .directory)
    package var pipelines: String?

    @Option(
        help: ArgumentHelp(
            "An extra address for /metrics of Prometheus, or off.",
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
