import CDemoRecords
import ConfigurationFiles
import EventLog
import Foundation
import Reports

/// The records of the demo's day: the files of `examples/demo`, which are compiled in.
enum DemoRecords {
    /// All records, topic by topic, as `weir publish` reads them.
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

/// What the demo prints about its stores and about what it published.
struct DemoReport {
    let directory: String
    let pipelines: PipelineDirectory
    let log: any LogBackend

    func write(to output: BufferedOutput) throws {
        try writeFunnel(to: output)
        try writeWhatWasShown(to: output)
        try writeWhatCameBack(to: output)
        try writeWhatBecameOfRecords(to: output)
        try writePartnerPostbacks(to: output)
        let digest = try OpenStores(directories: [directory]).digest()
        try output.write(
            "\nThe state in one line (weir digest): the same wherever this log is folded\n")
        try output.write("  \(digest)\n")
        try output.write("\nEverything is in \(directory). Look on with\n")
        try output.write("  weir dump funnel --date install --data \(directory)\n")
    }

    /// From the bid to the refund, a campaign a line, in three tables that fit a terminal.
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

    private func writeWhatWasShown(to output: BufferedOutput) throws {
        try section(
            "What was bid, won and billed (prices are CPM, in millionths)", "bids",
            by: "seat,campaign,currency", to: output)
        try section(
            "Why bids were lost: OpenRTB's reason codes", "loss-reasons", by: "reason", to: output)
        try section(
            "Whether the network really signed the ads of these bids", "bid-signatures",
            by: "seat,verdict", to: output)
        try section("What was shown, and seen", "impressions", by: "format,placement", to: output)
        try section(
            "What was tapped, and what only looks like it", "overlay-clicks", by: "format",
            to: output)
    }

    private func writeWhatCameBack(to output: BufferedOutput) throws {
        try section(
            "Postbacks under their verdict", "postbacks", by: "version,campaign,app_id,verdict",
            to: output)
        try section(
            "What their conversion values mean under the apps' models", "decoded-events",
            by: "app_id,model,event,currency", to: output)
        try section(
            "What installs were told to set, and say they have, beside what postbacks brought",
            "conversion-updates", by: "app_id,sequence_index,kind,value", to: output)
        try section(
            "What the store told: purchases, renewals, refunds (money in millionths)",
            "store-notifications", by: "product_id,currency", to: output)
    }

    private func writeWhatBecameOfRecords(to output: BufferedOutput) throws {
        try section("What became of every record", "outcomes", by: "topic,type", to: output)
        try section(
            "What was refused, and why (kept with its bytes, and in the dead letters)", "rejected",
            to: output)
        try section("What claims to be from the store, and is not", "untrusted", to: output)
        try section("A signed postback that came again with another value", "conflicts", to: output)
    }

    /// A dump under a title and the command that prints it. Measures that are 0 in every row are
    /// left out.
    private func section(
        _ title: String, _ name: String, by columns: String? = nil, to output: BufferedOutput
    ) throws {
        try output.write("\n\(title)\n")
        var query = DumpQuery(name: name)
        if let columns { query.grouping = try DumpQuery.Grouping(columns) }
        let dump = try OpenStores(directories: [directory]).dump(query)
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
        let places = ["--data", directory, "--pipelines", pipelines.path]
        let command = try DumpCommand.parse(Array(shown.dropFirst()) + places)
        var text: [UInt8] = []
        _ = try command.write(as: .table) { (piece: [UInt8]) throws(CommandError) in
            text += piece
        }
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
