import ArgumentParser
import EventLog
import Foundation
import JSON
import Program
import Reports
import Streams
import Wording

struct LagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lag",
        abstract: "Prints the lag of each partition of the stores.",
        discussion: """
            Prints a line for each store and partition:

              next_offset       the first record that is not folded
              earliest, end     the bounds of the log
              lag               the number of records from next_offset to end
              lag_seconds       the age of the record at next_offset (0 without lag)
              committed_offset  the offset of the worker's consumer group, the group in its file of
                                --pipelines: everything below it is folded and published

            The note names partitions without a store, and stores that cannot continue. The store of \
            partner-postbacks is deliveries.sqlite: documents that were not read yet are lag, documents that \
            wait for a partner are pending. The summary shows the age of the oldest one. The command does not \
            change stores and does not join the group.

              weir lag
              weir lag --log kafka://localhost:9092 --data data-a --data data-b --format json
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let report = try LagReport(
            directories: data.directories, log: log.open(.existing, data, pipelines),
            groups: pipelines.configuration(of: data).groups(),
            nowMilliseconds: WallClock.milliseconds)
        try BufferedOutput.print(report, as: format)
        if report.streams.isEmpty {
            Console.write(
                "no stores in \(data.listed): run a worker first, or give --data")
        }
    }
}

extension LagReport: Report {
    var table: String {
        guard !streams.isEmpty else { return "no stores\n" }
        let rows = streams.flatMap { stream in stream.partitions.map { (stream.stream, $0) } }
        let table = TextTable(
            rows, [.text("stream") { $0.0 }] + Self.columns.map { $0.of { $0.1 } }, keyCount: 2)
        return (table.shownLines + [""] + streams.map(summary)).joined(separator: "\n") + "\n"
    }

    private static let columns: [ReportColumn<PartitionLag>] = [
        .number("partition") { $0.partition }, .number("next_offset") { $0.nextOffset },
        .number("earliest") { $0.earliestOffset }, .number("end") { $0.endOffset },
        .number("lag") { $0.lag }, .number("lag_seconds") { $0.lagSeconds },
        .number("committed_offset") { $0.committedOffset }, .text("store") { $0.store },
        .text("note") { $0.note },
    ]

    private func summary(_ stream: StreamLag) -> String {
        let partitions = stream.furthest
        let stuck = partitions.count { $0.lag == nil && !$0.isUnanswered }
        let unanswered = partitions.count { $0.isUnanswered }
        let measured = partitions.count - stuck - unanswered
        var parts: [String] = []
        if measured > 0 || partitions.isEmpty {
            var explanation = "\(counted(stream.lag, "record")) behind in \(measured)"
            if measured < partitions.count { explanation += " of \(partitions.count)" }
            explanation += " partitions"
            if let seconds = stream.lagSeconds, stream.lag > 0 {
                explanation += ", the oldest for \(seconds) s"
            }
            parts.append(explanation)
        }
        let unfolded = partitions.count { $0.store == nil }
        if unfolded > 0 { parts.append("\(unfolded) not folded by any store") }
        if stuck > 0 { parts.append("\(stuck) cannot continue: see the note") }
        if unanswered > 0 { parts.append("\(unanswered) unknown now: see the note") }
        if let waiting = stream.waiting {
            var explanation = "\(waiting.count) pending"
            if let seconds = nowMilliseconds.flatMap(waiting.seconds) {
                explanation += ", the oldest for \(seconds) s"
            }
            parts.append(explanation)
        }
        return "\(stream.stream): " + parts.joined(separator: "; ")
    }

    func write(to json: inout JSONText) {
        json.object { json in json.objects("streams", streams, writeMembers) }
    }

    private func writeMembers(of stream: StreamLag, to json: inout JSONText) {
        json.member("stream", stream.stream)
        json.member("topic", stream.topic)
        json.member("lag", stream.lag)
        json.member("lag_seconds", stream.lagSeconds)
        if let waiting = stream.waiting {
            json.member("pending", waiting.count)
            json.member("pending_seconds", nowMilliseconds.flatMap(waiting.seconds))
        }
        json.objects("partitions", stream.partitions) { $1.members(of: $0, Self.columns) }
    }
}
