import ConfigurationValues
import EmbeddedLog
import EventLog
import Foundation
import KafkaLog
import Logging

/// The source of records to fold again: a log, and an archive before it.
package struct ReplaySource: Sendable {
    package var log: LogAddress
    /// The archive's file; nil for none.
    package var archivePath: String?
    /// The configuration, including the connection to Kafka.
    package var pipelines: PipelineDirectory

    package init(log: LogAddress, archivePath: String?, pipelines: PipelineDirectory) {
        self.log = log
        self.archivePath = archivePath
        self.pipelines = pipelines
    }

    /// Opens the log for reading only.
    package func openLog(_ settings: StreamSettings? = nil) throws -> any LogBackend {
        let logger = Self.logger
        return try log.open(.existing, logger: logger) { brokers in
            let kafka = pipelines.hasAnything ? try pipelines.kafka() : KafkaFile()
            return try KafkaSettings(
                brokers: brokers,
                written: kafka.settings.merging(settings?.kafka ?? [:]) { _, own in own },
                places: kafka.places.merging(settings?.kafkaPlaces ?? [:]) { _, own in own },
                memoryBytes: kafka.memoryMebibytes << 20)
        }
    }

    /// A reader without a group, which reads the archive first if that holds the topic.
    func openReader(topic: String, settings: StreamSettings) throws -> any LogReader {
        let reader = try openLog(settings).reader(topic: topic, group: nil)
        guard let archivePath, try openArchive(archivePath, holds: topic) else { return reader }
        return try ArchivedLogReader(path: archivePath, before: reader)
    }

    /// The bounds of a topic in the archive; nil if it holds nothing of it.
    func archiveBounds(topic: String) throws -> [PartitionBounds]? {
        guard let archivePath, try openArchive(archivePath, holds: topic) else { return nil }
        let reader = try EmbeddedLog(path: archivePath, mode: .existing).reader(
            topic: topic, group: nil)
        defer { reader.close() }
        return try reader.bounds()
    }

    private func openArchive(_ path: String, holds topic: String) throws -> Bool {
        do throws(LogError) {
            return try EmbeddedLog(path: path, mode: .existing).topics().contains {
                $0.name == topic
            }
        } catch {
            switch error {
            case .noLog(let address):
                throw LogError.badArchive(
                    address: address, detail: "does not exist: write it with weir archive")
            case .emptyLog(let address):
                throw LogError.badArchive(
                    address: address, detail: "is empty: write it with weir archive")
            default: throw error
            }
        }
    }

    static var logger: Logger {
        var logger = Logger(label: "weir-replay")
        logger.logLevel = .error
        return logger
    }
}

extension PipelineDirectory {
    var hasAnything: Bool { FileManager.default.fileExists(atPath: path) }
}
