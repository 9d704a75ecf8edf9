import EventLog
import Foundation
import Inspection
import Pipelines

/// What the demo shows of its stores and of what it published.
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
        let digest = try StoreSet(directories: [directory]).digest()
        try output.write(
            "\nThe state in one line (weir digest): the same wherever this log is folded\n")
        try output.write("  \(digest)\n")
        try output.write("\nEverything is in \(directory). Look on with\n")
        try output.write("  weir dump funnel --date install --data \(directory)\n")
    }

    /// From the bid to the refund, a campaign a line, in two tables that fit a terminal.
    private func writeFunnel(to output: BufferedOutput) throws {
        let columns = ["app_id", "campaign", "name"]
        let funnel = try StoreSet(directories: [directory]).funnel(
            FunnelQuery(
                query: query("funnel", by: columns), dateRule: .arrival,
                catalog: pipelines.catalog(),
                trustsDevelopment: pipelines.postbacks().trustDevelopment,
                appsByBundle: pipelines.appsByBundle()))
        try output.write(
            """

            The funnel of each campaign, from the bid to the refund
            $ weir dump funnel --by \(columns.joined(separator: ","))

            """)
        for measures in [
            [
                "bids", "wins", "win_rate", "presented", "viewed", "clicks", "ctr", "installs",
                "install_rate",
            ],
            [
                "cost_micros", "cpi", "revenue_min_micros", "revenue_max_micros", "roas_min",
                "roas_max",
            ],
            ["null_rate", "app_refunds", "app_refund_rate", "maturity"],
        ] {
            for line in funnel.table.table(of: columns + measures).lines {
                try output.write("  \(line)\n")
            }
            try output.write("\n")
        }
    }

    private func writeWhatWasShown(to output: BufferedOutput) throws {
        try section(
            "What was bid, won and billed (prices are CPM, in millionths)", output,
            "weir dump bids --by seat,campaign,currency",
            query("bids", by: ["seat", "campaign", "currency"]),
            leavingOut: ["overlay_requested"])
        try section(
            "Why bids were lost: OpenRTB's reason codes", output,
            "weir dump loss-reasons --by reason", query("loss-reasons", by: ["reason"]))
        try section(
            "Whether the network really signed the ads of these bids", output,
            "weir dump bid-signatures --by seat,verdict",
            query("bid-signatures", by: ["seat", "verdict"]))
        try section(
            "What was shown, and seen", output, "weir dump impressions --by format,placement",
            query("impressions", by: ["format", "placement"]))
        try section(
            "What was tapped, and what only looks like it", output,
            "weir dump overlay-clicks --by format", query("overlay-clicks", by: ["format"]))
    }

    private func writeWhatCameBack(to output: BufferedOutput) throws {
        try section(
            "Postbacks under their verdict", output,
            "weir dump postbacks --by version,campaign,app_id,verdict",
            query("postbacks", by: ["version", "campaign", "app_id", "verdict"]))
        try section(
            "What their conversion values mean under the apps' models", output,
            "weir dump decoded-events --by app_id,model,event,currency",
            query("decoded-events", by: ["app_id", "model", "event", "currency"]))
        let values = ["app_id", "sequence_index", "kind", "value"]
        try section(
            "What installs were told to set, and say they have, beside what postbacks brought",
            output, "weir dump conversion-updates --by \(values.joined(separator: ","))",
            query("conversion-updates", by: values))
        try section(
            "What the store told: purchases, renewals, refunds (money in millionths)", output,
            "weir dump store-notifications --by product_id,currency",
            query("store-notifications", by: ["product_id", "currency"]))
    }

    private func writeWhatBecameOfRecords(to output: BufferedOutput) throws {
        try section(
            "What became of every record", output, "weir dump outcomes --by topic,type",
            query("outcomes", by: ["topic", "type"]))
        try section(
            "What was refused, and why (kept with its bytes, and in the dead letters)", output,
            "weir dump rejected", query("rejected", by: []), leavingOut: ["timestamp"])
        try section(
            "What claims to be from the store, and is not", output, "weir dump untrusted",
            query("untrusted", by: []), leavingOut: ["timestamp"])
        try section(
            "A signed postback that came again with another value", output, "weir dump conflicts",
            query("conflicts", by: []), leavingOut: ["timestamp"])
    }

    private func query(_ name: String, by columns: [String]) throws -> DumpQuery {
        var query = DumpQuery(name: name)
        if !columns.isEmpty {
            query.grouping = try DumpQuery.Grouping(columns.joined(separator: ","))
        }
        return query
    }

    private func section(
        _ title: String, _ output: BufferedOutput, _ command: String, _ query: DumpQuery,
        leavingOut hidden: Set<String> = []
    ) throws {
        let dump = try StoreSet(directories: [directory]).dump(query)
        try output.write("\n\(title)\n$ \(command)\n")
        for line in dump.summary(leavingOut: hidden).lines { try output.write("  \(line)\n") }
    }

    private func writePartnerPostbacks(to output: BufferedOutput) throws {
        let reader = try log.reader(topic: "partner-postbacks")
        try reader.subscribe(.all)
        let batch = RecordBatch()
        try output.write(
            "\nWhat was published to partners\n$ weir read --topic partner-postbacks\n")
        while true {
            let reading = try reader.read(
                into: batch, maxRecords: 100, maxBytes: 1 << 20, waitMilliseconds: 0)
            if reading == .idle { return }
            guard reading == .records else { continue }
            for index in 0..<batch.count {
                let value = batch[index].value.map { String(decoding: $0, as: UTF8.self) }
                try output.write("  \(value ?? "null")\n")
            }
        }
    }
}
