/// How to reach the Kafka cluster: `kafka.yaml`, for all programs.
package struct KafkaFile: Equatable, Sendable {
    /// Memory that records may take that are fetched and not read yet (`memory_mib`), 8...65,536 MiB;
    /// by default 64.
    package let memoryMebibytes: Int
    /// Settings of librdkafka (`settings`), by the names that it gives them, as they are written.
    package let settings: [String: String]
    /// Where each of them stands, for errors: `pipelines/kafka.yaml:7: settings.sasl.username`.
    package let places: [String: String]

    /// What is in force without the file.
    package init() {
        memoryMebibytes = 64
        settings = [:]
        places = [:]
    }

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(["memory_mib", "settings"])
        memoryMebibytes = try mapping.integer("memory_mib", in: 8...65_536, default: 64).asInt
        settings = try mapping["settings"]?.kafkaSettings() ?? [:]
        places = try mapping["settings"]?.kafkaPlaces() ?? [:]
    }
}

extension PipelineDirectory {
    static let kafkaName = "kafka.yaml"

    /// How to reach Kafka; the defaults when there is no `kafka.yaml`.
    package func kafka() throws(ConfigurationError) -> KafkaFile {
        guard try names().contains(Self.kafkaName) else { return KafkaFile() }
        return try KafkaFile(ConfigurationFile.read("\(path)/\(Self.kafkaName)"))
    }
}
