import EventLog
import KafkaLog
import Logging
import Pipelines

/// All that a worker reads of the configuration when it starts.
struct WorkerConfiguration<Rules: FoldRules> {
    let stream: StreamSettings
    let catalog: Catalog
    /// The topic of documents for partners.
    let partnerTopic: EmittedTopic
    let rules: Rules
}

extension WorkerProgram {
    /// Reads the configuration. Throws what is wrong with it, at its line.
    static func readConfiguration(
        _ pipelines: PipelineDirectory
    ) throws -> WorkerConfiguration<Rules> {
        WorkerConfiguration(
            stream: try streamSettings(of: pipelines), catalog: try pipelines.catalog(),
            partnerTopic: .partnerPostbacks(named: try pipelines.partnerPostbacksTopic()),
            rules: try rules(of: pipelines))
    }

    /// Reads what the worker reads when it starts. Throws what keeps it from starting.
    ///
    /// - Parameter address: of the log that it would read. A cluster's settings are read too, and nothing is
    ///   asked of the cluster.
    package static func checkConfiguration(
        _ pipelines: PipelineDirectory, log address: LogAddress?
    ) throws {
        let stream = try readConfiguration(pipelines).stream
        try stream.checkSettings(of: address, pipelines: pipelines)
    }
}

extension StreamSettings {
    /// Opens the log as a worker does: a cluster as `kafka.yaml` says, and the worker's own file before that.
    package func openLog(
        _ address: LogAddress, pipelines: PipelineDirectory, memberName: String? = nil,
        logger: Logger
    ) throws -> any LogBackend {
        try address.open(.existing, logger: logger) { brokers in
            let file = try pipelines.kafka()
            return try KafkaSettings(
                brokers: brokers, written: file.settings.merging(kafka) { _, own in own },
                places: file.places.merging(kafkaPlaces) { _, own in own },
                memoryBytes: file.memoryMebibytes << 20, memberName: memberName)
        }
    }

    /// Throws what is wrong with the settings of a cluster; what they lead to is not asked anything.
    package func checkSettings(of address: LogAddress?, pipelines: PipelineDirectory) throws {
        guard let address, case .kafka = address else { return }
        _ = try openLog(
            address, pipelines: pipelines,
            logger: Logger(label: "weir", factory: { _ in SwiftLogNoOpLogHandler() }))
    }
}
