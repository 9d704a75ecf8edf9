import ArgumentParser
import EventLog
import KafkaLog
import Logging
import Pipelines

/// Where the event log is.
struct LogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The event log: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT] (WEIR_LOG; default: sqlite:DATA/log.sqlite).",
            discussion: "How to reach Kafka stands in kafka.yaml of WEIR_PIPELINES."))
    var log: String?

    /// Opens the log.
    func open(
        _ mode: EmbeddedLog.Mode, dataDirectories: [String]
    ) throws -> any LogBackend {
        let text = Environment().log(log, dataDirectories: dataDirectories)
        return try Self.open(LogAddress(text), mode)
    }

    static func open(_ address: LogAddress, _ mode: EmbeddedLog.Mode) throws -> any LogBackend {
        var logger = Logger(label: "weir")
        logger.logLevel = .warning
        return try address.open(mode, logger: logger) { brokers in
            let directory = PipelineDirectory(Environment().pipelines(nil))
            let kafka = directory.exists ? try directory.kafka() : KafkaFile()
            return try KafkaSettings(
                brokers: brokers, written: kafka.settings, places: kafka.places,
                memoryBytes: kafka.memoryMebibytes << 20)
        }
    }
}
