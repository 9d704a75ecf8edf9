import EventLog
import Foundation
import History
import Monitoring
import Reports
import Streams
import TestKit
import Testing

@testable import Dashboard
@testable import weir

/// Which days pages show, and which they compare them with.
@Suite("Days on pages", .timeLimit(.minutes(10)))
struct DashboardPeriodsTests {
    /// Noon of 2026-11-24, the day of the newest record.
    private static let noon = firstDay + (4 * 24 + 12) * 3_600_000
    /// 2026-11-20.
    static let firstDay: Int64 = 1_795_132_800_000

    /// The figure of spend at noon, see `makeWorkspace`.
    private static let spendOfToday =
        "USD 17.60 ▲ +100 % ( USD 16.00 , was USD 8.00 )"

    private func context(_ query: String, at present: Int64 = noon) throws -> PageContext {
        PageContext(
            path: "/", parameters: try #require(QueryParameters(query)), scope: [],
            newestMilliseconds: Self.noon, presentMilliseconds: present)
    }

    @Test("amounts are in the currency of the configuration, unless the reader chooses another")
    func currency() throws {
        func target(_ query: String, _ configured: String? = "EUR") throws -> (String?, Bool) {
            var context = try context(query)
            context.reportCurrency = configured
            return (context.target, context.hasOwnCurrency)
        }
        #expect(try target("") == ("EUR", false))
        #expect(try target("in=") == ("EUR", false))
        #expect(try target("in=USD") == ("USD", true))
        #expect(try target("in=EUR") == ("EUR", false))
        #expect(try target("in=recorded") == (nil, true))
        #expect(try target("", nil) == (nil, false))
        #expect(try target("in=USD", nil) == ("USD", true))
        var recorded = try context("in=USD")
        #expect(recorded.recordedAddress.text == "/")
        recorded.reportCurrency = "EUR"
        #expect(recorded.recordedAddress.text == "/?in=recorded")
    }

