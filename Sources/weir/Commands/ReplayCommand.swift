import ArgumentParser
import Engine
import EventLog
import Foundation
import History
import JSON
import Program
import Reports
import Store
import Streams
import Wording

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Folds the log again into new stores; publishes nothing.",
        discussion: """
            Reads topics, or a range of them, and folds them into --into DIR like the workers, at their speed. \
            By default, each record is folded under the configuration that the live store has recorded for it, \
            so the weir digest is the same. With --configuration present, all records are folded under the \
            current pipelines.

            Workers keep running. The command sends nothing to partners and uses no consumer group. If it is \
            stopped at any time, the same command continues.

            --dry-run first prints which records still exist and how long the replay takes. --follow keeps \
            folding new records until it is stopped, or until weir promote DIR puts the stores in force.

              weir replay --into data/sets/fixed --configuration present --dry-run
              weir replay --into data/sets/fixed --configuration present
              weir digest --data data/sets/fixed
              weir promote data/sets/fixed
            """)

    @Option(
        help:
            "A topic; repeatable (default: all with a store or in the log)."
    )
    var topic: [String] = []
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Start at this offset of every partition (default: the earliest).", valueName: "offset")
    )
    var fromOffset: Int64?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Start at the first record from this time on: \(LogTime.forms).",
            valueName: "time"))
    var fromTime: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Stop before this offset of every partition (default: the end of the log).",
            valueName: "offset"))
    var toOffset: Int64?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Stop before the first record from this time on.", valueName: "time"))
    var toTime: String?
    @Option(
        help: ArgumentHelp("The directory of the new stores, new or empty.", valueName: "dir")
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
    @OptionGroup var access: FileAccessOptions
    @Option(
        name: .customLong("configuration"),
        help: ArgumentHelp(
            "recorded: the configurations of the live stores; present: the current pipelines (default: recorded).",
            valueName: "which"))
    var mode: String?
    @Flag(help: "Print what would be read, what is missing, and how long it takes; fold nothing.")
    var dryRun = false
    @Flag(help: "Keep folding new records until stopped or promoted.")
    var follow = false
    @Option(
        help: ArgumentHelp(
            "The maximum number of records in a commit; it does not affect the result (default: that of the pipelines).",
            valueName: "count"))
    var batchRecords: Int?
    @Option(
        help: ArgumentHelp(
            "Threads that fold partitions and verify signatures; the number does not affect the result (default: one for each processor).",
            valueName: "count"))
    var threads: Int?
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let order = try order()
        guard !follow || order.range.isOpen else {
            throw CommandError.usage("--follow excludes --to-offset and --to-time: remove them")
        }
        let run = try ReplayRun(order, topics: topic)
        if order.mode == .recorded { tellOfMissingStores(run, order) }
        try run.lostHistory().forEach { Console.write($0.explanation) }
        if dryRun {
            return try BufferedOutput.print(ReplayPlanReport(plans: run.plan()), as: format)
        }
        StopSignal.listen()
        let (streams, isDone) = try run.replay(follows: follow, stop: .ofProcess)
        try BufferedOutput.print(ReplayReport(streams: streams), as: format)
        for stream in streams where stream.erased > 0 {
            Console.write(
                "\(stream.topic): \(counted(stream.erased, "record")) \(stream.erased == 1 ? "was" : "were") erased before this replay, so the new store lacks what \(stream.erased == 1 ? "it" : "they") had added (weir dump rejected --where reason=erased)"
            )
        }
        guard isDone else {
            throw CommandError.failure(
                "stopped before the end: run the same command again to continue")
        }
    }

    private func tellOfMissingStores(_ run: ReplayRun, _ order: ReplayOrder) {
        guard !run.streamsWithoutStore.isEmpty else { return }
        Console.write(
            "no store of \(run.streamsWithoutStore.joined(separator: ", ")) in \(data.listed): "
                + "folded under the present configuration")
    }

    private func order() throws -> ReplayOrder {
        guard fromOffset == nil || fromTime == nil, toOffset == nil || toTime == nil else {
            throw CommandError.usage("an offset and a time exclude each other: give one")
        }
        guard (fromOffset ?? 0) >= 0, (toOffset ?? 0) >= 0 else {
            throw CommandError.usage("an offset is negative: write 0 or more")
        }
        if let fromOffset, let toOffset, toOffset <= fromOffset {
            throw CommandError.usage(
                "--to-offset \(toOffset) is not after --from-offset \(fromOffset), so the range is empty: correct one of them"
            )
        }
        if let batchRecords, !(1...1_000_000).contains(batchRecords) {
            throw CommandError.usage("--batch-records is \(batchRecords): write 1 to 1000000")
        }
        let start = try fromTime.map { try LogTime.milliseconds($0, option: "--from-time") }
        let end = try toTime.map { try LogTime.milliseconds($0, option: "--to-time") }
        if let start, let end, end <= start {
            throw CommandError.usage(
                "--to-time is not after --from-time, so the range is empty: correct one of them")
        }
        return ReplayOrder(
            source: try ReplaySource(log, archive: archive, data: data, pipelines: pipelines),
            dataDirectories: data.directories, directory: into,
            range: ReplayRange(
                fromOffset: fromOffset, fromMilliseconds: start, toOffset: toOffset,
                toMilliseconds: end),
            mode: try replayMode(), batchRecords: batchRecords,
            threadCount: try threadCount(threads), showsProgress: true)
    }

    private func replayMode() throws(CommandError) -> ReplayMode {
        guard let mode else { return .recorded }
        guard let chosen = ReplayMode(rawValue: mode) else {
            throw .usage("no configuration '\(mode)': write recorded or present")
        }
        return chosen
    }
}

