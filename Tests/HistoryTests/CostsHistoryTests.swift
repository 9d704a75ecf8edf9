import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import EventLog
import Foundation
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import History

@Suite("The past of costs")
struct CostsHistoryTests {
    /// A report of a cell, some hours after the first ones came.
    private func report(
        _ amount: String, hour: Int64 = 0, day: String = "2026-11-20"
    )
        -> OutgoingRecord
    {
        Samples.record(
            "costs",
            #"{"source":"s","day":"\#(day)","currency":"USD","amount":\#(amount)}"#, key: "s:",
            partition: 0, at: Samples.start + hour * 3_600_000)
    }

    private func workspace(_ records: OutgoingRecord...) throws -> MeasuredWorkspace {
        let workspace = try MeasuredWorkspace("costs")
        try workspace.fold(records)
        return workspace
    }

    @Test("a number names the records that make it, each with the one whose place it took")
    func replaced() throws {
        let workspace = try workspace(
            report("10"), report("10"), report("7", hour: 30),
            report("1", hour: 31, day: "2026-11-22"),
            report("8", hour: 60))
        let query = ReportRequest(
            name: "costs", grouping: .total, conditions: [.init(column: "day", value: "2026-11-20")]
        )
        var lines: [String] = []
        let explanation = try workspace.explainer(workspace.stores()).explain(
            DumpFigure(query), measures: { _ in ["cost_micros"] }
        ) { record in
            let replaced = record.folded.replacedOffset.map { "\($0)" } ?? "nothing"
            lines.append(
                "\(record.folded.record.offset) \(record.role) \(record.amounts[0]) \(replaced)")
        }
        #expect(
            lines == [
                "0 counted 10000000 nothing", #"1 leftOut("duplicate of offset 0") 0 nothing"#,
                "2 counted -3000000 0", "4 counted 1000000 2",
            ])
        #expect(explanation.addsUp, "\(explanation.summary)")
        #expect(explanation.measures.map(\.stored) == [8_000_000])
        #expect(explanation.missing.isEmpty)
    }

    @Test("as of an instant costs are what had been reported by then, whatever day it is about")
    func asOf() throws {
        let workspace = try workspace(report("10"), report("7", hour: 30), report("8", hour: 60))
        for (hour, micros) in [(1, 10), (30, 10), (31, 7), (60, 7), (61, 8)] as [(Int64, Int128)] {
            #expect(try self.micros(workspace, asOfHour: hour) == micros, "\(hour)")
        }
    }

    private func micros(_ workspace: MeasuredWorkspace, asOfHour hour: Int64) throws -> Int128? {
        let path = workspace.workspace.path + "/log.sqlite"
        let hours = FoldedHours(
            openReader: { try EmbeddedLog(path: path, mode: .existing).reader(topic: $0) },
            address: path, rules: .pipelines(PipelineDirectory(workspace.workspace.pipelines)))
        let stores = try OpenStores(
            directories: [workspace.workspace.path + "/data"],
            asOf: AsOf(milliseconds: Samples.start + hour * 3_600_000, hours: hours))
        let rows = try stores.dump(ReportRequest(name: "costs", grouping: .total)).rows
        return rows.first?.measures[0].map { $0 / 1_000_000 }
    }

    @Test(
        "where out-of-order timestamps, and a report has replaced or repeated a later one, nothing wrong is said"
    )
    func timesGoBack() throws {
        for amount in ["7", "10"] {
            let workspace = try workspace(
                report("3"), report("10", hour: 5), report(amount, hour: 2), report("8", hour: 9))
            #expect(try micros(workspace, asOfHour: 1) == 3)
            for hour in [3, 5] as [Int64] {
                #expect {
                    _ = try micros(workspace, asOfHour: hour)
                } throws: {
                    "\($0)".contains("out-of-order timestamps")
                }
            }
            #expect(try micros(workspace, asOfHour: 6) == (amount == "7" ? 7 : 10))
            #expect(try micros(workspace, asOfHour: 10) == 8)
        }
    }

    @Test("amounts of several currencies are shown beside each other, and never added up")
    func currencies() throws {
        let euros = Samples.record(
            "costs", #"{"source":"s","day":"2026-11-20","currency":"EUR","amount":5,"clicks":2}"#,
            key: "s:", partition: 0, at: Samples.start)
        let stores = try workspace(report("10"), euros).stores()
        var total = ReportRequest(name: "costs", grouping: .total)
        total.tellsCurrenciesApart = true
        let apart = try stores.dump(total)
        #expect(apart.columns.map(\.name) == ["currency"])
        #expect(apart.rows.map { $0.measures[0] } == [5_000_000, 10_000_000])
        // Counts alone are of no currency.
        total.measures = ["reported_clicks"]
        let clicks = try stores.dump(total)
        #expect(clicks.columns.isEmpty && clicks.rows.count == 1)
    }

    @Test("a dump has days, is asked by them, and knows no hours")
    func dump() throws {
        let workspace = try workspace(
            report("10"), report("1", day: "2026-11-19"), report("3", day: "1969-12-31"))
        let stores = try workspace.stores()
        func days(_ since: String?, _ until: String?) throws -> [StoredValue] {
            try stores.dump(
                ReportRequest(
                    name: "costs", grouping: .columns(["day"]),
                    sinceMilliseconds: since.flatMap { UTC.milliseconds(text: $0) },
                    untilMilliseconds: until.flatMap { UTC.milliseconds(text: $0) })
            ).rows.map { $0.columns[0] }
        }
        #expect(
            try days(nil, nil) == [.text("1969-12-31"), .text("2026-11-19"), .text("2026-11-20")])
        #expect(try days("2026-11-20", nil) == [.text("2026-11-20")])
        #expect(try days(nil, "2026-11-20") == [.text("1969-12-31"), .text("2026-11-19")])
        #expect(throws: InspectionError.self) {
            try stores.dump(ReportRequest(name: "costs", grouping: .columns(["hour"])))
        }
        let all = try stores.dump(ReportRequest(name: "costs"))
        #expect(all.columns.first?.name == "day" && !all.columns.contains { $0.name == "hour" })
    }

    @Test("however the log is cut into batches, and after a replay, the digest is the same")
    func digest() throws {
        let workspace = try MeasuredWorkspace("costs")
        try workspace.publish(Samples.costs(400, seed: 3))
        var digests: Set<String> = []
        for (number, size) in [1, 7, 1000].enumerated() {
            try workspace.workspace.write("costs.yaml", "batch_records: \(size)\n")
            try workspace.workspace.fold(
                "costs", workspace.workspace.options(data: "data\(number)"))
            digests.insert(
                try OpenStores(directories: [workspace.workspace.path + "/data\(number)"]).digest())
        }
        #expect(digests.count == 1)
    }
}
