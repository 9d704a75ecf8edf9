import ConfigurationValues
import Foundation
import History
import Monitoring
import Store
import TestKit
import Testing

@testable import Dashboard
@testable import Reports
@testable import weir

/// Which campaigns to scale or to cut: the estimated return of each, and its target.
@Suite("The table of campaigns", .timeLimit(.minutes(5)))
struct CampaignTableTests {
    private func usd(_ units: Int128) -> ReportValue {
        .money(MoneyByCurrency([.text("USD"): units * 1_000_000]))
    }

    private func answer(
        _ request: ReportAddress, _ measures: [String], _ rows: [String: [ReportValue]]
    ) -> PageAnswer {
        let keys = Funnel.campaignColumns
        return PageAnswer(
            request,
            ShownRows(
                table: ReportTable(
                    columns: keys.map { .init($0) } + measures.map { .init($0, isNumber: true) },
                    rows: rows.sorted { $0.key < $1.key }.map { id, values in
                        [.text("n.example"), .integer(1), .text(id)] + values
                    }, keyCount: keys.count), keyCount: keys.count))
    }

    private static let names = ["5001": "Cut", "5002": "Open", "5003": "Scale", "5004": "Young"]

    /// Four campaigns that spent 100 each. The last one has no complete days.
    private func answers() -> CampaignAnswers {
        let now = answer(
            ReportAddress(Funnel.name, by: Funnel.campaignColumns),
            ["cost_micros", "installs", "revenue_max_micros", "cpi"],
            Self.names.mapValues { _ in [usd(100), .integer(50), usd(90), .ratio(2, 1)] })
        let measures = ["installs", "cost_micros", "roas_min", "roas_max", "maturity"]
        let wide: [ReportValue] = [
            .integer(50), usd(100), .ratio(1, 10), .ratio(5, 1), .ratio(1, 2),
        ]
        let young: [ReportValue] = [
            .integer(50), usd(100), .ratio(1, 10), .ratio(3, 10), .ratio(0, 1),
        ]
        let returns = answer(
            PageWriter.returns(by: Funnel.campaignColumns, through: "7"), measures,
            ["5001": wide, "5002": wide, "5003": wide, "5004": young])
        let half: [ReportValue] = [.integer(25), usd(50), .null, .null, .ratio(1, 1)]
        let complete = answer(
            returns.request, measures, ["5001": half, "5002": half, "5003": half])
        var request = PageWriter.estimates(through: "7")
        (request.since, request.until) = ("2026-11-01", "2026-11-11")
        let estimates = answer(
            request, ["revenue_low_micros", "revenue_high_micros"],
            ["5001": [usd(5), usd(15)], "5002": [usd(10), usd(30)], "5003": [usd(21), usd(40)]])
        return CampaignAnswers(
            now: now, total: now, compared: nil, returns: returns, totalReturns: nil, days: nil,
            estimated: .success(EstimatedReturns(complete, estimates, total: complete)))
    }

    private func table(_ query: String, target: String = "") throws -> String {
        var html = HTML()
        try campaigns(query, target: target).write(to: &html)
        return String(decoding: html.bytes, as: UTF8.self)
    }

    private func campaigns(_ query: String, target: String) throws -> CampaignTable {
        let workspace = try Workspace()
        let campaigns = Self.names.sorted { $0.key < $1.key }.map { id, name in
            "  - {name: \(name), network: n.example, app: 1, source_identifier: '\(id)'\(target)}\n"
        }
        try workspace.write("catalog.yaml", "campaigns:\n" + campaigns.joined())
        let catalog = try PipelineDirectory(workspace.pipelines).catalog()
        let context = PageContext(
            path: "/campaigns", parameters: try #require(QueryParameters(query)), scope: [],
            newestMilliseconds: nil, presentMilliseconds: 0)
        return try CampaignTable(context, PageNames(catalog, scope: []), answers()) { _ in nil }
    }

