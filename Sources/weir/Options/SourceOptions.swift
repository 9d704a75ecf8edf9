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

/// The directories of the stores.
struct DataOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A directory of stores; repeatable (WEIR_DATA, separated by colons; "
                + "default: data).",
            valueName: "dir"), completion: .directory)
    var data: [String] = []

    var directories: [String] { Environment().dataDirectories(data) }

    var listed: String { directories.joined(separator: ", ") }

    /// - Parameter present: the time of the clock, if reports end there.
    func stores(_ present: Present? = nil) throws -> OpenStores {
        try OpenStores(directories: directories, present: present)
    }

    /// The directory of a command that needs a single one.
    ///
    /// - Parameter explanation: the error text for several directories.
    func single(_ explanation: String) throws(CommandError) -> String {
        guard directories.count == 1, let directory = directories.first else {
            throw .usage(explanation)
        }
        return directory
    }
}

extension OpenStores {
    /// Warns of each store that another version of Weir folded, because its worker would reject it. Their numbers are
    /// printed anyway.
    ///
    /// - Parameter streams: the streams to check; nil for those that were read.
    func warnOfOtherRules(of streams: [String]? = nil) throws {
        for found in try foldedUnderOtherRules(of: streams) {
            let refusal = WorkerError.historyChanged(
                .rules(folded: found.folded, present: found.present), store: found.store)
            Console.write("warning: \(refusal)")
        }
        for (store, measures) in try unknownMeasures(of: streams) {
            Console.write("warning: \(UnknownMeasure.explanation(measures, store: store))")
        }
    }
}

/// The address of the event log.
struct LogOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The event log: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT] (WEIR_LOG; default: sqlite:DATA/log.sqlite).",
            discussion:
                "kafka.yaml of --pipelines or WEIR_PIPELINES contains the settings for Kafka."))
    var log: String?

    /// - Parameter pipelines: the directory with kafka.yaml; nil for commands without that option.
    func open(
        _ mode: EmbeddedLog.Mode, _ data: DataOptions, _ pipelines: PipelinesOptions? = nil
    ) throws -> any LogBackend {
        let place =
            pipelines?.place(of: data)
            ?? Environment().place(of: .pipelines, nil, data: data.directories)
        return try PipelineDirectory(place.path).openLog(LogAddress(text(data)), mode)
    }

    /// The address as given.
    func text(_ data: DataOptions) -> String {
        Environment().log(log, dataDirectories: data.directories)
    }
}

struct TopicsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory of the topic descriptions (WEIR_TOPICS; default: \(FilesPlace.Kind.topics.defaults)).",
            valueName: "dir"), completion: .directory)
    var topics: String?

    /// The directory of the descriptions, with the configured name for the topic of partner documents. Errors of the
    /// configuration are left to its readers.
    func directory(_ pipelines: PipelineDirectory) -> TopicDirectory {
        var directory = directory
        if let name = try? pipelines.partnerPostbacksTopic() {
            directory.renamed[PipelineDirectory.partnerPostbacksName] = name
        }
        return directory
    }

    var place: FilesPlace { Environment().place(of: .topics, topics, data: []) }

    var directory: TopicDirectory { TopicDirectory(place.path) }
}

/// The directory of the configuration.
struct PipelinesOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory of the configuration (WEIR_PIPELINES; default: \(FilesPlace.Kind.pipelines.defaults)).",
            valueName: "dir"), completion: .directory)
    var pipelines: String?

    /// - Parameter data: the data directories; empty for a command without `--data`.
    func place(data: [String]) -> FilesPlace {
        let environment = Environment()
        return environment.place(
            of: .pipelines, pipelines, data: data.isEmpty ? environment.dataDirectories([]) : data)
    }

    func directory(data: [String]) -> PipelineDirectory {
        PipelineDirectory(place(data: data).path)
    }

    /// The configuration for readers of stores.
    func configuration(data: [String]) -> ReportConfiguration {
        let place = place(data: data)
        return ReportConfiguration(
            PipelineDirectory(place.path), isNamed: [.option, .variable].contains(place.origin))
    }

    func place(of data: DataOptions) -> FilesPlace { place(data: data.directories) }

    func directory(of data: DataOptions) -> PipelineDirectory { directory(data: data.directories) }

    func configuration(of data: DataOptions) -> ReportConfiguration {
        configuration(data: data.directories)
    }
}

/// The current time, or a given one.
struct ClockOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Use this time instead of the clock: \(LogTime.forms) (WEIR_AT; default: the clock).",
            valueName: "time"))
    var at: String?

    /// The given time as text; nil to use the clock.
    var given: String? { at ?? Environment()["WEIR_AT"] }

    /// The given time, otherwise that of the clock.
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

/// The archive of the log.
struct ArchiveOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "An archive to read first: sqlite:PATH, or off (WEIR_ARCHIVE; default: off).",
            valueName: "sqlite:PATH"))
    var archive: String?
}

/// A command that reads records, stores and configuration. It declares these groups itself: swift-argument-parser
/// validates a group four times as often for each group that contains it, in every debug start.
protocol InstallationCommand: ParsableCommand {
    var data: DataOptions { get }
    var log: LogOptions { get }
    var archive: ArchiveOptions { get }
    var pipelines: PipelinesOptions { get }
    var clock: ClockOptions { get }
}

extension InstallationCommand {
    /// The installation that the options describe.
    var installation: Installation {
        Installation(
            directories: data.directories, log: log.text(data), archive: archive.archive,
            configuration: pipelines.configuration(of: data), givenTime: clock.given,
            present: { [clock] in try clock.present })
    }
}
