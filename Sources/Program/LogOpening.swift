import ConfigurationValues
import EmbeddedLog
import EventLog
import KafkaLog
import Logging

extension LogAddress {
    /// - Parameters:
    ///   - mode: what to do if the embedded log does not exist yet.
    ///   - kafka: settings of librdkafka; called only for Kafka.
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
    /// Opens the log as a worker does: a cluster as configured in `kafka.yaml`, with the settings of the worker's own
    /// file first.
    package func openLog(
        _ address: LogAddress, pipelines: PipelineDirectory, memberName: String? = nil,
        logger: Logger
    ) throws -> any LogBackend {
        try pipelines.openLog(
            address, .existing, settings: kafka, locations: kafkaLocations, memberName: memberName,
            logger: logger)
    }

    /// Throws the fault in the settings of a cluster, without contacting it.
    package func checkSettings(of address: LogAddress?, pipelines: PipelineDirectory) throws {
        guard let address, case .kafka = address else { return }
        _ = try openLog(
            address, pipelines: pipelines,
            logger: Logger(label: "weir", factory: { _ in SwiftLogNoOpLogHandler() }))
    }
}

extension PipelineDirectory {
    /// Opens a log: a cluster as configured in `kafka.yaml`.
    ///
    /// - Parameters:
    ///   - settings: settings of librdkafka that override those of `kafka.yaml`, with their `locations`.
    package func openLog(
        _ address: LogAddress, _ mode: EmbeddedLog.Mode, settings: [String: String] = [:],
        locations: [String: String] = [:], memberName: String? = nil, logger: Logger
    ) throws -> sending any LogBackend {
        try address.open(mode, logger: logger) { brokers in
            let file = try kafka()
            return try KafkaSettings(
                brokers: brokers, written: file.settings.merging(settings) { _, own in own },
                locations: file.locations.merging(locations) { _, own in own },
                memoryBytes: file.memoryMebibytes << 20, memberName: memberName)
        }
    }
}
