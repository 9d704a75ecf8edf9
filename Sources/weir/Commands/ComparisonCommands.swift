import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import Program
import Reports
import Streams

struct DiffCommand: GroupingCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compares two sets of stores, row by row and measure by measure.",
        discussion: """
            A and B are data directories, usually the one in use and a replayed one. Without NAME, the command \
            prints a line for each dump and measure that differs. With NAME, it prints a line for each row and \
            measure, the largest difference first, and the totals last.

              weir replay --topic postbacks --into fixed
              weir diff data fixed
              weir diff data fixed decoded-events --by day,campaign,currency --measure revenue_max_micros

            difference is B minus A. Amounts in different currencies are never added up. The stores must come \
            from the same log. Streams that only one directory contains are skipped. \
            docs/guides/analyse-campaigns.md has more.
            """)

    @Argument(help: "A: the data directory that is the base.")
    var first: String
    @Argument(help: "B: the data directory to compare with it.")
    var second: String
    @Argument(help: "Name of a dump (default: a summary of all).")
    var name: String?
    @OptionGroup var grouping: GroupingOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var zone: TimeZoneOptions
    @OptionGroup var conditions: ConditionOptions
    @OptionGroup var comparison: ComparisonOptions
    @Flag(help: "End with exit code 1 if anything differs.")
    var exitCode = false
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        let differs = try compare().write(as: format, isRaw: csv.isSet())
        guard !exitCode || !differs else { throw CommandError.differs }
    }

    private func compare() throws -> StoreComparison {
        let sets = try [first, second].map { try OpenStores(directories: [$0]) }
        let configuration = pipelines.configuration(data: [first])
        guard let name else {
            guard grouping.by == nil, conditions.arguments.isEmpty, comparison.isDefault else {
                throw CommandError.usage(
                    "--by, --where, --measure, --all and --limit need one dump: give its name")
            }
            return try sets[0].diff(
                sets[1], everyDumpBy: request("", configuration),
                DumpConfiguration(models: configuration.conversionModels()))
        }
        let request = try request(name, configuration)
        let question = comparison.question(request)
        return try sets[0].diff(
            sets[1],
            requireReport(name, .sums).comparedRows(
                question.request, configuration),
            question)
    }
}

extension StoreComparison {
    /// Writes the table and then the notices; returns whether there are differences.
    func write(as format: DumpFormat, isRaw: Bool) throws -> Bool {
        try BufferedOutput.print(table, as: format, isRaw: isRaw, ifEmpty: "same\n")
        notices.forEach(Console.write)
        return differs
    }
}

struct WhatIfCommand: GroupingCommand {
    static let configuration = CommandConfiguration(
        commandName: "what-if",
        abstract: "Decodes the received conversion values under other models.",
        discussion: """
            Decodes the stored conversion values under the models of --models, and compares the events and the \
            revenue with the stored ones. The result is the difference that a replay under these models would \
            make.

              cp -r pipelines/conversion-models candidate
              edit candidate/525463029.yaml
              weir what-if --models candidate
              weir what-if --models candidate --by total --where app_id=525463029

            difference is candidate minus stored. Apps without a file in --models are skipped. The columns are \
            those of decoded-events. docs/guides/analyse-campaigns.md has more.
            """)

    @Option(
        help: ArgumentHelp(
            "The directory of the candidate models: files <app>.yaml, or a folder conversion-models with these files.",
            valueName: "dir"))
    var models: String
    @OptionGroup var grouping: GroupingOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var zone: TimeZoneOptions
    @OptionGroup var conditions: ConditionOptions
    @OptionGroup var comparison: ComparisonOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    /// The campaign, and the columns over which rows cannot be summed.
    private static let columns = ["ad_network_id", "campaign", "app_id", "event", "currency"]

    func run() throws {
        let format = try format.chosen()
        let configuration = pipelines.configuration(of: data)
        var request = try request("decoded-events", configuration)
        if grouping.by == nil { request.grouping = .columns(Self.columns) }
        let candidates = try PipelineDirectory(models).candidateModels()
        _ = try data.stores().whatIf(
            candidates, comparison.question(request),
            catalog: configuration.catalog()
        ).write(as: format, isRaw: csv.isSet())
    }
}

struct ChangesCommand: GroupingCommand, InstallationCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Explains why a report has changed since an earlier time, in parts that add up.",
        discussion: """
            Prints the value at --from, the value at --to, and the parts of the difference: later records, \
            another configuration of the stores, and corrections. For each time, the command uses the stores \
            that were in force then, and only records with an earlier timestamp.

              weir changes funnel --from 2026-11-17 --by day,name
              weir changes decoded-events --from 2026-11-17T09:30:00Z --to 2026-11-21 \\
                --by campaign,currency --where app_id=525463029

            Each line is a row and a measure: value_from + later_records + configuration + correction = \
            value_to. The command names the promotions between the two times on standard error. For a time \
            within an hour, it reads the records of that hour from the log. docs/guides/analyse-campaigns.md has \
            more.
            """)

    @Argument(help: "Name of the dump.")
    var name: String
    @Option(parsing: .unconditional, help: "The earlier time: \(LogTime.forms).")
    var from: String
    @Option(parsing: .unconditional, help: "The later time (default: now).")
    var to: String?
    @OptionGroup var grouping: GroupingOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var zone: TimeZoneOptions
    @OptionGroup var conditions: ConditionOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var archive: ArchiveOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        let changes = try changes()
        try BufferedOutput.print(
            changes.table, as: format, isRaw: csv.isSet(), ifEmpty: "no changes\n")
        changes.notices.forEach(Console.write)
    }

    private func changes() throws -> StoreChanges {
        let start = try LogTime.milliseconds(from, option: "--from")
        let end =
            try to.map { try LogTime.milliseconds($0, option: "--to") }
            ?? WallClock.milliseconds
        let hours = try installation.hours()
        let request = try request(name, installation.configuration)
        return try StoreChanges(
            requireReport(name, .sums).comparedRows(request, installation.configuration),
            directories: data.directories, fromMilliseconds: start, toMilliseconds: end,
            hours: hours)
    }
}