    @Test("days are called today and yesterday only if they are those of the clock")
    func names() throws {
        func names(_ later: Int64) throws -> [String] {
            let context = try context("", at: Self.noon + later * 3_600_000)
            return [.day, .lastDay, .lastWeek].map(context.label)
        }
        #expect(try names(11) == ["Today", "Yesterday", "Last 7 days: 17–23 Nov"])
        #expect(
            try names(12) == [
                "24 Nov 2026, newest day", "23 Nov 2026, the day before",
                "Last 7 days: 17–23 Nov",
            ])
    }

    @Test(
        "days are compared with as many days before, and a running day with the same hours of these",
        arguments: [
            ("", "2026-11-24 2026-11-25", "2026-11-23 2026-11-23T12:00:00Z"),
            ("period=1d", "2026-11-24 2026-11-25", "2026-11-23 2026-11-23T12:00:00Z"),
            ("period=7d", "2026-11-18 2026-11-25", "2026-11-11 2026-11-17T12:00:00Z"),
            ("period=30d", "2026-10-26 2026-11-25", "2026-09-26 2026-10-25T12:00:00Z"),
            ("period=90d", "2026-08-27 2026-11-25", "2026-05-29 2026-08-26T12:00:00Z"),
            ("period=this-month", "2026-11-01 2026-11-25", "2026-10-08 2026-10-31T12:00:00Z"),
            ("period=last-28d", "2026-10-27 2026-11-24", "2026-09-29 2026-10-27"),
            ("period=last-1d&compare=week", "2026-11-23 2026-11-24", "2026-11-16 2026-11-17"),
            ("compare=week", "2026-11-24 2026-11-25", "2026-11-17 2026-11-17T12:00:00Z"),
            ("period=last-28d&compare=week", "2026-10-27 2026-11-24", "2026-09-29 2026-10-27"),
            (
                "since=2026-11-14&until=2026-11-24&compare=week", "2026-11-14 2026-11-24",
                "2026-10-31 2026-11-10"
            ),
            ("period=last-7d&compare=none", "2026-11-17 2026-11-24", "none"),
            ("period=last-1d", "2026-11-23 2026-11-24", "2026-11-22 2026-11-23"),
            ("period=last-7d", "2026-11-17 2026-11-24", "2026-11-10 2026-11-17"),
            ("period=last-30d", "2026-10-25 2026-11-24", "2026-09-25 2026-10-25"),
            ("period=all", "- -", "none"),
            ("since=2026-11-23&until=2026-11-24", "2026-11-23 2026-11-24", "2026-11-22 2026-11-23"),
            ("since=2026-11-20&until=2026-11-23", "2026-11-20 2026-11-23", "2026-11-17 2026-11-20"),
            (
                "since=2026-11-20T06:00:00Z&until=2026-11-20T18:00:00Z",
                "2026-11-20T06:00:00Z 2026-11-20T18:00:00Z",
                "2026-11-19T18:00:00Z 2026-11-20T06:00:00Z"
            ),
            // Without an end they end with the newest record.
            ("since=2026-11-23", "2026-11-23 2026-11-25", "2026-11-21 2026-11-22T12:00:00Z"),
            ("since=2026-12-01", "2026-12-01 -", "none"),
            // Without a beginning they begin with the first record: nothing lies before.
            ("until=2026-11-23", "- 2026-11-23", "none"),
        ])
    func daysBefore(_ query: String, shown: String, before: String) throws {
        let context = try context(query)
        func text(_ days: PageContext.Days?) -> String {
            days.map { "\($0.since ?? "-") \($0.until ?? "-")" } ?? "none"
        }
        #expect(text(context.bounds(default: .day)) == shown)
        if let compared = context.compared(default: .day) {
            func length(_ days: PageContext.Days) -> Int64? {
                guard let since = days.since.flatMap({ UTC.milliseconds(text: $0) }) else {
                    return nil
                }
                return days.until.flatMap { UTC.milliseconds(text: $0) }.map { $0 - since }
            }
            #expect(length(compared.now) == length(compared.before))
        }
        #expect(text(context.compared(default: .day)?.before) == before)
    }

    @Test("whole days are those that a report of the same words has")
    func reports() throws {
        for period in PageContext.Period.allCases where period != .all {
            let stretch = try #require(ReportPeriod(period.name), "\(period)")
            let (since, until) = stretch.bounds(at: Self.noon)
            let shown = try context("period=\(period.rawValue)").bounds(default: .day)
            #expect(shown.since == UTC.day(milliseconds: since))
            #expect(shown.until == UTC.day(milliseconds: until + 86_399_999))
        }
    }

    @Test("of dates and a choice, that one holds which was changed in the box")
    func box() throws {
        func chosen(_ query: String) throws -> PageContext.Period? {
            try context(query).period(default: .day)
        }
        let dates = "since=2026-11-20&until=2026-11-22"
        #expect(try chosen(dates) == nil)
        // Dates were in force, and are left as they are.
        #expect(try chosen("\(dates)&period=&shown=") == nil)
        // Dates were in force, and a choice is made.
        #expect(try chosen("\(dates)&period=7d&shown=") == .week)
        // A choice was in force, and dates are filled in.
        #expect(try chosen("\(dates)&period=7d&shown=7d") == nil)
        #expect(try chosen("since=&until=&period=7d&shown=1d") == .week)
        let carried = try context("\(dates)&period=7d&shown=").carried
        #expect(carried.map { "\($0.name)=\($0.value)" } == ["period=7d"])
        #expect(try context("\(dates)&period=7d").carried.map(\.name) == ["since", "until"])
    }

    static func asker(_ workspace: Workspace, at: String? = nil) throws -> PageAsker {
        PageAsker(
            source: try Installation.parse(
                workspace.commandLine() + (at.map { ["--at", $0] } ?? [])))
    }

    /// Billings of five days, an hour before and at noon: 1, 2, 4, 8 and 16 USD for a thousand impressions, and a tenth
    /// of that at noon.
    private func makeWorkspace() throws -> Workspace {
        let workspace = try Workspace()
        try workspace.write(
            "watch.yaml", "silence: [{name: all, dump: bids, by: [seat], measures: [billed]}]\n")
        try workspace.publish(
            "bids",
            (0..<10).map { index in
                let (day, isNoon) = (index / 2, index % 2 == 1)
                return OutgoingRecord(
                    "bids",
                    #"{"auction_id":"\#(index)","bid_id":"1","seat":"s","price":\#((isNoon ? 100 : 1000) << day),"currency":"USD"}"#,
                    type: "openrtb.billing", partition: 0,
                    at: Self.firstDay + Int64(day * 24 + (isNoon ? 12 : 11)) * 3_600_000)
            })
        try workspace.foldBids()
        return workspace
    }

    /// The text of a figure: its amount, and the comparison.
    private func spend(_ page: ReadPage) -> String {
        page.text.firstMatch(of: #/<span class="title">Spend<\/span>(.*?)<\/div>/#).map {
            String($0.1).replacing(#/<[^>]*>/#, with: "|").split(separator: "|")
                .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
                .joined(separator: " ")
        } ?? ""
    }

    @Test("spend stands beside that of the days before, and of a running day beside the same hours")
    func figures() throws {
        let workspace = try makeWorkspace()
        let asker = try Self.asker(workspace, at: "2026-11-24T13:00:00Z")
        for (query, expected) in [
            ("period=1d", Self.spendOfToday),
            ("period=1d&compare=none", "USD 17.60"),
            ("since=2026-11-23&until=2026-11-24", "USD 8.80 ▲ +100 % (was USD 4.40 )"),
            (
                "since=2026-11-22&until=2026-11-24",
                "USD 13.20 ▲ +300 % (was USD 3.30 )"
            ),
            (
                "since=2026-11-23",
                "USD 26.40 ▲ +300 % ( USD 24.80 , was USD 6.20 )"
            ),
            ("period=last-1d", "USD 8.80 ▲ +100 % (was USD 4.40 )"),
            ("until=2026-11-22", "USD 3.30"),
        ] {
            let page = try asker.page("/?\(query)")
            #expect(page.status == 200)
            #expect(spend(page) == expected, "\(query)")
        }
        let today = try asker.page("/?period=1d").text
        #expect(today.contains("the same hours of the day before, until 12:00"))
        #expect(today.contains(">24 Nov until 12:00 compared with 23 Nov until 12:00: the same"))
        #expect(!(try asker.page("/?period=last-1d")).text.contains("the same hours"))
        let box = try asker.page("/?since=2026-11-22&until=2026-11-24").text
        #expect(box.contains("<option value=\"\" selected=\"\">From, before …</option>"))
        #expect(!box.contains("<option value=\"1d\" selected"))
    }

    @Test("pages with numbers have the same days unless the reader chooses others")
    func usualDays() throws {
        let workspace = try makeWorkspace()
        let asker = try Self.asker(workspace, at: "2026-11-24T13:00:00Z")
        func range(_ path: String, by asker: PageAsker) throws -> String? {
            try asker.page(path).text.firstMatch(of: #/<p class="range">([^<]*)</#)
                .map { String($0.1) }
        }
        for path in [
            "/", "/campaigns", "/campaign?campaign=1", "/cohorts", "/subscriptions", "/publisher",
            "/postbacks",
        ] {
            #expect(
                try range(path, by: asker) == "Last 28 days: 27 Oct – 23 Nov 2026 (UTC)", "\(path)")
        }
        let toDate = "30 days to date: 26 Oct – 24 Nov 2026, until 12:00 (UTC)"
        for path in ["/records", "/streams"] {
            #expect(
                try range(path, by: asker)
                    == "\(toDate). This page includes the running day, because its faults can need action now.",
                "\(path)")
            #expect(try range("\(path)?period=30d", by: asker) == toDate, "\(path)")
        }
        // Links keep the shown days, also to a page with other usual days.
        let links = try asker.page("/").links.map(\.address)
        #expect(links.contains("/streams?period=last-28d") && links.contains("/campaigns"))
        for page in try [asker.page("/?period=7d"), asker.page("/records?period=7d")] {
            #expect(page.links.map(\.address).contains("/cohorts?period=7d"))
        }
        // On the first day, complete days would be empty.
        let first = try Self.asker(workspace, at: "2026-11-20T13:00:00Z")
        #expect(
            try range("/cohorts", by: first)
                == "30 days to date: 22 Oct – 20 Nov 2026, until 12:00 (UTC). The running day is included, because no other day has records."
        )
        #expect(try spend(first.page("/")) == "USD 1.10")
    }

    @Test("the form of days is accepted as it is sent")
    func form() throws {
        let workspace = try makeWorkspace()
        defer { withExtendedLifetime(workspace) {} }
        let asker = try Self.asker(workspace, at: "2026-11-24T13:00:00Z")
        let query = "period=last-1d&shown=1d&compare=&since=&until=&campaign=&app_id=&country=&in="
        let expected = "USD 8.80 ▲ +100 % (was USD 4.40 )"
        #expect(try spend(asker.page("/?\(query)")) == expected)
    }

    @Test("the page of a report has the bar: days, the filters that it can use, and its own rows")
    func barOfReports() throws {
        let workspace = try makeWorkspace()
        defer { withExtendedLifetime(workspace) {} }
        let asker = try Self.asker(workspace, at: "2026-11-24T13:00:00Z")
        func billed(_ query: String) throws -> String? {
            let text = try asker.page("/dump/bids?by=total&measures=billed\(query)").text
            return text.firstMatch(of: #/measure=billed[^>]*>([0-9,]+)</#).map { String($0.1) }
        }
        #expect(try billed("") == "10")
        #expect(try billed("&since=2026-11-23") == "4")
        #expect(try billed("&period=last-1d") == "2")
        // As the bar sends it: dates were in force and a period is chosen, and empty filters limit nothing.
        let sent = "&period=7d&shown=&since=2026-11-23&until=&campaign=&app_id=&in="
        #expect(try billed(sent) == "10")
        #expect(try billed("&since=2026-11-23&until=2026-11-24&period=&shown=&campaign=") == "2")
        let page = try asker.page("/dump/bids?by=seat&seat=s&campaign=7&since=2026-11-23").text
        let form = try #require(page.firstMatch(of: #/<form method="get"(.*?)<\/form>/#)?.1)
        #expect(form.contains("<option value=\"\" selected=\"\">From, before …</option>"))
        #expect(form.contains("type=\"date\" name=\"since\" value=\"2026-11-23\""))
        #expect(!form.contains("name=\"compare\""))
        for (name, value) in [("by", "seat"), ("seat", "s")] {
            let field = "type=\"hidden\" name=\"\(name)\" value=\"\(value)\""
            #expect(form.contains(field), "\(name)")
        }
        #expect(page.contains("class=\"range\">23–24 Nov 2026, until 12:00 (UTC)<"))
        for chip in ["Campaign: <b>7</b>", "Seat: <b>s</b>"] {
            #expect(page.contains(chip), "\(chip)")
        }
        // A filter that the report has no column for has no field.
        #expect(!(try asker.page("/dump/outcomes").text).contains("name=\"app_id\""))
        #expect(try asker.page("/dump/bids?period=2d").status == 400)
    }

    @Test("a report about rows without a campaign keeps that choice in its bar and its links")
    func withoutCampaign() throws {
        let workspace = try makeWorkspace()
        defer { withExtendedLifetime(workspace) {} }
        let page = try Self.asker(workspace, at: "2026-11-24T13:00:00Z")
            .page("/dump/bids?by=day&campaign=&seat=s").text
        let form = try #require(page.firstMatch(of: #/<form method="get"(.*?)<\/form>/#)?.1)
        #expect(form.contains("type=\"hidden\" name=\"campaign\" value=\"\""))
        // Without these, the address that the form sends selects the same rows.
        #expect(!form.contains("name=\"shown\"") && !form.contains("name=\"app_id\""))
        #expect(page.contains("Campaign: <b>none</b>"))
        let removal = "/dump/bids?by=day&amp;campaign=\" aria-label=\"Remove the filter seat"
        #expect(page.contains(removal))
    }

    @Test("an end that is not after the beginning is refused on pages and files, with both days")
    func reversed() throws {
        let asker = try Self.asker(makeWorkspace(), at: "2026-11-24T13:00:00Z")
        for query in ["since=2026-11-24&until=2026-11-23", "since=2026-11-24&until=2026-11-24"] {
            for path in ["/", "/campaigns", "/dump/bids", "/dump/bids.csv"] {
                let page = try asker.page("\(path)?\(query)")
                #expect(page.status == 400, "\(path)?\(query)")
                #expect(page.text.contains("the range from 2026-11-24 to"), "\(path)")
            }
        }
    }

    @Test("a record that is dated ahead changes no page but for the line that counts it")
    func datedAhead() throws {
        let workspace = try makeWorkspace()
        try workspace.publish(
            "bids",
            OutgoingRecord(
                "bids", Samples.auction("2030"), partition: 0, at: 1_900_000_000_000))
        try workspace.foldBids()
        let asker = try Self.asker(workspace, at: "2026-11-24T13:00:00Z")
        let today = try asker.page("/?period=1d")
        #expect(today.text.contains("class=\"range\">24 Nov 2026, until 12:00 (UTC)<"))
        #expect(spend(today) == Self.spendOfToday)
        #expect(today.text.contains("Records dated ahead of the clock: bids 1."))
        // Once the clock is there, it is the newest record.
        let later = try Self.asker(workspace, at: "2030-03-18T00:00:00Z").page("/?period=1d")
        #expect(later.text.contains("class=\"range\">17 Mar 2030, until 17:46 (UTC)<"))
        #expect(!later.text.contains("dated ahead of the clock"))
    }

    @Test("costs that are imported for a later day do not move the period")
    func importedCosts() throws {
        let workspace = try makeWorkspace()
        try workspace.write("costs.yaml", "batch_records: 100\n")
        try workspace.publish(
            "costs",
            OutgoingRecord(
                "costs", #"{"source":"s","day":"2026-11-26","currency":"USD","amount":5}"#,
                type: "cost.reported", partition: 0, at: Self.noon + 2 * 86_400_000))
        try workspace.fold("costs", workspace.options())
        let asker = try Self.asker(workspace, at: "2026-11-26T13:00:00Z")
        let today = try asker.page("/?period=1d")
        #expect(today.text.contains("class=\"range\">24 Nov 2026, until 12:00 (UTC)<"))
        #expect(spend(today) == Self.spendOfToday)
        #expect(try asker.source.stores().newestMilliseconds(of: Funnel.name) == Self.noon)
        // Where there are only costs, the period ends with them.
        let alone = try Workspace()
        try alone.write("costs.yaml", "batch_records: 100\n")
        try alone.publish(
            "costs",
            OutgoingRecord(
                "costs", #"{"source":"s","day":"2026-11-24","currency":"USD","amount":5}"#,
                type: "cost.reported", partition: 0, at: Self.noon))
        try alone.fold("costs", alone.options())
        let page = try Self.asker(alone, at: "2026-11-26T13:00:00Z").page("/?period=1d")
        #expect(page.text.contains("class=\"range\">24 Nov 2026, until 12:00 (UTC)<"))
    }

    @Test("a stream whose records are all ahead of the clock has no record so far")
    func allAhead() throws {
        let workspace = try makeWorkspace()
        defer { withExtendedLifetime(workspace) {} }
        let asker = try Self.asker(workspace, at: "2026-11-19T13:00:00Z")
        for path in ["/streams", "/"] {
            let text = try asker.page(path).text
            #expect(text.contains(">no record up to 2026-11-19T13:00:00Z<"), "\(path)")
            #expect(!text.contains("1970-01-01"), "\(path)")
        }
    }

    @Test("warnings are judged at the time of the clock: a stream that ended is reported")
    func warnings() throws {
        let workspace = try makeWorkspace()
        let quiet = try Self.asker(workspace, at: "2026-11-24T13:00:00Z").page("/warnings").text
        #expect(quiet.contains("0 open at 2026-11-24T13:00:00Z"))
        let silent = try Self.asker(workspace, at: "2026-11-27").page("/warnings").text
        #expect(silent.contains("no records since 2026-11-24T12:00:00Z"))
    }

    @Test("check and publish warn of records that are dated ahead, and a report ends before them")
    func commands() throws {
        let workspace = try makeWorkspace()
        let line = #"{"key":"k","timestamp_ms":1900000000000,"value":{"request":{"id":"2030"}}}"#
        try Data((line + "\n").utf8).write(
            to: URL(fileURLWithPath: workspace.path + "/ahead.ndjson"))
        let published = try Program.run(
            "weir",
            [
                "publish", "--topic", "bids", "--log", workspace.logAddress.description,
                workspace.path + "/ahead.ndjson",
            ])
        #expect(published.status == 0)
        #expect(
            published.error.contains(
                "warning: 1 record of bids is dated ahead of the clock, the latest 2030-03-17T17:46:40Z"
            ))
        try workspace.foldBids()
        let check = try Program.run("weir", ["check", "--quick"] + workspace.commandLine())
        #expect(
            check.output.contains(
                "1 record of bids is dated ahead of the clock, the latest in the hour 2030-03-17T17:00:00Z"
            ), "\(check.output)")
        try workspace.write(
            "reports/spend.yaml",
            "dump: bids\nperiod: last 2 days\ncolumns: [day, billed_price_micros]\n")
        func report(_ at: String) throws -> String {
            try Program.run(
                "weir",
                ["report", "spend", "--format", "csv", "--at", at] + workspace.commandLine()
            ).output
        }
        #expect(
            try report("2026-11-24T13:00:00Z")
                == "day,currency,billed_price_micros\r\n2026-11-22,USD,4400000000\r\n2026-11-23,USD,8800000000\r\n"
        )
        #expect(try report("2030-03-18T00:00:00Z").isEmpty == false)
        let watch = try Program.run(
            "weir", ["watch", "--at", "2026-11-26T13:00:00Z"] + workspace.commandLine())
        #expect(watch.status == 1)
        #expect(watch.output.contains("no records since 2026-11-24T12:00:00Z: silent for 48 h"))
    }
}
