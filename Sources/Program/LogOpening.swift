import ConfigurationValues
import EmbeddedLog
import EventLog
import KafkaLog
import Logging

extension LogAddress {
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

extension StreamSettings {
    /// Opens the log as a worker does: a cluster as `kafka.yaml` says, with the worker's own file above that.
    package func openLog(
        _ address: LogAddress, pipelines: PipelineDirectory, memberName: String? = nil,
        logger: Logger
    ) throws -> any LogBackend {
        try pipelines.openLog(
            address, .existing, settings: kafka, places: kafkaPlaces, memberName: memberName,
            logger: logger)
    }

    /// Throws what is wrong with the settings of a cluster; what they lead to is not asked anything.
    package func checkSettings(of address: LogAddress?, pipelines: PipelineDirectory) throws {
        guard let address, case .kafka = address else { return }
        _ = try openLog(
            address, pipelines: pipelines,
            logger: Logger(label: "weir", factory: { _ in SwiftLogNoOpLogHandler() }))
    }
}

extension PipelineDirectory {
    /// Opens a log: a cluster as `kafka.yaml` says.
    ///
    /// - Parameters:
    ///   - settings: settings of librdkafka that come before those of `kafka.yaml`, with their `places`.
    package func openLog(
        _ address: LogAddress, _ mode: EmbeddedLog.Mode, settings: [String: String] = [:],
        places: [String: String] = [:], memberName: String? = nil, logger: Logger
    ) throws -> sending any LogBackend {
        try address.open(mode, logger: logger) { brokers in
            let file = try kafka()
            return try KafkaSettings(
                brokers: brokers, written: file.settings.merging(settings) { _, own in own },
                places: file.places.merging(places) { _, own in own },
                memoryBytes: file.memoryMebibytes << 20, memberName: memberName)
        }
    }
}
