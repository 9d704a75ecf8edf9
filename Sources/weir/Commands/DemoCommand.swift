import ArgumentParser
import CDemoRecords
import ConfigurationValues
import Engine
import EventLog
import Foundation
import History
import Logging
import Program
import Reports
import Streams

struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs the whole pipeline on sample records and shows what came of it.",
        discussion: """
            Publishes a day of an app's advertising to an embedded log: auctions, impressions, clicks, \
            postbacks (those that verify were signed by Apple) and notifications of the store. Runs the \
            workers with the configuration of --pipelines, and prints the funnel, what was counted, \
            what was refused and why, and what partners get.
            """)

    @Option(help: "Where to leave log and stores: an empty directory. Default: a temporary one.")
    var data: String?
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var topics: TopicsOptions
    @OptionGroup var access: FileAccessOptions

    func run() throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let directory =
            data ?? NSTemporaryDirectory() + "weir-demo-\(UUID().uuidString.prefix(8))"
        let address = LogAddress.sqlite(path: directory + "/log.sqlite")
        guard !FileManager.default.fileExists(atPath: directory + "/log.sqlite") else {
            throw CommandError.failure(
                "\(directory) holds a log already: give --data an empty directory")
        }
        let log = try LogOptions.open(
            address, .create, pipelines: pipelines.pipelines)
        for topic in try topics.directory(pipelines.directory).topics() { try log.create(topic) }
        let published = try DemoRecords.all()
        let writer = try log.writer()
        for (_, records) in published { try writer.append(records) }
        let options = WorkerOptions(
            log: address, data: directory, pipelines: pipelines.directory.path, untilEnd: true)
        for stream in allStreams { try stream.work(options, stop: .ofProcess) }

        let output = BufferedOutput()
        let counts = published.map { "\($0.records.count) of \($0.topic)" }
        try output.write(
            """
            Weir's demo: records published, verified, folded and stored
              \(counts.joined(separator: ", "))

            """)
        try DemoReport(directory: directory, pipelines: pipelines.directory, log: log).write(
            to: output)
        try output.flush()
    }
}

/// The records of the demo's day, compiled in from `examples/demo`.
enum DemoRecords {
    /// All records by topic, in the format of `weir publish`.
    static func all() throws -> [(topic: String, records: [OutgoingRecord])] {
        var topics: [(topic: String, records: [OutgoingRecord])] = []
        while let topic = weir_demo_topic(topics.count)?.pointee {
            let name = String(cString: topic.name)
            let lines = UnsafeRawBufferPointer(start: topic.lines, count: topic.length)
            let records = try lines.split(separator: UInt8(ascii: "\n")).map { line in
                try RecordLine.record(
                    UnsafeRawBufferPointer(rebasing: line), topic: name, partitionCount: .max)
            }
            topics.append((name, records))
        }
        return topics
    }
}

struct DemoReport {
    let directory: String
    let pipelines: PipelineDirectory
    let log: any LogBackend

    func write(to output: BufferedOutput) throws {
        try writeFunnel(to: output)
        for (title, dump, columns) in Self.sections {
            try section(title, dump, by: columns, to: output)
        }
        try writePartnerPostbacks(to: output)
        let digest = try OpenStores(directories: [directory]).digest()
        try output.write(
            """

            The state in one line (weir digest): the same wherever this log is folded
              \(digest)

            Everything is in \(directory). Look on with
              weir dump funnel --date install --data \(directory)

            """)
    }

    /// From the bid to the refund, one campaign per line, in three tables that fit a terminal.
    private func writeFunnel(to output: BufferedOutput) throws {
        try output.write("\nThe funnel of each campaign, from the bid to the refund\n")
        for measures in [
            "bids,wins,win_rate,presented,viewed,clicks,ctr,installs,install_rate",
            "cost_micros,cpi,revenue_min_micros,revenue_max_micros,roas_min,roas_max",
            "null_rate,app_refunds,app_refund_rate,maturity",
        ] {
            try write("funnel", by: "app_id,campaign,name", ["--measures", measures], to: output)
        }
    }

    /// The shown sections: a title, a dump, and its grouping columns.
    private static let sections: [(title: String, dump: String, columns: String?)] = [
        (
            "What was bid, won and billed (prices are CPM, in millionths)", "bids",
            "seat,campaign,currency"
        ),
        ("Why bids were lost: OpenRTB's reason codes", "loss-reasons", "reason"),
        (
            "Whether the network really signed the ads of these bids", "bid-signatures",
            "seat,verdict"
        ),
        ("What was shown, and seen", "impressions", "format,placement"),
        ("What was tapped, and what only looks like it", "overlay-clicks", "format"),
        ("Postbacks under their verdict", "postbacks", "version,campaign,app_id,verdict"),
        (
            "What their conversion values mean under the apps' models", "decoded-events",
            "app_id,model,event,currency"
        ),
        (
            "What installs were told to set, and say they have, beside what postbacks brought",
            "conversion-updates", "app_id,sequence_index,kind,value"
        ),
        (
            "What the store told: purchases, renewals, refunds (money in millionths)",
            "store-notifications", "product_id,currency"
        ),
        ("What became of every record", "outcomes", "topic,type"),
        (
            "What was refused, and why (kept with its bytes, and in the dead letters)", "rejected",
            nil
        ),
        ("What claims to be from the store, and is not", "untrusted", nil),
        ("A signed postback that came again with another value", "conflicts", nil),
    ]

    /// A dump below its title and command. Measures that are 0 in every row are left out.
    private func section(
        _ title: String, _ name: String, by columns: String?, to output: BufferedOutput
    ) throws {
        try output.write("\n\(title)\n")
        var request = ReportRequest(name: name)
        if let columns { request.grouping = try ReportRequest.Grouping(columns) }
        let dump = try OpenStores(directories: [directory]).dump(request)
        let counted = dump.countedMeasures
        let shortening =
            !counted.isEmpty && counted.count < dump.measures.count
            ? ["--measures", counted.joined(separator: ",")] : []
        try write(name, by: columns, shortening, to: output)
    }

    private func write(
        _ name: String, by columns: String?, _ options: [String], to output: BufferedOutput
    ) throws {
        let shown = ["dump", name] + (columns.map { ["--by", $0] } ?? []) + options
        try output.write("$ weir \(shown.joined(separator: " "))\n")
        let locations = ["--data", directory, "--pipelines", pipelines.path]
        let command = try DumpCommand.parse(Array(shown.dropFirst()) + locations)
        var text: [UInt8] = []
        try command.writeTable { text += $0 }
        try writeIndented(text, to: output)
    }

    private func writeIndented(_ text: [UInt8], to output: BufferedOutput) throws {
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            try output.write("  \(line)\n")
        }
    }

    private func writePartnerPostbacks(to output: BufferedOutput) throws {
        let topic = try pipelines.partnerPostbacksTopic()
        try output.write("\nWhat was published to partners\n$ weir read --topic \(topic)\n")
        var reading = try TopicReading(log.reader(topic: topic), partition: nil, from: nil, to: nil)
        var lines: [UInt8] = []
        let mask = SecretMask(topic: topic)
        try reading.readRange { record in
            RecordLine.append(record, maskedValue: mask.masked(record), to: &lines)
        }
        try writeIndented(lines, to: output)
    }
}
