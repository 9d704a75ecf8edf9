import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import EmbeddedLog
import Engine
import EventLog
import Foundation
import History
import KafkaLog
import Logging
import Program
import Reports
import Store
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

    /// The directories in words.
    var listed: String { directories.joined(separator: ", ") }

    /// - Parameter present: the time of the clock, where reports end at it.
    func stores(_ present: Present? = nil) throws -> OpenStores {
        try OpenStores(directories: directories, present: present)
    }

    /// The directory of a command that works on one.
    ///
    /// - Parameter explanation: what is wrong when there are several.
    func single(_ explanation: String) throws(CommandError) -> String {
        guard directories.count == 1, let directory = directories.first else {
            throw .usage(explanation)
        }
        return directory
    }
}

extension OpenStores {
    /// Writes a line for each store that another version of Weir folded, as its worker would refuse it. Their numbers
    /// are printed anyway.
    ///
    /// - Parameter streams: whose stores are looked at; nil for those that were read.
    func warnOfOtherRules(of streams: [String]? = nil) throws {
        for found in try foldedUnderOtherRules(of: streams) {
            let refusal = WorkerError.historyChanged(
                .rules(folded: found.folded, present: found.present), store: found.store)
            Console.write("warning: \(refusal)")
        }
    }
}

/// Where the event log is.
struct LogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The event log: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT] (WEIR_LOG; default: sqlite:DATA/log.sqlite).",
            discussion:
                "How to reach Kafka stands in kafka.yaml of --pipelines, or of WEIR_PIPELINES."))
    var log: String?

    /// - Parameter pipelines: whose kafka.yaml says how to reach Kafka; nil where a command has no such option.
    func open(
        _ mode: EmbeddedLog.Mode, _ data: DataOptions, _ pipelines: PipelinesOptions? = nil
    ) throws -> any LogBackend {
        try Self.open(LogAddress(text(data)), mode, pipelines: pipelines?.pipelines)
    }

    /// The address as it was given.
    func text(_ data: DataOptions) -> String {
        Environment().log(log, dataDirectories: data.directories)
    }

    /// - Parameter pipelines: the directory that the command line names; nil for that of the environment.
    static func open(
        _ address: LogAddress, _ mode: EmbeddedLog.Mode, pipelines: String? = nil
    ) throws -> any LogBackend {
        var logger = Logger(label: "weir")
        logger.logLevel = .warning
        return try address.open(mode, logger: logger) { brokers in
            let directory = PipelineDirectory(Environment().pipelines(pipelines))
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

/// What time it is.
struct ClockOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Use this time instead of the clock's: \(LogTime.forms) (WEIR_AT; default: the clock).",
            valueName: "time"))
    var at: String?

    /// The time that was given instead of the clock's, as it was written; nil for the clock.
    var given: String? { at ?? Environment()["WEIR_AT"] }

    /// The time of the clock, unless another one is given.
    var present: Present {
        get throws(CommandError) {
            guard let text = given else {
                return Present(milliseconds: WallClock.milliseconds)
            }
            return Present(
                milliseconds: try LogTime.milliseconds(
                    text, option: at == nil ? "WEIR_AT" : "--at"))
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
    @OptionGroup var clock: ClockOptions

    /// The stores, read at the present.
    func stores() throws -> OpenStores { try data.stores(clock.present) }

    /// Explains numbers of the stores by the records of the log.
    func explainer() throws -> Explainer {
        let log = try log.open(.existing, data, pipelines)
        let path = try archivePath
        return Explainer(
            stores: try stores(),
            openReader: { try Self.reader(of: $0, in: log, archivePath: path) },
            address: log.address, rules: .pipelines(pipelines.directory))
    }

    /// Reads a topic, from the archive first.
    func reader(of topic: String) throws -> any LogReader {
        try Self.reader(
            of: topic, in: log.open(.existing, data, pipelines), archivePath: archivePath)
    }

    /// Tells how much of an hour had been appended at an instant. The log is opened when it is
    /// first needed.
    func hours() throws -> FoldedHours {
        let path = try archivePath
        return FoldedHours(
            openReader: { topic in
                try Self.reader(
                    of: topic, in: log.open(.existing, data, pipelines), archivePath: path)
            }, address: LogAddress.masked(log.text(data)), rules: .pipelines(pipelines.directory))
    }

    /// The records that postbacks were decoded from. The log is opened when it is first needed.
    func loggedPostbacks() throws -> LoggedPostbacks {
        let path = try archivePath
        return LoggedPostbacks(
            openReader: { topic in
                try Self.reader(
                    of: topic, in: log.open(.existing, data, pipelines), archivePath: path)
            }, address: LogAddress.masked(log.text(data)), rules: .pipelines(pipelines.directory))
    }

    private static func reader(
        of topic: String, in log: any LogBackend, archivePath path: String?
    ) throws -> any LogReader {
        let reader = try log.reader(topic: topic)
        guard let path else { return reader }
        return try ArchivedLogReader(path: path, before: reader)
    }

    private var archivePath: String? {
        get throws { try Environment().archivePath(archive) }
    }
}
