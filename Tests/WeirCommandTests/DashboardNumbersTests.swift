import Foundation
import History
import Reports
import TestKit
import Testing

@testable import Dashboard
@testable import weir

/// What pages say of numbers, held against what the commands print of the same stores.
@Suite("Numbers on pages", .timeLimit(.minutes(10)))
struct DashboardNumbersTests {
    private let asker: PageAsker

    init() throws { asker = PageAsker(source: try ExampleStores.source()) }

    private func run(_ arguments: [String], log: Bool = false) throws -> String {
        let program = try Program.run(
            "weir",
            arguments + [
                "--data", try ExampleStores.shared.get().data, "--pipelines",
                Repository.path("pipelines"),
            ])
        #expect(program.status == 0, "\(arguments): \(program.error)")
        return program.output
    }

    private func rows(_ arguments: [String]) throws -> [[String: Any]] {
        let text = try run(arguments + ["--format", "json"])
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(value as? [[String: Any]])
    }

    private func integer(_ value: Any?) -> Int { (value as? NSNumber)?.intValue ?? 0 }

    private func amounts(_ page: ReadPage) -> [String] {
        page.text.matches(of: #/<span class="amount">([^<]*)<\/span>/#).map { String($0.1) }
    }

    @Test(
        "a rate is shown as what it divides, each a link to the number that it is, and as the report has it",
        arguments: ["ctr", "null_rate", "win_rate", "install_rate", "app_refund_rate"])
    func rates(_ rate: String) throws {
        let page = try asker.page("/explain/funnel?measure=\(rate)")
        let division = try #require(
            page.text.firstMatch(of: #/<h2>Calculation<\/h2>(.*?)<\/p>/#)?.1)
        let terms = division.matches(of: #/<a href="([^"]*)" class="amount">([^<]*)<\/a>/#)
        #expect(terms.count >= 2)
        var numbers: [Double] = []
        for term in terms {
            let explained = try asker.page(String(term.1).replacing("&amp;", with: "&"))
            #expect(amounts(explained) == [String(term.2)], "\(term.1)")
            numbers.append(try #require(Double(term.2.replacing(",", with: ""))))
        }
        let result = try #require(division.firstMatch(of: #/<strong class="amount">([0-9.]+)/#)?.1)
        let row = try #require(
            try rows(["dump", "funnel", "--by", "total", "--measures", rate]).first)
        let value = try #require(row[rate] as? NSNumber).doubleValue
        #expect(Double(result) == value)
        // Reversals are subtracted from refunds; all other terms after the first are added up below the line.
        let isNet = rate == "app_refund_rate"
        let over = isNet ? numbers[0] - numbers[1] : numbers[0]
        let under = numbers.dropFirst(isNet ? 2 : 1).reduce(0, +)
        #expect(abs(over / under - value) < 0.000_001)
        let arguments = ["explain", "funnel", "--measure", rate]
        #expect(try run(arguments).contains("= \(result)\n"))
        let file = try asker.page("/explain/funnel.json?measure=\(rate)").text
        #expect(file.contains("\"value\":\(result)"))
        #expect(try file == run(arguments + ["--limit", "10000", "--format", "json"]))
    }

    @Test(
        "a quotient or a sum that a page computes is explained by each of its measures",
        arguments: [
            ("cohorts", "conversion_rate"), ("store-notifications", "churned"),
            ("store-notifications", "churn_rate"), ("cohorts", "kept_rate"),
            ("cohorts", "renewals_per_100_buyers"), ("overlay-clicks", "automatic_click_rate"),
            ("store-notifications", "refund_rate"), ("store-notifications", "paid_refund_rate"),
            ("cohorts", "period_churn_rate"), ("bids", "win_rate"), ("bids", "average_cpm"),
            ("bids", "earnings_micros"),
        ])
    func derived(_ dump: String, _ name: String) throws {
        let parts = try #require(DerivedMeasure.named(name, of: dump)).parts
        let page = try asker.page("/explain/\(dump)?measure=\(name)")
        let division = try #require(page.text.firstMatch(of: #/<p class="division">(.*?)<\/p>/#)?.1)
        let terms = division.matches(of: #/measure=([a-z_]+)" class="amount">/#)
        #expect(terms.map { String($0.1) } == parts)
        #expect(page.text.contains("adds up: ") && !page.text.contains("does not add up"))
        let printed = try run(["explain", dump, "--measure", name])
        #expect(
            ["", "(", "100 × "].contains { printed.contains("\(name) = \($0)\(parts[0])") })
    }

    @Test("a rate of money is the division of the amounts as they are, and one of nothing says why")
    func ratesOfMoney() throws {
        let cell = "campaign=5239&app_id=525463029&ad_network_id=com.example"
        let cost = try asker.page("/explain/funnel?\(cell)&measure=cpi").text
        for part in [">USD 0.10828</a> / <a", ">1</a> = <strong class=\"amount\">USD 0.108280<"] {
            #expect(cost.contains(part), "\(part)")
        }
        let none = try asker.page("/explain/funnel?campaign=5240&measure=cpi").text
        #expect(none.contains("= not known: nothing to divide by"))
        let unpaid = try asker.page("/explain/funnel?campaign=3&measure=cpi").text
        #expect(unpaid.contains("= not known: cost_micros is missing"))
    }

    @Test(
        "a cost per install says how many of the installs are of campaigns whose cost is not known")
    func costPerInstall() throws {
        let campaigns = try rows([
            "dump", "funnel", "--by", "ad_network_id,app_id,campaign", "--measures",
            "cost_micros,installs",
        ])
        let unpaid = campaigns.filter { $0["cost_micros"] is NSNull }
            .reduce(0) { $0 + integer($1["installs"]) }
        #expect(unpaid > 0)
        let today = try asker.page("/?period=all").text
        #expect(today.contains(" \(unpaid) installs belong to campaigns without a known cost"))
        let explained = try asker.page("/explain/funnel?measure=cpi").text
        #expect(explained.contains("\(unpaid) of the "))
        let one = try asker.page("/?period=all&campaign=5239").text
        #expect(!one.contains("installs belong to campaigns without"))
        let note = ">Cost per install is the cost divided by all installs of the row"
        #expect(try asker.page("/campaigns?period=all").text.contains(note))
        #expect(!(try asker.page("/campaigns?period=all&campaign=5239").text.contains(note)))
    }

    @Test("a record of bids says of each ad's signature what was signed and which check failed")
    func adSignatures() throws {
        for (verdict, words) in [
            ("invalid", "invalid: the signature check failed: the key of com.example did not make"),
            ("valid", "valid: the key of com.example made this signature"),
        ] {
            let number = try asker.page(
                "/explain/bid-signatures?verdict=\(verdict)&ad_network_id=com.example&measure=signatures"
            )
            let record = try #require(
                number.links.first { $0.address.hasPrefix("/record?topic=bids") })
            let page = try asker.page(record.address)
            #expect(
                page.text.contains("keys that were configured when the worker folded the record"))
            #expect(page.text.contains(words), "\(record.address)")
            for field in ["source-identifier", "itunes-item-id", "nonce", "fidelity-type"] {
                #expect(page.text.contains(">\(field)</td>"), "\(field)")
            }
        }
        let other = try asker.page("/record?topic=postbacks&partition=1&offset=4")
        #expect(!other.text.contains("Ad signatures"))
    }

    @Test("the click rate of a placement is its counted clicks by its presented and viewed ads")
    func clickRates() throws {
        let rates = try rows(["dump", "click-rates", "--by", "format,placement"])
        let shown = try rows(["dump", "impressions", "--by", "format,placement"])
        let clicked = try rows(["dump", "overlay-clicks", "--by", "format,placement"])
        func find(_ rows: [[String: Any]], _ row: [String: Any]) -> [String: Any]? {
            rows.first {
                $0["format"] as? String == row["format"] as? String
                    && $0["placement"] as? String == row["placement"] as? String
            }
        }
        #expect(rates.count >= 5)
        #expect(!rates.contains { $0["format"] as? String == "skadn" })
        for row in rates {
            let seen = ["presented", "viewed"].map { integer(find(shown, row)?[$0]) }
            #expect(["presented", "viewed"].map { integer(row[$0]) } == seen)
            for name in ["clicks", "user_clicks", "paid_clicks", "organic_clicks"] {
                #expect(integer(row[name]) == integer(find(clicked, row)?[name]), "\(name)")
            }
            let all = seen.reduce(0, +)
            guard all > 0 else { continue }
            let rate = try #require(row["ctr"] as? NSNumber).doubleValue
            #expect(abs(rate - Double(integer(row["clicks"])) / Double(all)) < 0.000_001)
        }
        let page = try asker.page("/publisher?period=all")
        let start = try #require(page.text.range(of: "Click rate by placement")).upperBound
        let part = page.text[start...].prefix { $0 != "\u{0}" }.split(separator: "</table>")[0]
        let doors = part.matches(of: #/<a href="([^"]*)">([0-9,]+)<\/a>/#)
        #expect(doors.count >= 10)
        for door in doors {
            let explained = try asker.page(String(door.1).replacing("&amp;", with: "&"))
            #expect(amounts(explained) == [String(door.2)], "\(door.1)")
        }
    }

    @Test(
        "later records of a change lead to these records, which add up to it",
        arguments: ["postbacks", "funnel", "overlay-clicks"])
    func changes(_ dump: String) throws {
        let from = "2026-11-20T07:30:00Z"
        let page = try asker.page("/changes/\(dump)?from=\(from)")
        let doors = page.links.filter { $0.address.contains("&from=") }
        #expect(doors.count > 1)
        for door in doors {
            let explained = try asker.page(door.address)
            #expect(!explained.text.contains("does not add up"), "\(door.address)")
            let later = explained.text.matches(
                of: #/<span>since [^<]*<\/span><span class="amount">([^<]*)</#
            ).map { String($0.1) }
            // Cost is explained by prices for a thousand.
            guard !door.address.contains("cost_micros") else { continue }
            #expect(later == [door.text], "\(door.address)")
            let times = explained.text.matches(of: #/<td>(2026-11-2[0-9T:.]+Z)<\/td>/#)
            #expect(times.allSatisfy { String($0.1) >= from }, "\(door.address)")
        }
        let file = try asker.page("/changes/\(dump).csv?from=\(from)")
        let printed = try run([
            "changes", dump, "--by", "total", "--from", from, "--format", "csv",
        ])
        #expect(file.text == printed)
    }

    @Test("the records of an explanation are there as files, as the command writes them")
    func recordFiles() throws {
        let page = try asker.page("/explain/postbacks?verdict=valid&measure=postbacks")
        for format in ["csv", "json"] {
            let door = try #require(page.links.first { $0.address.contains(".\(format)?") })
            let printed = try run([
                "explain", "postbacks", "--where", "verdict=valid", "--measure", "postbacks",
                "--format", format,
            ])
            #expect(try asker.page(door.address).text == printed, "\(format)")
        }
        #expect(try asker.page("/explain/postbacks.xml").status == 404)
    }

    @Test("evidence that is taken of a measure proves this measure and no other")
    func evidence() throws {
        let page = try asker.page("/explain/funnel?campaign=5239&measure=installs")
        let door = try #require(page.links.first { $0.address.hasPrefix("/evidence/") })
        let files = try TemporaryDirectory()
        let path = "\(files.path)/evidence.tar"
        try asker.file(door.address).write(to: URL(fileURLWithPath: path))
        let verified = try Program.run("weir", ["evidence", "verify", path])
        #expect(verified.status == 0, "\(verified.output)")
        #expect(verified.output.contains("measure=installs: installs = 1\n"))
    }

    @Test("an explanation over several currencies leads to each of them")
    func currencies() throws {
        let page = try asker.page("/explain/store-notifications?measure=gross_micros")
        let doors = page.links.filter { ["EUR", "USD"].contains($0.text) }
        #expect(doors.count == 2)
        for door in doors {
            let explained = try asker.page(door.address)
            #expect(amounts(explained).first?.hasPrefix(door.text) == true, "\(door.address)")
            #expect(explained.text.contains("adds up: "))
        }
    }

    @Test("pages say which days they show, and rows of which nothing is known are left out")
    func words() throws {
        func days(_ address: String) throws -> String? {
            try asker.page(address).text.firstMatch(of: #/<p class="range">([^<]*)</#)
                .map { String($0.1) }
        }
        #expect(try days("/?period=1d")?.contains(" Nov 2026, until ") == true)
        #expect(try days("/?period=all") == "All days (UTC)")
        #expect(
            try days("/?since=2026-11-19&until=2026-11-20") == "19 Nov 2026 (UTC)")
        #expect(
            try days("/?since=2026-11-18&until=2026-11-20")
                == "18–19 Nov 2026 (UTC)")
        #expect(try days("/live") == nil)
        #expect(try asker.page("/?period=all").text.contains("Postbacks without a value"))
    }

    @Test(
        "partitions without lag are counted instead of listed, and counts have thousands separators"
    )
    func streams() throws {
        let page = try asker.page("/streams").text
        let start = try #require(page.range(of: "<h2>Lag</h2>")).upperBound
        let part = page[start...].prefix(
            upTo: page[start...].range(of: "</section>")?.lowerBound ?? start)
        #expect(part.contains(#/[0-9]+ partitions have no lag\./#))
        #expect(!part.contains("<tr><td class=\"word\">bids</td>"))
        var html = HTML()
        ReportView.write(
            ReportTable(
                columns: [.init("offset", isNumber: true), .init("records", isNumber: true)],
                rows: [[.integer(12_345), .integer(12_345)]]), to: &html, counts: ["records"])
        let cells = String(decoding: html.bytes, as: UTF8.self)
        #expect(cells.contains(">12345<") && cells.contains(">12,345<"))
    }

    @Test("a type that a topic does not have is named alike wherever a record is listed")
    func unknownType() throws {
        for path in ["/records", "/live?refused=1"] {
            let text = try asker.page(path).text
            #expect(text.contains(">unknown (openrtb.bid)<"), "\(path)")
            #expect(!text.contains(">openrtb.bid</td>"), "\(path)")
        }
        #expect(try asker.page("/records").text.contains(">unknown</td>"))
    }

    @Test("a country limits storefronts, with its two letters or with their three")
    func storefronts() throws {
        let germany = "<th scope=\"row\">Germany<small>DEU</small></th>"
        #expect(try asker.page("/subscriptions?period=all").text.contains(germany))
        for country in ["USA", "US"] {
            let page = try asker.page("/subscriptions?period=all&country=\(country)").text
            #expect(page.contains("storefront=USA") && !page.contains(germany), "\(country)")
        }
    }
}
