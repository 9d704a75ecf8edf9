import ArgumentParser
import EventLog
import Explanation
import Inspection

/// Where the records are that a store was folded from, for those commands that fold some of them again.
struct RecordSourceOptions: ParsableArguments {
    @OptionGroup var log: LogOptions
    @Option(
        help: ArgumentHelp(
            "An archive of the topics, as weir archive writes it, to read first: sqlite:PATH (WEIR_ARCHIVE).",
            valueName: "sqlite:path"))
    var archive: String?

    /// Folds what is there of an hour.
    func hours(data: DataOptions, pipelines: PipelinesOptions) throws -> FoldedHours {
        let directories = data.directories
        let address = Environment().log(log.log, dataDirectories: directories)
        let archive = try archivePath()
        return FoldedHours(
            address: LogAddress.masked(address), rules: .pipelines(pipelines.directory)
        ) { topic in
            let reader = try log.open(.existing, dataDirectories: directories).reader(topic: topic)
            guard let archive else { return reader }
            return try ArchivedLogReader(path: archive, before: reader)
        }
    }

    private func archivePath() throws(CommandError) -> String? {
        guard let text = archive ?? Environment()["WEIR_ARCHIVE"], text != "off" else { return nil }
        guard case .sqlite(let path)? = try? LogAddress(text) else {
            throw .usage("--archive '\(LogAddress.masked(text))' is no archive: write sqlite:PATH")
        }
        return path
    }
}
