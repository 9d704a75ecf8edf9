import EventLog
import Foundation
import History
import Streams
import TestKit
import Testing

@testable import Dashboard
@testable import Reports
@testable import weir

/// What charts and tables of pages draw where nothing is known, and where something is 0.
@Suite("Charts and columns on pages", .timeLimit(.minutes(10)))
struct DashboardChartsTests {
    /// 2026-11-20.
    private static let firstDay: Int64 = 1_795_132_800_000

    private static func noon(_ day: Int) -> Int64 { firstDay + Int64(day * 24 + 12) * 3_600_000 }

    /// Billings of six days. Postbacks came on the second day with revenue, on the third without, and on the fifth with
    /// revenue; on the other days the stream had no record.
    private func makeWorkspace() throws -> Workspace {
        let workspace = try Workspace()
        try workspace.configurePostbacks()
        try workspace.publish(
            "bids",
            (0..<6).map { day in
                OutgoingRecord(
                    "bids",
                    #"{"auction_id":"\#(day)","bid_id":"1","seat":"s","price":1000,"currency":"USD"}"#,
                    type: "openrtb.billing", partition: 0, at: Self.noon(day))
            })
        try workspace.publish(
            "postbacks",
            [
                Samples.signed("1", at: Self.noon(1)),
                Samples.signed("2", value: nil, at: Self.noon(2)),
                Samples.signed("3", at: Self.noon(4)),
            ])
        try workspace.foldBids()
        try workspace.foldPostbacks()
        return workspace
    }

    private func figure(_ title: String, of page: ReadPage) throws -> String {
        let start = try #require(page.text.range(of: "<figcaption>\(title)")).lowerBound
        return String(page.text[start...].split(separator: "</figure>")[0])
    }