extension LostHistory {
    var explanation: String {
        let begin =
            firstMilliseconds.map { "\(offsets.upperBound), of \(UTC.text(milliseconds: $0))" }
            ?? "\(offsets.upperBound), without a record"
        return
            "\(topic)/\(partition) starts at offset \(begin): earlier records (\(offsets.lowerBound) to "
            + "\(offsets.upperBound - 1)) are no longer in the log, cannot be replayed and do not count in the new "
            + "stores. Give --archive a copy that contains them"
    }
}

/// The number of threads that verify signatures: the option, otherwise one per processor.
func threadCount(_ option: Int?) throws(CommandError) -> Int {
    guard let option else { return ProcessInfo.processInfo.activeProcessorCount }
    guard (1...1024).contains(option) else {
        throw .usage("--threads is \(option): write 1 to 1024")
    }
    return option
}

extension ReplaySource {
    init(
        _ log: LogOptions, archive: String?, data: DataOptions, pipelines: PipelinesOptions
    ) throws {
        let path = try Environment().archivePath(archive)
        self.init(
            log: try LogAddress(log.text(data)), archivePath: path,
            pipelines: pipelines.directory(of: data))
    }
}

/// The offsets that a replay would read.
struct ReplayPlanReport: Report {
    let plans: [ReplayPlan]

    var table: String {
        let table = TextTable(
            plans.flatMap { plan in plan.partitions.map { (topic: plan.topic, partition: $0) } },
            [
                .text("topic") { $0.topic }, .number("partition") { $0.partition.partition },
                .number("from") { $0.partition.fromOffset },
                .number("to") { $0.partition.toOffset },
                .number("records") { $0.partition.records },
                .text("log") { Self.explanation($0.partition.log) },
                .text("archive") { Self.explanation($0.partition.archive) },
                .text("gone") { Self.explanation($0.partition.gone) },
            ], keyCount: 2)
        return (table.shownLines + [""] + plans.map(Self.summary)).joined(separator: "\n") + "\n"
    }

    /// The first and the last offset as text.
    private static func explanation(_ offsets: Range<Int64>?) -> String {
        guard let offsets, !offsets.isEmpty else { return "" }
        return "\(offsets.lowerBound)-\(offsets.upperBound - 1)"
    }

    private static func summary(_ plan: ReplayPlan) -> String {
        var explanation = "\(plan.topic): \(counted(plan.records, "record"))"
        if let rate = plan.recordsPerSecond, let seconds = plan.seconds {
            explanation += ", \(Int64(rate)) a second in a sample, about \(duration(seconds))"
        }
        switch plan.mode {
        case .recorded: explanation += "; each under its recorded configuration"
        case .present: explanation += "; under the present configuration"
        }
        if plan.lacksStore { explanation += ", because no store has recorded one" }
        let gone = plan.partitions.reduce(0) { $0 + Int64($1.gone?.count ?? 0) }
        if gone > 0 {
            explanation +=
                "; \(counted(gone, "offset")) \(gone == 1 ? "is" : "are") missing: give --archive a copy that contains them, or continue without them"
        }
        return explanation
    }

    private static func duration(_ seconds: Double) -> String {
        let seconds = Int64(seconds.rounded(.up))
        if seconds < 120 { return "\(seconds) s" }
        return seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
    }

    func write(to json: inout JSONText) {
        json.objects(plans) { plan, json in
            json.member("stream", plan.stream)
            json.member("topic", plan.topic)
            json.member("configuration", plan.mode.rawValue)
            json.member("records", plan.records)
            json.member("records_per_second", plan.recordsPerSecond.map { Int64($0) })
            json.member("seconds", plan.seconds.map { Int64($0.rounded(.up)) })
            json.objects("partitions", plan.partitions) { partition, json in
                json.member("partition", partition.partition)
                json.member("from", partition.fromOffset)
                json.member("to", partition.toOffset)
                json.member("records", partition.records)
                Self.write("log", partition.log, to: &json)
                Self.write("archive", partition.archive, to: &json)
                Self.write("gone", partition.gone, to: &json)
            }
        }
    }

    /// The first offset and the one after the last, or null.
    private static func write(_ name: String, _ offsets: Range<Int64>?, to json: inout JSONText) {
        json.name(name)
        guard let offsets, !offsets.isEmpty else { return json.raw("null") }
        json.array { json in
            json.raw(offsets.lowerBound)
            json.raw(offsets.upperBound)
        }
    }
}

/// The progress of replayed streams.
struct ReplayReport: Report {
    let streams: [ReplayedStream]

    var table: String {
        let rows = streams.flatMap { stream in stream.partitions.map { (stream.topic, $0) } }
        return TextTable(
            rows, [.text("topic") { $0.0 }] + Self.columns.map { $0.of { $0.1 } }
        ).text
    }

    private static let columns: [ReportColumn<PartitionState>] = [
        .number("partition") { $0.partition }, .number("first_offset") { $0.firstOffset },
        .number("next_offset") { $0.nextOffset }, .number("records") { $0.records },
    ]

    func write(to json: inout JSONText) {
        json.objects(streams) { stream, json in
            json.member("stream", stream.stream)
            json.member("topic", stream.topic)
            json.member("complete", stream.isComplete)
            json.member("erased", stream.erased)
            json.objects("partitions", stream.partitions) { $1.members(of: $0, Self.columns) }
        }
    }
}
