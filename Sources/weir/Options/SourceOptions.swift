import ArgumentParser
import EventLog
import Explanation
import Inspection

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

    /// What explains the numbers of the stores.
    func explainer() throws -> Explainer {
        let log = try log.open(.existing, dataDirectories: data.directories)
        let path = try archivePath
        return Explainer(
            stores: try StoreSet(directories: data.directories),
            openReader: { try Self.reader(of: $0, in: log, archivePath: path) },
            address: log.address, rules: .pipelines(pipelines.directory))
    }

    /// What tells how far an hour had come at an instant. The log is opened when it is needed.
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
