import ConfigurationValues
import Foundation
import History
import Monitoring
import Reports
import Streams
import TestKit
import Testing

@testable import Dashboard
@testable import weir

/// A page in the time zone of the catalog, held against its command.
@Suite("Pages and commands in a time zone", .timeLimit(.minutes(10)))
struct TimeZonePageTests {
    /// Bids before and after midnight in Berlin, on both sides of the change of its clock, and reported costs.
    private func makeWorkspace() throws -> Workspace {
        let workspace = try Workspace()
        try workspace.write("costs.yaml", "batch_records: 100\n")
        try workspace.write("catalog.yaml", "report_time_zone: Europe/Berlin\n")
        let times = [
            "2026-10-23T21:59:00Z", "2026-10-23T22:00:00Z", "2026-10-24T21:30:00Z",
            "2026-10-24T22:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T22:59:00Z",
            "2026-10-25T23:00:00Z", "2026-10-26T11:00:00Z",
        ]
        try workspace.publish(
            "bids",
            times.enumerated().map { number, time in
                Samples.bid("a\(number)", at: UTC.milliseconds(text: time) ?? 0)
            })
        try workspace.publish(
            "costs",
            [("2026-10-24", 3), ("2026-10-25", 5), ("2026-10-26", 7)].map { day, amount in
                Samples.record(
                    "costs",
                    #"{"source":"s","day":"\#(day)","currency":"EUR","amount":\#(amount)}"#,
                    type: "cost.reported", partition: 0,
                    at: UTC.milliseconds(text: "2026-10-26T12:00:00Z") ?? 0)
            })
        try workspace.foldBids()
        try workspace.fold("costs", workspace.options())
        return workspace
    }

    private func arguments(_ workspace: Workspace) -> [String] {
        workspace.commandLine() + ["--at", "2026-10-26T12:30:00Z"]
    }

    private func asker(_ workspace: Workspace) throws -> PageAsker {
        PageAsker(source: try Installation.parse(arguments(workspace)))
    }

    private func weir(_ workspace: Workspace, _ words: String...) throws -> Program {
        try Program.run("weir", words + arguments(workspace))
    }

