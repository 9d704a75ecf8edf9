import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import History
import Program
import Reports
import Wording

struct ArchiveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "archive",
        abstract: "Copies a topic to an archive that outlives the log's retention.",
        discussion: """
            An archive is an embedded log. It keeps the partitions, offsets, timestamps, keys, headers and \
            values of the topic byte for byte, and the topic's identity. A store that was folded from the log \
            continues with the archive, and both give the same weir digest. Offsets without a record stay gaps.

            Run the command again to copy new records. You can kill it at any time. If the log has deleted \
            records that the archive does not have yet, the command fails. Run it more often than records \
            expire.

              weir archive --topic bids --from kafka://localhost:9092 --to sqlite:archive.sqlite
              weir-bids --log kafka://localhost:9092 --archive sqlite:archive.sqlite
              weir-bids --log sqlite:archive.sqlite --data data-of-archive --until-end
            """)

    @Option(help: "The topic (WEIR_TOPIC).")
    var topic: String?
    @Option(
        help: ArgumentHelp(
            "The log to copy from: sqlite:PATH or kafka://HOST:PORT[,HOST:PORT] (WEIR_LOG).",
            valueName: "log"))
    var from: String?
    @Option(
        help: ArgumentHelp(
            "The archive: sqlite:PATH, created if missing (WEIR_ARCHIVE).",
            valueName: "archive"))
    var to: String?
    @Option(
        help: ArgumentHelp(
            "Only these partitions, for example 0,2-3 (WEIR_PARTITIONS; default: all).",
            valueName: "list"))
    var partitions: String?
    @Option(
        help: ArgumentHelp(
            "Start at this offset of every partition (WEIR_FROM_OFFSET; default: the earliest).",
            valueName: "offset"))
    var fromOffset: Int64?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Start at the first record from this time on: \(LogTime.forms) (WEIR_FROM_TIME).",
            valueName: "time"))
    var fromTime: String?
    @Flag(help: "Stop at the end that the log has at the start (the default).")
    var untilEnd = false
    @Flag(help: "Keep copying new records until stopped (WEIR_FOLLOW=1).")
    var follow = false
    @OptionGroup var access: FileAccessOptions

    func run() throws {
        let environment = Environment()
        let follows = try environment.isSet("WEIR_FOLLOW", option: follow)
        guard !(untilEnd && follow) else {
            throw CommandError.usage("--follow and --until-end exclude each other: remove one")
        }
        let topic = try named(topic, "--topic", "WEIR_TOPIC")
        let source = try LogAddress(named(from, "--from", "WEIR_LOG"))
        let archive = try Self.archive(named(to, "--to", "WEIR_ARCHIVE"), source: source)
        let start = try start(environment)
        let numbers = try partitions(environment)
        let pipelines = PipelineDirectory(
            environment.place(of: .pipelines, nil, data: environment.dataDirectories([])).path)
        let log = try pipelines.openLog(source, .existing)
        let reader = try log.reader(topic: topic)
        defer { reader.close() }
        StopSignal.listen()
        let copy = try ArchiveCopy(
            from: reader, to: EmbeddedLog(path: archive, mode: .create), partitions: numbers,
            start: start)
        try run(copy, follows: follows)
        let table = TextTable(
            copy.ranges,
            [
                .number("partition") { $0.partition }, .number("earliest") { $0.earliestOffset },
                .number("end") { $0.endOffset }, .number("added") { $0.added },
            ])
        try BufferedOutput.print(table.text)
        let explanation =
            "archived \(counted(copy.addedCount, "record")) of \(topic) to sqlite:\(archive)"
        StandardError.write(
            line: "\(explanation)\(StopSignal.ofProcess.isRequested ? ", then stopped" : "")")
    }

    private func run(_ copy: ArchiveCopy, follows: Bool) throws {
        let progress = { (count: Int64) in
            Console.show(progress: "archived \(counted(count, "record"))")
        }
        defer { Console.show(progress: "") }
        let isStopped = { StopSignal.ofProcess.isRequested }
        if follows {
            try copy.follow(isStopped: isStopped, onProgress: progress)
        } else {
            try copy.copyToEnd(isStopped: isStopped, onProgress: progress)
        }
    }

    private func named(
        _ option: String?, _ name: String, _ variable: String
    ) throws(CommandError) -> String {
        if let text = option ?? Environment()[variable] { return text }
        throw .usage("\(name) is missing: give it, or set \(variable)")
    }

    /// The archive's file, which must not be that of the log.
    private static func archive(_ text: String, source: LogAddress) throws(CommandError) -> String {
        guard case .sqlite(let path)? = try? LogAddress(text) else {
            throw .usage("--to '\(text)' is not an archive: write sqlite:PATH")
        }
        if case .sqlite(let other) = source,
            URL(fileURLWithPath: other).resolvingSymlinksInPath()
                == URL(fileURLWithPath: path).resolvingSymlinksInPath()
        {
            throw .usage("--from and --to name the same file: give --to another one")
        }
        return path
    }

    func start(_ environment: Environment) throws -> ArchiveStart {
        var offset = fromOffset
        if let text = environment["WEIR_FROM_OFFSET"], offset == nil, fromTime == nil {
            offset = Int64(text)
            guard offset != nil else {
                throw CommandError.usage(
                    "WEIR_FROM_OFFSET '\(text)' is not an offset: write a number")
            }
        }
        let time = fromTime ?? (offset == nil ? environment["WEIR_FROM_TIME"] : nil)
        guard offset == nil || time == nil else {
            throw CommandError.usage("--from-offset and --from-time exclude each other: give one")
        }
        if let offset {
            guard offset >= 0 else {
                throw CommandError.usage("--from-offset is negative: write 0 or more")
            }
            return .offset(offset)
        }
        return try time.map { .time(try LogTime.milliseconds($0, option: "--from-time")) }
            ?? .earliest
    }

    private func partitions(_ environment: Environment) throws -> [Int32]? {
        guard let text = partitions ?? environment["WEIR_PARTITIONS"], text != "all" else {
            return nil
        }
        return try WorkerOptions.partitions(text)
    }
}
