import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import Program
import Reports
import Streams

struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compares two sets of stores: what differs, in which rows and by how much.",
        discussion: """
            A and B are data directories, mostly the one that is in use and one that was replayed. \
            Without NAME there is a line for each dump and measure that differs in any row; with it, a \
            line for each row and measure, the largest difference first, and the totals at the end.

              weir replay --topic postbacks --into fixed
              weir diff data fixed
              weir diff data fixed decoded-events --by day,campaign,currency --measure revenue_max_micros

            difference is B less A. Amounts of several currencies are never added up. The stores have to be of one log; streams that only one directory has \
            are left out. docs/guides/analyse-campaigns.md has more.
            """)

    @Argument(help: "The data directory that differences are measured from.")
    var first: String
    @Argument(help: "The data directory that is compared with it.")
    var second: String
    @Argument(help: "Name of a dump (default: all of them, summed up).")
    var name: String?
    @OptionGroup var selection: SelectionOptions
    @OptionGroup var comparison: ComparisonOptions
    @Flag(help: "End with exit code 1 when anything differs.")
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
        guard let name else {
            guard selection.by == nil, selection.conditions.isEmpty, comparison.isDefault else {
                throw CommandError.usage(
                    "--by, --where, --measure, --all and --limit are of one dump: name it")
            }
            return try sets[0].diff(
                sets[1], everyDumpBy: selection.request(""),
                models: pipelines.configuration.conversionModels())
        }
        let request = try selection.request(name)
        let question = comparison.question(request)
        return try sets[0].diff(
            sets[1],
            knownReport(name, .sums).comparedRows(
                question.request, pipelines.configuration),
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

struct WhatIfCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "what-if",
        abstract: "Shows what other conversion models would make of the values that came.",
        discussion: """
            Decodes the stored conversion values under the models of --models, and compares the events \
            and the revenue with those that are stored: the difference that a replay under these models \
            would make, without one.

              cp -r pipelines/conversion-models candidate
              edit candidate/525463029.yaml
              weir what-if --models candidate
              weir what-if --models candidate --by total --where app_id=525463029

            difference is candidate less stored. Apps without a file in --models are left out. The columns \
            are those of decoded-events. docs/guides/analyse-campaigns.md has more.
            """)

    @Option(
        help: ArgumentHelp(
            "The directory of the candidate models: <app>.yaml, or a folder conversion-models of them.",
            valueName: "dir"))
    var models: String
    @OptionGroup var selection: SelectionOptions
    @OptionGroup var comparison: ComparisonOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    /// The campaign, and the columns over which rows cannot be summed.
    private static let columns = ["ad_network_id", "campaign", "app_id", "event", "currency"]

    func run() throws {
        let format = try format.chosen()
        var request = try selection.request("decoded-events")
        if selection.by == nil { request.grouping = .columns(Self.columns) }
        let candidates = try PipelineDirectory(models).candidateModels()
        _ = try data.stores().whatIf(
            candidates, comparison.question(request), catalog: pipelines.configuration.catalog()
        ).write(as: format, isRaw: csv.isSet())
    }
}

struct ChangesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Says why a report says something else today than it did: in parts that add up.",
        discussion: """
            What the dump said at --from, what it says at --to, and of the difference how much later \
            records added, how much another configuration of the stores made, and how much a \
            correction. At each time those stores count that were in force, and of their records those \
            with an earlier timestamp.

              weir changes funnel --from 2026-11-17 --by day,name
              weir changes decoded-events --from 2026-11-17T09:30:00Z --to 2026-11-21 \\
                --by campaign,currency --where app_id=525463029

            Each line is a row and a measure: value_from + later_records + configuration + correction = \
            value_to. Standard error names the promotions in between. Whole hours are told by the \
            stores alone; else the records of that hour are read from the log. docs/guides/analyse-campaigns.md has more.
            """)

    @Argument(help: "Name of the dump.")
    var name: String
    @Option(parsing: .unconditional, help: "The earlier time: \(LogTime.forms).")
    var from: String
    @Option(parsing: .unconditional, help: "The later time. Default now.")
    var to: String?
    @OptionGroup var selection: SelectionOptions
    @OptionGroup var source: SourceOptions
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
        let hours = try source.installation.hours()
        let request = try selection.request(name)
        return try StoreChanges(
            knownReport(name, .sums).comparedRows(request, source.pipelines.configuration),
            directories: source.data.directories, fromMilliseconds: start, toMilliseconds: end,
            hours: hours)
    }
}

struct ReconcileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Sets the postbacks that networks got against the copies that developers got.",
        discussion: """
            Devices send a winning postback to the ad network and, where the app asks for it, to its \
            developer. Each pair of copies is found by its id. By day and campaign: how many match, how \
            many copies are missing on either side, and how many carry other values.

              weir reconcile --since 2026-11-01
              weir reconcile --by ad_network_id --format csv
              weir reconcile --where campaign=5239 --records

            --records lists the postbacks that do not match, with the partition and the offsets of their \
            copies, for weir read and weir explain. Only trusted copies count; the others are \
            counted apart. The columns: hour, day, ad_network_id, campaign, app_id, source_app_id, \
            sequence_index. docs/guides/analyse-campaigns.md has more.
            """)

    @OptionGroup var selection: SelectionOptions
    @Flag(help: "A line for each postback that does not match.")
    var records = false
    @Flag(help: "With --records: those that match, too.")
    var all = false
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        guard records || !all else {
            throw CommandError.usage("--all is of --records: counts have all postbacks")
        }
        var question = ReconciliationQuery(request: try selection.request("reconcile"))
        question.showsRecords = records
        question.showsMatched = all
        question.trustsDevelopment = try pipelines.configuration.trustsDevelopment()
        let found = try data.stores(clock.present).reconciliation(question)
        try BufferedOutput.print(found.table, as: format, isRaw: csv.isSet())
        found.notices.forEach(Console.write)
    }
}
