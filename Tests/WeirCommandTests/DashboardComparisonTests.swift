import Foundation
import TestKit
import Testing

@testable import Dashboard
@testable import Reports
@testable import weir

/// Campaigns side by side, subscriptions by age, and marks of trends.
@Suite("Comparisons on pages", .timeLimit(.minutes(5)))
struct DashboardComparisonTests {
    private let asker: PageAsker

    init() throws { asker = PageAsker(source: try ExampleStores.source()) }

    /// The values of the checkboxes, as a browser sends them.
    private func picks(on page: ReadPage) -> [(name: String, value: String)] {
        page.text.matches(of: #/type="checkbox" form="compare" name="([^"]+)" value="([^"]+)"/#)
            .map { (String($0.1), String($0.2)) }
    }

    private func address(_ picks: some Sequence<(name: String, value: String)>) -> String {
        PageAddress("/compare", [("period", "all")] + Array(picks)).text
    }

    @Test("checked campaigns stand side by side, with the numbers and links of the table")
    func sideBySide() throws {
        let all = try asker.page("/campaigns?period=all")
        let picks = picks(on: all)
        try #require(picks.count > 2)
        let page = try asker.page(address(picks.prefix(2)))
        #expect(page.status == 200)
        let heads = page.text.split(separator: "<thead>").last?.split(separator: "</thead>").first
        #expect(heads?.matches(of: #/<th scope="col"/#).count == 3)
        for (_, value) in picks.prefix(2) {
            let key = value.split(separator: " ", maxSplits: 2).map(String.init)
            #expect(page.text.contains("campaign=\(key[2])"), "\(value)")
        }
        let numbers = page.links.filter { $0.address.hasPrefix("/explain/funnel") }
        #expect(numbers.count > 4)
        for number in numbers { #expect(all.links.contains { $0.address == number.address }) }
    }

    @Test("fewer than two campaigns, too many, and what names none are said")
    func wrongPicks() throws {
        #expect(try asker.page("/compare").text.contains("Check two or more campaigns"))
        #expect(try asker.page("/compare?pick1=x").status == 400)
        #expect(try asker.page("/compare?pickle=1").status == 400)
        let many = (0..<9).map { (name: "pick\($0)", value: "a 1 \($0)") }
        #expect(try asker.page(address(many)).status == 400)
        #expect(try asker.page(address(many.prefix(2))).status == 200)
    }

    @Test("a reader of one campaign compares no other")
    func scope() throws {
        var reader = asker
        let picks = picks(on: try asker.page("/campaigns?period=all"))
        reader.scope = [ReportRequest.Condition(column: "campaign", value: "5240")]
        let page = try reader.page(address(picks))
        #expect(page.status == 200)
        for (_, value) in picks where !value.hasSuffix(" 5240") {
            let id = value.split(separator: " ").last ?? ""
            #expect(!page.text.contains("&amp;campaign=\(id)&"), "\(id)")
        }
    }

    @Test("subscriptions show each measure by product and storefront, with its share")
    func subscriptions() throws {
        for measure in PageWriter.subscriptionMeasures {
            let page = try asker.page("/subscriptions?period=all&show=\(measure)")
            #expect(page.status == 200, "\(measure)")
            #expect(page.text.contains("<h2>Retention and renewals by age</h2>"))
            #expect(page.text.contains("<h3>By storefront</h3>"), "\(measure)")
        }
        #expect(try asker.page("/subscriptions?show=nosuch").status == 400)
    }

    @Test("a cohort that has not reached an age shows no number, and its cell is hatched")
    func future() throws {
        let request = ReportAddress(CampaignReturns.name, by: ["day", CampaignReturns.throughDay])
        let table = ReportTable(
            columns: [
                .init("day"), .init("through_day", isNumber: true),
                .init("roas_min", isNumber: true), .init("maturity", isNumber: true),
            ],
            rows: [
                [.text("2026-11-01"), .integer(7), .ratio(1, 2), .ratio(1, 1)],
                [.text("2026-10-31"), .integer(7), .ratio(0, 1), .null],
                [.text("2026-11-20"), .integer(7), .ratio(0, 1), .null],
                [.text("2026-11-21"), .integer(7), .ratio(1, 4), .ratio(1, 2)],
            ], keyCount: 2)
        let answer = PageAnswer(request, ShownRows(table: table, keyCount: 2))
        let map = HeatMap(
            title: "Return", answer: answer, cohort: "day", age: "through_day",
            measure: "roas_min", sizes: [], rows: answer.rows)
        var html = HTML()
        map.write(to: &html)
        let cells = String(decoding: html.bytes, as: UTF8.self)
            .matches(of: #/<td class="([^"]*)">(.*?)<\/td>/#).map { (String($0.1), String($0.2)) }
        #expect(cells.map { $0.0.contains("young") } == [true, true, false, false])
        #expect(cells[1].1.contains("–") && !cells[1].1.contains("0.00"))
        #expect(cells[3].1.contains("0.00"))
    }

    @Test("notices are sentences, and name a file without its directory")
    func notices() throws {
        let notice = "amounts are converted to USD with the rates in /a/b/rates.csv: EUR at 1.08"
        #expect(
            PageWriter.sentence(notice, filesIn: "/a/b")
                == "Amounts are converted to USD with the rates in rates.csv: EUR at 1.08.")
        #expect(PageWriter.sentence("Done.", filesIn: "p") == "Done.")
    }

    @Test("the overview names the records that are not counted yet")
    func completeness() throws {
        let page = try asker.page("/")
        #expect(page.text.contains("How fresh and how complete each stream is."))
        #expect(page.text.contains(">complete</th>"))
    }
}
