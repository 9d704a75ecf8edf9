import EventLog
import Foundation
import Inspection

/// What the demo shows of its stores and of what it published.
struct DemoReport {
    let directory: String
    let log: EmbeddedLog

    func write(to output: BufferedOutput) throws {
        try section(
            "What was bid, won and billed (prices are CPM, in millionths)", output,
            "weir dump bids --by seat,campaign,currency",
            query("bids", by: ["seat", "campaign", "currency"]),
            leavingOut: ["overlay_requested"])
        try section(
            "Why bids were lost: OpenRTB's reason codes", output,
            "weir dump loss-reasons --by reason", query("loss-reasons", by: ["reason"]))
        try section(
            "Postbacks under their verdict", output,
            "weir dump postbacks --by version,campaign,app_id,verdict",
            query("postbacks", by: ["version", "campaign", "app_id", "verdict"]))
        try section(
            "What their conversion values mean under the apps' models", output,
            "weir dump decoded-events --by app_id,model,event,currency",
            query("decoded-events", by: ["app_id", "model", "event", "currency"]))
        try section(
            "What became of every record", output, "weir dump outcomes --by topic,type",
            query("outcomes", by: ["topic", "type"]))
        try section(
            "What was refused, and why (kept with its bytes, and in the dead letters)", output,
            "weir dump rejected", query("rejected", by: []), leavingOut: ["timestamp"])
        try section(
            "A signed postback that came again with another value", output, "weir dump conflicts",
            query("conflicts", by: []), leavingOut: ["timestamp"])
        try writePartnerPostbacks(to: output)
        let digest = try StoreSet(directories: [directory]).digest()
        try output.write(
            "\nThe state in one line (weir digest): the same wherever this log is folded\n")
        try output.write("  \(digest)\n")
        try output.write("\nEverything is in \(directory). Look on with\n")
        try output.write("  weir dump bids --by hour,seat --data \(directory)\n")
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
