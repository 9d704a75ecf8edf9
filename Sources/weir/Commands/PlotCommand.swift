import ArgumentParser
import Foundation
import Program
import Reports
import Streams

struct PlotCommand: GroupingCommand {
    static let configuration = CommandConfiguration(
        commandName: "plot",
        abstract: "Draws a measure of a dump: bars in the terminal, curves as SVG.",
        discussion: """
            The last column of --by, or the column of --along, is the horizontal axis. Each combination of the \
            other columns is a curve. A measure with bounds is drawn as a band: --measure revenue means \
            revenue_min_micros and revenue_max_micros, --measure roas means roas_min and roas_max. A value that \
            can still grow by maturity has a star, in SVG an open dot.

              weir plot roas --by campaign --measure roas
              weir plot cohorts --by currency --curve --measure gross_micros
              weir plot funnel --by day --measure installs --since 30d --svg installs.svg
            """)

    @Argument(help: "The name of the dump.")
    var name: String
    @OptionGroup var grouping: GroupingOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var zone: TimeZoneOptions
    @OptionGroup var conditions: ConditionOptions
    @Option(help: "The measure, or the common name of its bounds.")
    var measure: String
    @Option(
        help: ArgumentHelp(
            "The column of the horizontal axis (default: the last of --by).", valueName: "column"))
    var along: String?
    @Flag(help: "Cohorts and install-cohorts: add up over age.")
    var curve = false
    @Option(
        name: .customLong("in"),
        help: ArgumentHelp(
            "Convert amounts into this currency with the rates of rates.csv in --pipelines.",
            valueName: "currency"))
    var target: String?
    @Option(help: ArgumentHelp("Write SVG to this file; - for standard output.", valueName: "file"))
    var svg: String?
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions

    /// The width if standard output is not a terminal.
    private static let columns = 80

    func run() throws {
        let configuration = pipelines.configuration(of: data)
        var request = try request(name, configuration)
        guard request.grouping != .total else {
            throw CommandError.usage(
                "--by total has no column for the horizontal axis: give --by a column, such as day")
        }
        request.curve = curve
        request.target = target
        // Counts do not have a currency and must not be split by it.
        let report = try requireReport(name)
        let valid = report.measureNames
        if let shown = Plot.columns(of: measure, in: valid) {
            request.measures =
                [shown.low, shown.high] + valid.filter { $0 == "maturity" }
        }
        let stores = try data.stores(clock.present)
        let answer = try request.answer(stores, configuration, as: .ndjson)
        // Rows by arrival change only until their day is over, whatever their installs add later.
        let newestDay =
            report.abilities.contains(.dates)
            ? request.timeZone.day(milliseconds: try stores.newestMilliseconds(of: name)) : nil
        let chart = try Plot(
            answer.report, value: measure, step: along, daysAreCompleteBefore: newestDay, of: name)
        switch svg {
        case nil:
            try BufferedOutput.print(
                chart.text(columns: StandardStream.output.terminalColumns ?? Self.columns))
        case "-": try BufferedOutput.print(chart.svg)
        case let path?:
            do {
                try Data(chart.svg.utf8).write(to: URL(fileURLWithPath: path))
            } catch {
                throw CommandError.failure("cannot write \(path): \(error.localizedDescription)")
            }
        }
        answer.notices.forEach(Console.write)
        try stores.warnOfOtherRules()
    }
}
