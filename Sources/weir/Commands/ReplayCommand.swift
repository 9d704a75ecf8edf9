import ArgumentParser
import EventLog
import Foundation
import Inspection
import Streams
import Worker

/// `weir replay`
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Folds the log again into fresh stores, beside the live ones; publishes nothing.",
        discussion: """
            Reads topics from their beginning, or a range of them, and folds them into --into DIR as the \
            workers do, at their speed. By default every record is folded under the configuration that \
            the live store has recorded for it, so that the result has the same weir digest; with \
            --configuration present everything is folded as the pipelines say now. Workers go on \
            meanwhile, nothing is sent to partners, and no consumer group is touched. Stopped at any \
            instant, the same command goes on where it was.

            --dry-run says first what is still there and about how long it takes. --follow goes on with \
            what is appended, until it is stopped or weir promote DIR puts the stores in force.

              weir replay --into data/sets/fixed --configuration present --dry-run
              weir replay --into data/sets/fixed --configuration present
              weir digest --data data/sets/fixed
              weir promote data/sets/fixed
            """)

    @Option(
        help:
            "A topic; may be given several times (default: all that have a store or are in the log)."
    )
    var topic: [String] = []
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Begin at this offset of every partition (default: the earliest).", valueName: "offset")
    )
    var fromOffset: Int64?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Begin at the first record of this time: \(LogTime.forms).",
            valueName: "time"))
    var fromTime: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "End before this offset of every partition (default: the end of the log).",
            valueName: "offset"))
    var toOffset: Int64?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "End before the first record of this time or later.", valueName: "time"))
    var toTime: String?
    @Option(
        help: ArgumentHelp("The directory of the new stores: a new or empty one.", valueName: "dir")
    )
    var into: String
    @OptionGroup var log: LogOptions
    @Option(
        help: ArgumentHelp(
            "An archive to read first: sqlite:PATH, or off (WEIR_ARCHIVE; default: off).",
            valueName: "address"))
    var archive: String?
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @Option(
        name: .customLong("configuration"),
        help: ArgumentHelp(
            "recorded: as the live stores were folded; present: as the pipelines say now (default: recorded).",
            valueName: "which"))
    var mode: String?
    @Flag(help: "Say what would be read, what of it is gone, and about how long it takes; no more.")
    var dryRun = false
    @Flag(help: "Go on with what is appended, until stopped or promoted.")
    var follow = false
    @Option(
        help: ArgumentHelp(
            "Most records that are committed together; nothing else depends on it (default: as the pipelines say).",
            valueName: "count"))
    var batchRecords: Int?
    @Option(
        help: ArgumentHelp(
            "Threads that verify signatures; nothing else depends on it (default: one a processor).",
            valueName: "count"))
    var threads: Int?
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        let order = try order()
        guard !follow || order.range.isOpen else {
            throw CommandError.usage("--follow has no end: leave --to-offset and --to-time out")
        }
        let run = try ReplayRun(order, topics: topic)
        if order.mode == .recorded { tellOfMissingStores(run, order) }
        try run.lostHistory().forEach { Notice.write($0.words) }
        let output = BufferedOutput()
        if dryRun {
            try output.write(ReplayPlanReport(try run.plan()).text(format))
            return try output.flush()
        }
        StopSignal.listen()
        let (streams, isDone) = try run.replay(follows: follow, stop: .ofProcess)
        try output.write(ReplayReport(streams).text(format))
        try output.flush()
        guard isDone else {
            throw CommandError.failure(
                "stopped before the end: run the same command again to go on")
        }
    }

    private func tellOfMissingStores(_ run: ReplayRun, _ order: ReplayOrder) {
        guard !run.streamsWithoutStore.isEmpty else { return }
        Notice.write(
            "no store of \(run.streamsWithoutStore.joined(separator: ", ")) in "
                + "\(order.dataDirectories.joined(separator: ", ")): folded under the present "
                + "configuration")
    }

    private func order() throws -> ReplayOrder {
        guard fromOffset == nil || fromTime == nil, toOffset == nil || toTime == nil else {
            throw CommandError.usage("an offset and a time exclude each other")
        }
        guard (fromOffset ?? 0) >= 0, (toOffset ?? 0) >= 0 else {
            throw CommandError.usage("offsets begin with 0")
        }
        if let fromOffset, let toOffset, toOffset <= fromOffset {
            throw CommandError.usage(
                "--to-offset \(toOffset) is not behind --from-offset \(fromOffset): nothing lies between"
            )
        }
        if let batchRecords, !(1...1_000_000).contains(batchRecords) {
            throw CommandError.usage("--batch-records is \(batchRecords): write 1 to 1000000")
        }
        let start = try fromTime.map { try LogTime.milliseconds($0, option: "--from-time") }
        let end = try toTime.map { try LogTime.milliseconds($0, option: "--to-time") }
        if let start, let end, end <= start {
            throw CommandError.usage(
                "--to-time is not behind --from-time: nothing lies between")
        }
        return ReplayOrder(
            source: try ReplaySource(
                log, archive: archive, data: data.directories, pipelines: pipelines),
            dataDirectories: data.directories, directory: into,
            range: ReplayRange(
                fromOffset: fromOffset, fromMilliseconds: start, toOffset: toOffset,
                toMilliseconds: end),
            mode: try replayMode(), batchRecords: batchRecords,
            threadCount: try threadCount(threads), showsProgress: true)
    }

    private func replayMode() throws(CommandError) -> ReplayMode {
        guard let mode else { return .recorded }
        guard let known = ReplayMode(rawValue: mode) else {
            throw .usage("no configuration '\(mode)': there are recorded and present")
        }
        return known
    }
}

extension LostHistory {
    /// What is gone, where the log begins now, and what to do.
    var words: String {
        let begin =
            firstMilliseconds.map { "\(offsets.upperBound), of \(UTC.text(milliseconds: $0))" }
            ?? "\(offsets.upperBound), and holds no record"
        return
            "\(topic)/\(partition) begins at offset \(begin): the records before it (\(offsets.lowerBound) to "
            + "\(offsets.upperBound - 1)) are gone from the log, cannot be replayed and are in no number of the new "
            + "stores; give --archive a copy that has them"
    }
}

/// How many threads verify signatures: as many as were asked for, else one a processor.
func threadCount(_ option: Int?) throws(CommandError) -> Int {
    guard let option else { return ProcessInfo.processInfo.activeProcessorCount }
    guard (1...1024).contains(option) else {
        throw .usage("--threads is \(option): write 1 to 1024")
    }
    return option
}

extension ReplaySource {
    /// What the options of a command name.
    init(
        _ log: LogOptions, archive: String?, data: [String], pipelines: PipelinesOptions
    ) throws {
        var path: String?
        if let archive = archive ?? Environment()["WEIR_ARCHIVE"], archive != "off" {
            guard case .sqlite(let file)? = try? LogAddress(archive) else {
                throw CommandError.usage(
                    "--archive '\(LogAddress.masked(archive))' is no archive: write sqlite:PATH")
            }
            path = file
        }
        self.init(
            log: try LogAddress(Environment().log(log.log, dataDirectories: data)),
            archivePath: path, pipelines: pipelines.directory)
    }
}