    /// The days of a line, with what they say.
    private func days(of line: String, in figure: String) -> [String] {
        figure.matches(of: #/<title>([a-z]*), ([0-9]+ [A-Z][a-z]+): ([^<]*)<\/title>/#)
            .filter { $0.1 == line }.map { "\($0.2) \($0.3)" }
    }

    @Test("a day without records is a gap, a day of records without revenue is 0")
    func gaps() throws {
        let workspace = try makeWorkspace()
        let asker = PageAsker(
            source: try Installation.parse(
                workspace.commandLine() + ["--at", "2026-11-25T13:00:00Z"]))
        let page = try asker.page("/campaigns?period=30d")
        let revenue = try figure("Revenue of known values by day", of: page)
        #expect(
            days(of: "revenue", in: revenue) == [
                "21 Nov 50 to 100", "22 Nov 0", "24 Nov 50 to 100",
            ])
        // The line ends where days are missing. Each bound of the only piece is one.
        #expect(revenue.ranges(of: "class=\"line s0").count == 2)
        let spend = days(of: "spend", in: revenue)
        #expect(spend.map { String($0.prefix(6)) } == (20...25).map { "\($0) Nov" })
        #expect(page.text.contains("A gap in a line means"))
        // Small lines are not 0 on the days without postbacks either, of which the third one is between others.
        for address in ["/?period=30d", "/campaigns?period=30d"] {
            let text = try asker.page(address).text
            let line = try #require(
                text.firstMatch(of: #/aria-label="Installs by day"[^>]*>(.*?)<\/svg>/#)?.1)
            #expect(line.ranges(of: "<polyline").count == 2, "\(address)")
        }
        // Thirty days are shown, and data began on the sixth last.
        #expect(!revenue.contains("19 Nov"))
        let installs = try figure("Installs by day", of: page)
        let arrived = days(of: "installs", in: installs).map { $0.prefix(8) }
        #expect(arrived == ["21 Nov 1", "22 Nov 1", "24 Nov 1"])
        // The outage that lasts is part of the chart.
        #expect(installs.contains(">25 Nov</text>"))
    }

    @Test("a table by day has a row for a day without records between two others")
    func daysOfTables() throws {
        let workspace = try makeWorkspace()
        let asker = PageAsker(
            source: try Installation.parse(
                workspace.commandLine() + ["--at", "2026-11-25T13:00:00Z"]))
        for path in ["/postbacks", "/dump/postbacks?by=day"] {
            let rows = try asker.page(path).text.matches(
                of: #/<th scope="row">(2026-11-[0-9]+)(?:<small>([a-z ]*)<\/small>)?<\/th>/#)
            #expect(
                rows.map { "\($0.1) \($0.2 ?? "")" }.sorted() == [
                    "2026-11-21 ", "2026-11-22 ", "2026-11-23 no records", "2026-11-24 ",
                ], "\(path)")
        }
        // Files have the rows of the command.
        let file = try asker.page("/dump/postbacks.csv?by=day&measures=postbacks").text
        #expect(!file.contains("2026-11-23"))
    }

    @Test("the days between two rows are those of both directions, within the same group")
    func daysBetween() {
        let (first, last) = ("2026-11-29", "2026-12-02")
        #expect(DayGap.days(between: first, and: last) == ["2026-11-30", "2026-12-01"])
        #expect(DayGap.days(between: last, and: first) == ["2026-12-01", "2026-11-30"])
        for other in ["", first, "2026-11-30", "2026-11-29T01:00:00Z"] {
            #expect(DayGap.days(between: first, and: other).isEmpty, "\(other)")
        }
        #expect(DayGap.days(between: ["a", first], and: ["b", last], at: 1).isEmpty)
        #expect(DayGap.days(between: ["a", first], and: ["a", last], at: 1).count == 2)
    }

    @Test("closed warnings of one outage, and of one series without a pause, are one row")
    func closedWarnings() {
        func warning(
            _ rule: String, _ seat: String, _ opened: Int64, _ closed: Int64?,
            _ kind: WatchWarning.Kind = .silence
        ) -> WatchWarning {
            WatchWarning(
                kind: kind, rule: rule, series: [.init(column: "seat", value: seat)],
                openedMilliseconds: Self.firstDay + opened * 3_600_000,
                closedMilliseconds: closed.map { Self.firstDay + $0 * 3_600_000 }, found: .null,
                low: .null, high: .null, unit: "", words: "\(rule) of \(seat)", look: "")
        }
        let groups = ClosedWarnings.groups(
            [
                // An outage of two seats and a producer.
                warning("seats", "a", 2, 9), warning("seats", "b", 4, 9),
                warning("producers", "bids", 3, 9),
                // The rate of one seat, three times with at most an hour between them, and later again.
                warning("wins", "a", 20, 22, .rate), warning("wins", "a", 23, 24, .rate),
                warning("wins", "a", 24, 25, .rate), warning("wins", "a", 27, 28, .rate),
                // Rates that close in the same hour can have other causes. Open warnings are not closed ones.
                warning("wins", "b", 21, 22, .rate), warning("seats", "c", 5, nil),
            ], \.seriesText)
        #expect(groups.map(\.warnings.count) == [1, 1, 3, 3])
        let rows = ClosedWarnings.table(groups).rows.map { $0.map(\.plainText) }
        #expect(
            rows[2] == [
                "rate", "wins", "seat=a", "2026-11-20T20:00:00Z to 2026-11-21T00:00:00Z",
                "2026-11-20T22:00:00Z to 2026-11-21T01:00:00Z", "3 warnings",
            ])
        #expect(
            rows[3] == [
                "silence", "seats, producers", "3 series",
                "2026-11-20T02:00:00Z to 2026-11-20T04:00:00Z", "2026-11-20T09:00:00Z",
                "3 warnings",
            ])
        #expect(rows[0].last == "wins of a" && groups[0].items.isEmpty)
        #expect(
            groups[3].items.first
                == "seats, seat=a: 2026-11-20T02:00:00Z to 2026-11-20T09:00:00Z: seats of a")
        var html = HTML()
        ReportView.write(
            ClosedWarnings.table(groups), to: &html,
            items: { row, column in column == 5 ? groups[row].items : [] })
        let text = String(decoding: html.bytes, as: UTF8.self)
        #expect(text.ranges(of: "<details><summary>3 warnings</summary>").count == 2)
        #expect(text.ranges(of: "<li>").count == 6)
    }

    @Test("a small line has a gap where nothing is known, and a single day is still visible")
    func smallLine() {
        var html = HTML()
        let points = [1, nil, 1, 2].map { SmallLine.Point(low: $0, high: $0) }
        SmallLine(title: "t", points: points).write(to: &html)
        let lines = String(decoding: html.bytes, as: UTF8.self)
            .matches(of: #/<polyline [^>]*points="([^"]*)"/#).map { String($0.1) }
        #expect(lines == ["2,14 2,14", "79.3,14 118,2"])
    }

    @Test("the scale of counts has whole numbers, and a line without a value is not drawn across")
    func scale() {
        for (highest, labels) in [
            (1.0, ["0", "1", "2"]), (2, ["0", "1", "2"]), (3, ["0", "2", "4"]),
            (14, ["0", "10", "20"]), (100, ["0", "50", "100"]),
        ] {
            let points = [0, nil, highest].map {
                Chart.Point(label: "day", low: $0, high: $0, isComplete: true)
            }
            var html = HTML()
            Chart(
                title: "t", series: [Chart.Series(name: "n", points: points)], isOfCounts: true,
                scale: { $0 == $0.rounded() ? "\(Int($0))" : "\($0)" }
            ).write(to: &html)
            let text = String(decoding: html.bytes, as: UTF8.self)
            let shown = text.matches(of: #/class="label end"[^>]*>([^<]*)</#).map { String($0.1) }
            #expect(shown == labels)
            #expect(!text.contains("<polyline") && text.ranges(of: "<circle").count == 2)
        }
    }

    @Test("numbers of a column have equal decimals")
    func decimals() {
        func texts(_ values: [ReportValue], _ column: String) -> [String] {
            let fractionDigits = ShownValue.fractionDigits(of: values, in: column)
            return values.map {
                ShownValue.text($0, in: column, isKey: false, fractionDigits: fractionDigits)
            }
        }
        #expect(
            texts([.decimal("1.500000"), .decimal("2.000000"), .decimal("0.123400")], "roas_min")
                == ["1.5000", "2.0000", "0.1234"])
        #expect(texts([.decimal("3.000000"), .decimal("4.000000")], "installs") == ["3", "4"])
        #expect(
            texts([.integer(1_234_560_000), .integer(108_280)], "cost_micros")
                == ["1,234.56000", "0.10828"])
        #expect(texts([.integer(1_500_000), .integer(20_000)], "cost_micros") == ["1.50", "0.02"])
        #expect(texts([.integer(1500), .integer(2)], "bids") == ["1,500", "2"])
    }
}
