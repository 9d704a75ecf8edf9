import ArgumentParser
import ConfigurationFiles
import ConversionModels
import EventLog
import Foundation
import History
import KafkaLog
import Logging
import Program
import Reports
import Streams

/// Where the stores are.
struct DataOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A directory of stores; may be given several times (WEIR_DATA, separated by colons; "
                + "default: data).",
            valueName: "dir"))
    var data: [String] = []

    var directories: [String] { Environment().dataDirectories(data) }
}

/// Where the event log is.
struct LogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The event log: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT] (WEIR_LOG; default: sqlite:DATA/log.sqlite).",
            discussion: "How to reach Kafka stands in kafka.yaml of WEIR_PIPELINES."))
    var log: String?

    func open(_ mode: EmbeddedLog.Mode, dataDirectories: [String]) throws -> any LogBackend {
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

struct TopicsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory that describes the topics (WEIR_TOPICS; default: topics).",
            valueName: "dir"))
    var topics: String?

    /// The directory of the descriptions, in which the topic of documents for partners has its
    /// configured name. Faults of the configuration are not reported here, but by those who read
    /// it.
    func directory(_ pipelines: PipelineDirectory) -> TopicDirectory {
        var directory = directory
        if let name = try? pipelines.partnerPostbacksTopic() {
            directory.renamed[PipelineDirectory.partnerPostbacksName] = name
        }
        return directory
    }

    var directory: TopicDirectory { TopicDirectory(Environment().topics(topics)) }
}

/// Where the configuration is.
struct PipelinesOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory of the configuration (WEIR_PIPELINES; default: pipelines).",
            valueName: "dir"))
    var pipelines: String?

    var directory: PipelineDirectory { PipelineDirectory(Environment().pipelines(pipelines)) }

    /// Whether there is a configuration. The default directory may be absent; one that was named
    /// may not.
    private var isConfigured: Bool {
        directory.exists || pipelines != nil || Environment()["WEIR_PIPELINES"] != nil
    }

    /// The catalog; an empty one where there is no configuration.
    func catalog() throws(ConfigurationError) -> Catalog {
        isConfigured ? try directory.catalog() : Catalog()
    }

    func appsByBundle() throws(ConfigurationError) -> [String: Int64] {
        isConfigured ? try directory.appsByBundle() : [:]
    }

    /// The conversion models; none where there is no configuration.
    func conversionModels() throws(ConfigurationError) -> [ConversionModel] {
        isConfigured ? try directory.conversionModels() : []
    }

    /// The consumer groups of the workers; none where there is no configuration.
    func groups() throws(ConfigurationError) -> [String: String] {
        isConfigured ? try directory.groups() : [:]
    }

    /// A query of a dump; that of conversion values has the models that they are explained by.
    func dumpQuery(_ query: DumpQuery) throws(ConfigurationError) -> DumpQuery {
        guard query.name == ConversionUpdatesFold.streamName else { return query }
        var query = query
        query.conversionModels = try conversionModels()
        return query
    }

    /// A query of the funnel with what the configuration adds.
    func funnelQuery(
        _ query: DumpQuery, dateRule: FunnelQuery.DateRule = .arrival
    ) throws(ConfigurationError) -> FunnelQuery {
        FunnelQuery(
            query: query, dateRule: dateRule, catalog: try catalog(),
            trustsDevelopment: try trustsDevelopment(), appsByBundle: try appsByBundle())
    }

    /// Whether postbacks of the verdict `development` are trusted.
    func trustsDevelopment() throws(ConfigurationError) -> Bool {
        try PostbacksFold.trustsDevelopment(in: directory)
    }
}

extension PipelineDirectory {
    var exists: Bool { FileManager.default.fileExists(atPath: path) }
}

/// A file that a command reads whole.
enum InputFile {
    /// The bytes of a file; `-` and nil stand for standard input.
    ///
    /// - Parameter alternative: what may be given in place of a file, for the error.
    static func contents(
        of path: String?, or alternative: String = ""
    ) throws(CommandError) -> [UInt8] {
        do {
            guard let path, path != "-" else {
                return [UInt8](try FileHandle.standardInput.readToEnd() ?? Data())
            }
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw .failure(
                "cannot read \(path ?? "standard input"): give a file that is there and readable"
                    + alternative)
        }
    }
}

/// Where records, stores and configuration are.
struct SourceOptions: ParsableArguments {
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @Option(
        help: ArgumentHelp(
            "An archive to read first: sqlite:PATH, or off (WEIR_ARCHIVE; default: off).",
            valueName: "sqlite:PATH"))
    var archive: String?
    @OptionGroup var pipelines: PipelinesOptions

    /// Explains numbers of the stores by the records of the log.
    func explainer() throws -> Explainer {
        let log = try log.open(.existing, dataDirectories: data.directories)
        let path = try archivePath
        return Explainer(
            stores: try OpenStores(directories: data.directories),
            openReader: { try Self.reader(of: $0, in: log, archivePath: path) },
            address: log.address, rules: .pipelines(pipelines.directory))
    }

    /// Tells how much of an hour had been appended at an instant. The log is opened when it is
    /// first needed.
    func hours() throws -> FoldedHours {
        let directories = data.directories
        let address = Environment().log(log.log, dataDirectories: directories)
        let path = try archivePath
        return FoldedHours(
            openReader: { topic in
                let log = try log.open(.existing, dataDirectories: directories)
                return try Self.reader(of: topic, in: log, archivePath: path)
            }, address: LogAddress.masked(address), rules: .pipelines(pipelines.directory))
    }

    private static func reader(
        of topic: String, in log: any LogBackend, archivePath path: String?
    ) throws -> any LogReader {
        let reader = try log.reader(topic: topic)
        guard let path else { return reader }
        return try ArchivedLogReader(path: path, before: reader)
    }

    private var archivePath: String? {
        get throws { try Self.archivePath(archive) }
    }

    /// The file of an archive: that of the option, else of `WEIR_ARCHIVE`; nil for none.
    static func archivePath(_ option: String?) throws(CommandError) -> String? {
        guard let text = option ?? Environment()["WEIR_ARCHIVE"], text != "off" else { return nil }
        guard case .sqlite(let path)? = try? LogAddress(text) else {
            throw .usage("--archive '\(LogAddress.masked(text))' is no archive: write sqlite:PATH")
        }
        return path
    }
}
