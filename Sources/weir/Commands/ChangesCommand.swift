import ArgumentParser
import Foundation
import Inspection
import Streams

/// `weir changes`
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
            stores alone; else the records of that hour are read from the log. docs/analysis.md has more.
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
        changes.notices.forEach(Notice.write)
    }

    private func changes() throws -> StoreChanges {
        let start = try LogTime.milliseconds(from, option: "--from")
        let end =
            try to.map { try LogTime.milliseconds($0, option: "--to") }
            ?? Int64(Date().timeIntervalSince1970 * 1000)
        let hours = try source.hours()
        let query = try selection.query(name)
        guard name != Funnel.name else {
            return try StoreChanges(
                funnel: source.pipelines.funnelQuery(query), directories: source.data.directories,
                fromMilliseconds: start, toMilliseconds: end, hours: hours)
        }
        return try StoreChanges(
            source.pipelines.dumpQuery(query), directories: source.data.directories,
            fromMilliseconds: start, toMilliseconds: end, hours: hours)
    }
}
