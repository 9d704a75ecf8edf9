import EventLog
import Foundation
import TestKit
import Testing

@testable import Dashboard

/// Days and hours without records.
@Suite("Silences on pages", .timeLimit(.minutes(10)))
struct DashboardSilencesTests {
    @Test("costs are complete if each day between the first and the last reported one has some")
    func costDays() throws {
        let workspace = try Workspace()
        try workspace.write("costs.yaml", "batch_records: 100\n")
        func report(_ days: String...) throws {
            for day in days {
                try workspace.publish(
                    "costs",
                    OutgoingRecord(
                        "costs",
                        #"{"source":"s","day":"\#(day)","currency":"EUR","amount":5}"#,
                        type: "cost.reported", partition: 0,
                        at: DashboardPeriodsTests.firstDay + 96 * 3_600_000))
            }
            try workspace.fold("costs", workspace.options())
        }
        func state() throws -> String {
            try DashboardPeriodsTests.asker(workspace, at: "2026-11-24T13:00:00Z").page(
                "/streams?period=all"
            ).text
        }
        try report("2026-11-19", "2026-11-23")
        #expect(try state().contains("no, costs of 20 Nov 2026 and 2 other days are missing"))
        try report("2026-11-21", "2026-11-22")
        #expect(try state().contains("no, costs of 20 Nov 2026 are missing"))
        try report("2026-11-20")
        #expect(try !state().contains("no, costs"))
    }

    @Test("a silence that is longer than usual is on pages with numbers, and on Streams")
    func outages() throws {
        let workspace = try Workspace()
        // Hourly records of six days, without six hours of the first and of the fifth.
        let silent = [-40 ..< -34, 51..<57]
        try workspace.publish(
            "bids",
            (-48..<96).filter { hour in !silent.contains { $0.contains(hour) } }.map { hour in
                OutgoingRecord(
                    "bids",
                    #"{"auction_id":"\#(hour)","bid_id":"1","seat":"s","price":1,"currency":"USD"}"#,
                    type: "openrtb.billing", partition: 0,
                    at: DashboardPeriodsTests.firstDay + Int64(hour) * 3_600_000)
            })
        try workspace.foldBids()
        let asker = try DashboardPeriodsTests.asker(workspace, at: "2026-11-24")
        let line =
            "No bids from 22 Nov 2026 03:00 to 09:00 UTC (6 hours). Numbers of these hours are missing, not 0."
        for path in ["/", "/campaigns", "/cohorts", "/subscriptions", "/publisher", "/postbacks"] {
            let text = try asker.page("\(path)?period=all").text
            // A stream may begin with a silence.
            #expect(text.contains(line) && !text.contains("No bids from 18 Nov"), "\(path)")
        }
        #expect(
            try !asker.page("/?since=2026-11-23&until=2026-11-24").text.contains("No bids from"))
        // Days after the silence are compared with days that lack its hours.
        for path in ["/", "/campaigns"] {
            let lacks = ": 6 hours of bids. Part of a change can come from this."
            let text = try asker.page("\(path)?since=2026-11-23&until=2026-11-24").text
            #expect(text.ranges(of: lacks).count == 1 && text.contains("Missing in 22 Nov"))
            #expect(
                try !asker.page("\(path)?since=2026-11-23&until=2026-11-24&compare=none").text
                    .contains("Missing in"))
        }
        let streams = try asker.page("/streams?since=2026-11-22&until=2026-11-23")
        #expect(streams.text.contains(">22 Nov 2026 03:00<") && streams.text.contains(">6</td>"))
        // What a reader looks for comes first.
        let table = streams.text.components(separatedBy: "<h2>Streams</h2>").last ?? ""
        let headings = table.prefix(
            upTo: table.range(of: "</table>")?.lowerBound ?? table.startIndex
        )
        .matches(of: #/<th scope="col"[^>]*>([^<]*)</#).map { String($0.1) }
        #expect(headings.prefix(3) == ["stream", "complete", "state"], "\(headings)")
        let hours = try #require(
            streams.links.first { $0.address.hasPrefix("/dump/outcomes") }?.address)
        // Three hours before and three after.
        let rows = try asker.page(hours.replacing("/dump/outcomes", with: "/dump/outcomes.csv"))
        #expect(rows.text.split(separator: "\r\n").count == 7)
        let other = try asker.page("/streams?since=2026-11-23&until=2026-11-24").text
        #expect(other.contains("No silent period in these days."))
    }

    @Test("a silence says whether its records can count in a later hour")
    func meanings() {
        let missing = "Numbers of these hours are missing, not 0."
        let arrived = "that were only late count in the hour in which they arrived"
        #expect(PageWriter.meaning(of: ["bids", "impressions"]) == missing)
        #expect(PageWriter.meaning(of: ["postbacks"]) == "Records \(arrived).")
        #expect(
            PageWriter.meaning(of: ["bids", "postbacks", "store-notifications"])
                == "\(missing) Postbacks and store notifications \(arrived), and in cohorts of buyers at the time of the purchase."
        )
    }
}