    /// The texts of the cells of each campaign, in the order of the rows.
    private func rows(_ table: String) throws -> [[String]] {
        let body = try #require(table.firstMatch(of: #/<tbody>(.*?)<\/tbody>/#)?.1)
        return body.split(separator: "<tr>").map { row in
            row.matches(of: #/<t[hd][^>]*>(.*?)<\/t[hd]>/#).map { cell in
                cell.1.replacing(#/<[^>]*>/#, with: " ").split(separator: " ")
                    .joined(separator: " ")
            }
        }
    }

    @Test("campaigns sort by their target: those to scale first, those to cut last")
    func targets() throws {
        let query = "columns=target,roas_7_estimated&sort=-target"
        let shown = try rows(table(query, target: ", target_roas_7: 0.40"))
        #expect(
            shown.map { $0[0].split(separator: " ")[0] } == ["Scale", "Open", "Young", "Cut"])
        #expect(
            shown.map { $0[1] } == [
                "✓ above target 0.40 whole range above",
                "◌ not certain: target 0.40 the target is in the range",
                "◌ below target 0.40 so far more postbacks can arrive",
                "✗ below target 0.40 whole range below",
            ])
        // Revenue of the complete days, divided by their spend of 50.
        #expect(shown.map { $0[2] } == ["0.42 to 0.80", "0.20 to 0.60", "–", "0.10 to 0.30"])
        // A cost per install of 2 is the target if there is no other.
        let costs = try rows(table("columns=target", target: ", target_cpi: 1.60"))
        #expect(costs.allSatisfy { $0[1] == "✗ 25 % above target 1.60" })
        // Of two targets that disagree, the cell names the one that decides.
        let both = try rows(
            table("columns=target&sort=-target", target: ", target_roas_7: 0.40, target_cpi: 2.50"))
        #expect(
            both.map { $0[1].hasSuffix(" decided by the return") } == [false, true, true, true])
    }

    @Test("campaigns are listed by whether they reach their target")
    func decisions() throws {
        func words(_ target: String, outlying: Set<[String]> = []) throws -> String {
            var html = HTML()
            try campaigns("", target: target).writeDecisions(outlying: outlying, to: &html)
            return String(decoding: html.bytes, as: UTF8.self).replacing(#/<[^>]*>/#, with: "")
        }
        #expect(
            try words(", target_roas_7: 0.40")
                == "✓ Reach their target: Scale✗ Miss their target: Cut◌ Not certain: Open, Young")
        #expect(
            try words(", target_cpi: 2.50") == "✓ Reach their target: Cut, Open, Scale, Young")
        #expect(
            try words(", target_roas_7: 0.40", outlying: [["n.example", "1", "5003"]])
                .hasPrefix("✓ Reach their target: Scale (fraud signals)✗ Miss their target: Cut◌"))
        #expect(try words("") == "")
    }

    @Test("the page of a campaign has the state of its target in the table of campaigns")
    func campaignPage() throws {
        let data = try DemoStores.shared.get().path
        let asker = PageAsker(
            source: try Installation.parse([
                "--data", data, "--pipelines", "\(data)/pipelines", "--at", "2026-11-26T12:00:00Z",
            ]))
        let table = try asker.page("/campaigns?columns=target").text
        var compared = 0
        for row in table.components(separatedBy: "<tr>") {
            let state = row.firstMatch(
                of: #/<small class="target[^>]*>[^<]*<\/small>(?:<small>[^<]*<\/small>)*/#)?.0
            guard let address = row.firstMatch(of: #/href="(\/campaign\?[^"]*)"/#)?.1, let state
            else { continue }
            let page = try asker.page(String(address.replacing("&amp;", with: "&"))).text
            #expect(page.contains(state), "\(address): \(state)")
            compared += 1
        }
        #expect(compared > 1)
    }

    @Test("the narrow range replaces the wide one, and links to the estimated revenue of its days")
    func estimates() throws {
        let table = try table("sort=-roas_7_estimated")
        #expect(table.contains(">Return by day 7, estimated</a>"))
        #expect(!table.contains(">Return by day 7, bounds</a>"))
        // Nothing to compare with.
        #expect(!table.contains(">Against target</a>"))
        #expect(
            try rows(table).map { $0[0].split(separator: " ")[0] } == [
                "Scale", "Open", "Cut", "Young",
            ])
        let address =
            "/dump/revenue-estimates?through_day=7&amp;ad_network_id=n.example&amp;app_id=1&amp;campaign=5003&amp;since=2026-11-01&amp;until=2026-11-11"
        #expect(table.contains("<a href=\"\(address)\">0.42 to 0.80</a>"), "\(table)")
    }

    @Test(
        "days are complete until the first day that expects postbacks, even if some have no records"
    )
    func completeDays() {
        func end(_ days: [(String, ReportValue)]) -> String? {
            let answer = PageAnswer(
                PageWriter.returns(by: ["day"], through: "7"),
                ShownRows(
                    table: ReportTable(
                        columns: [.init("day"), .init("maturity", isNumber: true)],
                        rows: days.map { [.text($0.0), $0.1] }, keyCount: 1), keyCount: 1))
            return PageWriter.endOfComplete(answer, answer.rows)
        }
        let complete = ReportValue.ratio(1, 1)
        #expect(
            end([
                ("", .null), ("2026-11-01", complete), ("2026-11-02", .null),
                ("2026-11-03", complete), ("2026-11-04", .ratio(1, 2)), ("2026-11-05", complete),
            ]) == "2026-11-04")
        #expect(end([("2026-11-01", complete), ("2026-11-09", .null)]) == "2026-11-02")
        #expect(end([("2026-11-01", .ratio(0, 1)), ("2026-11-02", complete)]) == nil)
        #expect(end([]) == nil)
    }

    @Test("an estimate names its days, its installs and its spend, with links to their records")
    func subject() throws {
        var request = PageWriter.returns(by: Funnel.campaignColumns, through: "7")
        func words(_ since: String?, _ until: String?) throws -> String {
            (request.since, request.until) = (since, until)
            let answer = answer(
                request, ["installs", "cost_micros"], ["5001": [.integer(25), usd(50)]])
            var html = HTML()
            answer.writeSubject(try #require(answer.rows.first), in: .utc, to: &html)
            let text = String(decoding: html.bytes, as: UTF8.self)
            #expect(text.ranges(of: "<a href=\"/explain/roas?").count == 2)
            return text.replacing(#/<[^>]*>/#, with: "")
        }
        #expect(
            try words("2026-11-01", "2026-11-11")
                == "25 installs of 1–10 Nov 2026, spend USD 50.00")
        #expect(
            try words(nil, "2026-11-11")
                == "25 installs of all days until 10 Nov 2026, spend USD 50.00")
    }

    @Test("the page divides the estimates of the demo as its files do")
    func demo() throws {
        let data = try DemoStores.shared.get().path
        let asker = PageAsker(
            source: try Installation.parse([
                "--data", data, "--pipelines", "\(data)/pipelines", "--at", "2026-11-26T12:00:00Z",
            ]))
        let page = try asker.page("/campaigns?columns=roas_7_estimated,complete_7")
        let links = page.links.filter { $0.address.hasPrefix("/dump/revenue-estimates?") }
        #expect(links.count > 5)
        func rows(_ address: String) throws -> [[String: Any]] {
            let file = try asker.page(address).text
            return try #require(
                try JSONSerialization.jsonObject(with: Data(file.utf8)) as? [[String: Any]])
        }
        for link in links.prefix(3) {
            let query = try #require(link.address.split(separator: "?").last)
            let estimate = try #require(try rows("/dump/revenue-estimates.json?\(query)").first)
            let returns = try #require(
                try rows("/dump/roas.json?by=total&\(query)").first)
            func number(_ row: [String: Any], _ name: String) throws -> Double {
                try #require(row[name] as? NSNumber, "\(name)").doubleValue
            }
            let cost = try number(returns, "cost_micros")
            #expect(try number(returns, "maturity") == 1)
            let shown = link.text.split(separator: " to ").compactMap { Double($0) }
            let exact = [
                try number(estimate, "revenue_low_micros") / cost,
                try number(estimate, "revenue_high_micros") / cost,
            ]
            for (one, other) in zip([shown.first, shown.last], exact) {
                #expect(((one ?? -1) - other).magnitude < 0.0051, "\(link)")
            }
        }
        #expect(!page.text.contains("No campaign has a target."))
        // The header names what the estimates are about: the sums of the file of the same days.
        let header = try #require(
            page.text.firstMatch(of: #/<p class="note">(Return by day 7, estimated: .*?)<\/p>/#)?.1)
        let address = try #require(header.firstMatch(of: #/href="\/explain\/roas\?([^"]*)"/#)?.1)
        let query = address.replacing("&amp;", with: "&").replacing(
            #/&?measure=[a-z_]*/#, with: "")
        let total = try #require(try rows("/dump/roas.json?by=total&\(query)").first)
        let installs = try #require(total["installs"] as? NSNumber).intValue
        let words = String(header.replacing(#/<[^>]*>/#, with: ""))
        #expect(
            words.contains(
                "estimated: \(ShownValue.grouped(Int128(installs))) installs of 28 Oct – 14 Nov 2026, spend "
            ), "\(words)")
        #expect(installs > 0 && words.contains(". Only days that expect no more postbacks"))
        let young = try asker.page("/campaigns?period=7d&columns=roas_7_estimated")
        #expect(young.text.contains("is not shown: none of these days is complete"))
    }

    @Test("a target is compared with the cost in the currency of the spend, whatever a page shows")
    func currencies() throws {
        let demo = try DemoStores.shared.get().path
        let files = try TemporaryDirectory()
        let pipelines = "\(files.path)/pipelines"
        try FileManager.default.copyItem(atPath: "\(demo)/pipelines", toPath: pipelines)
        let asker = PageAsker(
            source: try Installation.parse([
                "--data", demo, "--pipelines", pipelines, "--at", "2026-11-26T12:00:00Z",
            ]))
        // A few days, whose cost is not that of all days.
        let days = "since=2026-11-20&until=2026-11-24"
        let file = try asker.page(
            "/dump/funnel.json?by=campaign&measures=cost_micros,installs&\(days)")
        let rows = try #require(
            try JSONSerialization.jsonObject(with: Data(file.text.utf8)) as? [[String: Any]])
        let row = try #require(rows.first { $0["currency"] as? String == "EUR" })
        let campaign = try #require(row["campaign"] as? String)
        let micros = try #require(row["cost_micros"] as? NSNumber).doubleValue
        let cost = micros / 1e6 / (try #require(row["installs"] as? NSNumber).doubleValue)
        let catalog = try String(contentsOfFile: "\(pipelines)/catalog.yaml", encoding: .utf8)
            .replacing(#/\n *target_(cpi|roas_7): [0-9.]+/#, with: "")
        let entry = "source_identifier: \"\(campaign)\"\n"
        #expect(catalog.contains(entry))
        // Both are below the same cost in USD.
        for (factor, verdict, other) in [
            (1.03, "✓ within target", "% above target"),
            (0.97, "3 % above target", "✓ within target"),
        ] {
            try Data(
                catalog.replacing(entry, with: "\(entry)    target_cpi: \(cost * factor)\n").utf8
            ).write(to: URL(fileURLWithPath: "\(pipelines)/catalog.yaml"))
            for currency in ["", "&in=USD", "&in=recorded", "&in=EUR"] {
                let page = try asker.page(
                    "/campaigns?\(days)&columns=cpi,target&campaign=\(campaign)\(currency)")
                #expect(page.text.contains(verdict), "\(currency)")
                #expect(!page.text.contains(other), "\(currency)")
                let link = try #require(
                    page.links.first { $0.address.hasPrefix("/campaign?") }, "\(currency)")
                let own = try asker.page(link.address).text
                #expect(own.contains(verdict) && !own.contains(other), "\(currency)")
            }
        }
    }

    @Test("a page without any target says how to set one")
    func withoutTargets() throws {
        let page = try PageAsker(source: try ExampleStores.source()).page("/campaigns?period=all")
        #expect(page.text.contains("No campaign has a target."))
        #expect(
            page.text.contains("add a line to an entry under campaigns in catalog.yaml: <code>"))
    }

    @Test("a re-engagement campaign of the demo says so, and has its re-engagements as results")
    func reengagement() throws {
        let data = try DemoStores.shared.get().path
        let asker = PageAsker(
            source: try Installation.parse([
                "--data", data, "--pipelines", "\(data)/pipelines", "--at", "2026-11-26T12:00:00Z",
            ]))
        for address in ["/campaigns", "/"] {
            let text = try asker.page(address).text
            let row = try #require(
                text.components(separatedBy: "<tr>").first {
                    $0.contains("Daybreak come back") && $0.contains("Re-engagement campaign")
                }, "\(address)")
            #expect(row.contains(#/>[1-9][0-9,]*<\/a><small>re-engagements</#), "\(address)")
        }
    }
}
