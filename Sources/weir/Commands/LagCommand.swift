import ArgumentParser
import Foundation

/// `weir lag`
struct LagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lag",
        abstract: "Says how far behind the log each partition of the stores is.",
        discussion: """
            A line for each store and partition: next_offset is the first record that is not folded, \
            earliest and end are what the log holds, lag is the records between, and lag_seconds the \
            age of the first of them (0 when there is none). committed_offset is what the worker's \
            consumer group (group in its file of --pipelines) has told the log: everything below it is \
            folded and published. A partition \
            that no store has, and a store that cannot go on, say so in the note. Of partner-postbacks the \
            store is deliveries.sqlite: what is not taken over lags, and what waits for a partner is \
            pending, the oldest for so many seconds. The stores are not changed, and the group is not \
            joined.

              weir lag
              weir lag --log kafka://localhost:9092 --data data-a --data data-b --format json
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var pipelines: PipelinesOptions
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        let log = try log.open(.existing, dataDirectories: data.directories)
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let report = try LagReport(
            directories: data.directories, log: log, groups: pipelines.groups(),
            nowMilliseconds: now)
        let output = BufferedOutput()
        try output.write(report.text(format))
        try output.flush()
        if report.streams.isEmpty {
            Notice.write(
                "no stores in \(data.directories.joined(separator: ", ")): run a worker first, "
                    + "or give --data")
        }
    }
}
