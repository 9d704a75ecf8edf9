import ArgumentParser
import EmbeddedLog
import EventLog
import Foundation
import Program
import Reports

struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Maintains the embedded log.",
        subcommands: [LogTrimCommand.self])
}

struct LogTrimCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trim",
        abstract:
            "Deletes records of the embedded log that are past their topic's retention.",
        discussion: """
            The files of topics/ define the retention of each topic: retention.ms, retention.bytes (for each \
            partition) and cleanup.policy. -1 means no limit. Topics without a description and compacted topics \
            are not trimmed.

            The command keeps every record that a reader still needs: a store in one of the --data directories, \
            a replay there, deliveries, conversions.sqlite, an archive or a consumer group. The last column \
            names the reader that stopped it.

            The file does not shrink: new records reuse the space. Deleted records cannot be explained, replayed \
            or folded again, so copy the topic with weir archive first. weir up trims once an hour. Kafka \
            applies the retention of its topics itself.

              weir log trim --dry-run
              weir log trim --topic bids --data data --data data-b
            """)

    @Option(
        help: ArgumentHelp(
            "Only this topic; repeatable (default: all).", valueName: "topic"))
    var topic: [String] = []
    @Flag(help: "Print what would be deleted and what limits it, and delete nothing.")
    var dryRun = false
    @Flag(
        help: """
            Delete records even if a reader still needs them. A worker that has not folded them stops with an \
            error, and its store must be folded again without them.
            """)
    var beyondStores = false
    @OptionGroup var topics: TopicsOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @Option(
        help: ArgumentHelp(
            "An archive that is still written: sqlite:PATH, or off (WEIR_ARCHIVE; default: off).",
            valueName: "sqlite:PATH"))
    var archive: String?
    @OptionGroup var format: DumpFormatOptions

    func run() throws {
        let format = try format.chosen()
        let described = try topics.directory.topics()
        let log = try openLog()
        let existing = try log.topics().map(\.name)
        if let unknown = topic.first(where: { !existing.contains($0) }) {
            throw LogError.unknownTopic(unknown, address: log.address)
        }
        let needs =
            beyondStores
            ? nil
            : try LogNeeds(
                of: log, directories: data.directories,
                archivePath: Environment().archivePath(archive),
                pipelines: pipelines.directory(of: data))
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
                    + "(weir topics list shows how they differ from topics/): weir log trim is "
                    + "for an embedded log, sqlite:PATH")
        }
        return try EmbeddedLog(path: path, mode: .existing)
    }
}
