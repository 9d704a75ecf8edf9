import ArgumentParser
import EmbeddedLog
import EventLog
import Foundation
import Program
import Reports

struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Looks after the embedded log.",
        subcommands: [LogTrimCommand.self])
}

struct LogTrimCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trim",
        abstract:
            "Deletes records of the embedded log that are past the retention of their topics.",
        discussion: """
            topics/ says how long each topic is kept: retention.ms, retention.bytes (of each partition), \
            and cleanup.policy; -1 is for ever, and a topic that is not described, or is compacted, is \
            left alone. No record goes that somebody still needs: a store of one of the --data, a \
            replay in one of them, deliveries, what is known of installs, an archive, a consumer group. \
            The last column says what stopped it.

            The file does not shrink: new records use the room. What is gone cannot be explained, \
            replayed or folded again: weir archive copies a topic first. weir up trims once an hour by itself; \
            Kafka applies the retention of its topics itself.

              weir log trim --dry-run
              weir log trim --topic bids --data data --data data-b
            """)

    @Option(
        help: ArgumentHelp(
            "Only this topic; may be given several times (default: all).", valueName: "topic"))
    var topic: [String] = []
    @Flag(help: "Say what would go and why no more, and delete nothing.")
    var dryRun = false
    @Flag(
        help: """
            Ask nobody who needs the records. A worker that is behind then stops, with words, and its \
            store has to be folded again without them.
            """)
    var beyondStores = false
    @OptionGroup var topics: TopicsOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @Option(
        help: ArgumentHelp(
            "An archive that is being written: sqlite:PATH, or off (WEIR_ARCHIVE; default: off).",
            valueName: "sqlite:PATH"))
    var archive: String?
    @OptionGroup var format: DumpFormatOptions

    func run() throws {
        let format = try format.chosen()
        let described = try topics.directory.topics()
        let log = try openLog()
        let known = try log.topics().map(\.name)
        if let unknown = topic.first(where: { !known.contains($0) }) {
            throw LogError.unknownTopic(unknown, address: log.address)
        }
        let needs =
            beyondStores
            ? nil
            : try LogNeeds(
                of: log, directories: data.directories,
                archivePath: Environment().archivePath(archive), pipelines: pipelines.directory)
        let trim = LogTrim(
            log, described, needs: needs,
            nowMilliseconds: WallClock.milliseconds)
        let rows = try trim.plan(topics: Set(topic))
        if !dryRun { try trim.run(rows) }
        let report = TrimReport(rows: rows, isDry: dryRun)
        try BufferedOutput.print(report.table, as: format)
        Console.write(report.summary)
    }

    private func openLog() throws -> EmbeddedLog {
        let text = log.text(data)
        guard case .sqlite(let path) = try LogAddress(text) else {
            throw CommandError.failure(
                "\(LogAddress.masked(text)) applies the retention of its topics itself "
                    + "(weir topics list shows in what they differ from topics/): weir log trim is "
                    + "for an embedded log, sqlite:PATH")
        }
        return try EmbeddedLog(path: path, mode: .existing)
    }
}