    @Test("days are those of the catalog's zone, for a page, its file and its command")
    func dump() throws {
        let workspace = try makeWorkspace()
        defer { withExtendedLifetime(workspace) {} }
        let command = try weir(
            workspace, "dump", "bids", "--by", "day", "--measures", "bids", "--format", "csv")
        #expect(command.status == 0)
        #expect(
            command.output.split(whereSeparator: \.isNewline) == [
                "day,bids", "2026-10-23,1", "2026-10-24,2", "2026-10-25,3", "2026-10-26,2",
            ])
        #expect(command.error.contains("Days are those of Europe/Berlin"))
        let asker = try asker(workspace)
        let file = try asker.page("/dump/bids.csv?by=day&measures=bids")
        #expect(file.text == command.output)
        let page = try asker.page("/dump/bids?by=day&measures=bids")
        #expect(page.text.contains("Days are those of Europe/Berlin"))
        #expect(try asker.page("/?period=7d").text.contains("(Europe/Berlin)"))
        let utc = try weir(
            workspace, "dump", "bids", "--by", "day", "--measures", "bids", "--format", "csv",
            "--time-zone", "UTC")
        #expect(
            utc.output.split(whereSeparator: \.isNewline) == [
                "day,bids", "2026-10-23,2", "2026-10-24,2", "2026-10-25,3", "2026-10-26,1",
            ])
        #expect(!utc.error.contains("Days are those"))
    }

    @Test(
        "dates of a page and of a command select the days of the zone, and the reported costs of these days"
    )
    func dates() throws {
        let workspace = try makeWorkspace()
        defer { withExtendedLifetime(workspace) {} }
        let asker = try asker(workspace)
        let measures = "bids,reported_cost_micros"
        for (since, until, bids, cost) in [
            ("2026-10-25", "2026-10-26", "3", "5000000"),
            ("2026-10-24", "2026-10-26", "5", "8000000"),
            ("2026-10-26", "2026-10-27", "2", "7000000"),
        ] {
            let command = try weir(
                workspace, "dump", "funnel", "--by", "total", "--since", since, "--until", until,
                "--measures", measures, "--format", "json")
            #expect(command.output.contains("\"bids\":\(bids),"), "\(command.output)")
            #expect(command.output.contains("\"reported_cost_micros\":\(cost)"))
            let file = try asker.page(
                "/dump/funnel.json?by=total&since=\(since)&until=\(until)&measures=\(measures)")
            #expect(file.text == command.output, "\(since)")
        }
        let day = try weir(
            workspace, "dump", "bids", "--by", "total", "--measures", "bids", "--day",
            "2026-10-25", "--format", "csv")
        #expect(day.output.split(whereSeparator: \.isNewline) == ["bids", "3"])
    }

    @Test("the records of a day of the zone add up to its number, and evidence of it verifies")
    func explain() throws {
        let workspace = try makeWorkspace()
        defer { withExtendedLifetime(workspace) {} }
        for name in ["bids", "funnel"] {
            let explained = try weir(
                workspace, "explain", name, "--where", "day=2026-10-25", "--measure", "bids",
                "--format", "json")
            #expect(explained.status == 0, "\(explained.error)")
            #expect(explained.output.contains("\"adds_up\":true"))
            let page = try asker(workspace).page(
                "/explain/\(name).json?day=2026-10-25&measure=bids")
            #expect(page.text == explained.output)
        }
        let file = "\(workspace.path)/evidence.tar"
        let written = try weir(
            workspace, "evidence", "bids", "--where", "day=2026-10-25", "--measure", "bids",
            "--out", file)
        #expect(written.status == 0, "\(written.error)")
        let verified = try Program.run("weir", ["evidence", "verify", file])
        #expect(verified.status == 0, "\(verified.output)\(verified.error)")
        #expect(verified.output.contains("time_zone=Europe/Berlin measure=bids: bids = 3"))
    }

    @Test("periods are days of the zone, compared with the same times on the clock")
    func periods() throws {
        func context(_ query: String, _ newest: String) throws -> PageContext {
            let newest = try #require(UTC.milliseconds(text: newest))
            var context = PageContext(
                path: "/", parameters: try #require(QueryParameters(query)), scope: [],
                newestMilliseconds: newest, presentMilliseconds: newest)
            context.timeZone = try ReportTimeZone(named: "Europe/Berlin")
            return context
        }
        // 00:30 in Berlin, half an hour after the day with 25 hours.
        let night = try context("period=1d", "2026-10-25T23:30:00Z")
        #expect(night.bounds(default: .all) == ("2026-10-26", "2026-10-27"))
        #expect(night.daysInWords(default: .all) == "26 Oct 2026, until 00:30")
        #expect(night.label(.lastDay) == "Yesterday")
        // 12:30 in Berlin.
        let noon = try context("period=7d", "2026-10-26T11:30:00Z")
        let compared = try #require(noon.compared(default: .all))
        #expect(compared.now == ("2026-10-20", "2026-10-26T11:00:00Z"))
        #expect(compared.before == ("2026-10-13", "2026-10-19T10:00:00Z"))
        #expect(compared.words.contains("until 12:00"))
        #expect(compared.earlierDays == "13–19 Oct until 12:00")
        let days = try context("since=2026-10-24&until=2026-10-26", "2026-10-28T11:30:00Z")
        #expect(days.compared(default: .all)?.before ?? ("", "") == ("2026-10-22", "2026-10-24"))
    }

    @Test("a zone whose days are not hours of UTC is refused, in the option and in the catalog")
    func faults() throws {
        let workspace = try makeWorkspace()
        defer { withExtendedLifetime(workspace) {} }
        let refused = try weir(
            workspace, "dump", "bids", "--by", "day", "--time-zone", "Asia/Kolkata")
        #expect(refused.status == 64)
        #expect(refused.error.contains("--time-zone is Asia/Kolkata, which is not always whole"))
        try workspace.write("catalog.yaml", "apps: {}\nreport_time_zone: Mars/Phobos\n")
        let broken = try weir(workspace, "dump", "bids", "--by", "day")
        #expect(broken.status != 0)
        #expect(broken.error.contains("catalog.yaml:2: report_time_zone: is 'Mars/Phobos'"))
        let page = try asker(workspace).page("/dump/bids?by=day")
        #expect(page.text.contains("Mars/Phobos"))
    }
}
