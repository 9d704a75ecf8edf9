import EventLog
import Logging

extension LogAddress {
    /// Opens the log that it names.
    ///
    /// - Parameters:
    ///   - mode: what to do when there is no embedded log yet.
    ///   - kafka: settings of librdkafka; asked for only when this is Kafka.
    package func open(
        _ mode: EmbeddedLog.Mode, logger: Logger, kafka: ([String]) throws -> KafkaSettings
    ) throws -> any LogBackend {
        switch self {
        case .sqlite(let path): try EmbeddedLog(path: path, mode: mode)
        case .kafka(let brokers): try KafkaLog(kafka(brokers), logger: logger)
        }
    }
}
