import Foundation
import History
import TestKit
import Testing

@testable import Dashboard
@testable import Reports
@testable import weir

/// Compares the page Subscriptions with stored rows of the demo.
@Suite("The page Subscriptions", .timeLimit(.minutes(10)))
struct SubscriptionsPageTests {
    private let path: String
    private let asker: PageAsker

    init() throws {
        path = try DemoStores.shared.get().path
        asker = PageAsker(
            source: try Installation.parse(["--data", path, "--pipelines", "\(path)/pipelines"]))
    }

    private func rows(_ arguments: String...) throws -> [[String: Any]] {
        let program = try Program.run(
            "weir",
            ["dump"] + arguments
                + ["--format", "json", "--data", path, "--pipelines", "\(path)/pipelines"])
        #expect(program.status == 0, "\(arguments): \(program.error)")
        let value = try JSONSerialization.jsonObject(with: Data(program.output.utf8))
        return try #require(value as? [[String: Any]])
    }

    private func integer(_ value: Any?) -> Int128 {
        Int128((value as? NSNumber)?.int64Value ?? 0)
    }

    /// The amount of a card.
    private func card(_ title: String, of page: String) throws -> String {
        let start = try #require(
            page.range(of: "<span class=\"title\">\(title)</span>"), "\(title)")
        let amount = try #require(
            page[start.upperBound...].firstMatch(of: #/<span class="amount">(.*?)<\/span>/#))
        return String(amount.1).replacing(#/<[^>]*>/#, with: "")
    }

    @Test("cards have trials, their conversion, churn, refunds, and payments of each currency")
    func cards() throws {
        let page = try asker.page("/subscriptions?period=all").text
        let cohorts = try #require(
            try rows("cohorts", "--by", "total", "--measures", "trials,trial_conversions").first)
        let converted = ReportValue.ratio(
            integer(cohorts["trial_conversions"]), integer(cohorts["trials"]))
        #expect(
            try card("Trials that became paid", of: page)
                == ShownValue.text(converted, in: "conversion_rate", isKey: false))
        let all = try rows(
            "store-notifications", "--by", "currency", "--where", "environment=Production")
        func sum(_ names: String...) -> Int128 {
            all.reduce(0) { sum, row in names.reduce(sum) { $0 + integer(row[$1]) } }
        }
        #expect(sum("expirations_voluntary", "expirations_billing") > 0)
        #expect(
            try card("Churned: voluntary and billing expirations", of: page)
                == ShownValue.grouped(sum("expirations_voluntary", "expirations_billing")))
        let rate = ReportValue.ratio(
            sum("refunds") - sum("refund_reversals"),
            sum(
                "initial_buys", "resubscribes", "renewals", "recoveries", "one_time_purchases"))
        #expect(
            try card("Refund rate, less reversals", of: page)
                == ShownValue.text(rate, in: "refund_rate", isKey: false))
        #expect(all.count > 1)
        for row in all {
            let currency = try #require(row["currency"] as? String)
            #expect(
                try card("Gross amount, \(currency)", of: page)
                    == ShownValue.money(integer(row["gross_micros"]), currency), "\(currency)")
        }
    }

    @Test("the share of renewals by country is that of buyers of products that renew")
    func renewing() throws {
        let page = try asker.page("/subscriptions?period=all&show=renewals").text
        var buyers: [String: Int128] = [:]
        var others = 0
        // A product has a row for each currency.
        let products = Dictionary(grouping: try rows("cohorts", "--by", "product_id")) {
            $0["product_id"] as? String ?? ""
        }
        for (product, rowsOfProduct) in products {
            let isRenewing = rowsOfProduct.contains { row in
                ["trials", "renewals", "expirations"].contains { integer(row[$0]) > 0 }
            }
            guard isRenewing else {
                others += 1
                continue
            }
            let byCountry = try rows(
                "cohorts", "--by", "storefront", "--where", "product_id=\(product)")
            for row in byCountry {
                buyers[row["storefront"] as? String ?? "", default: 0] += integer(row["buyers"])
            }
        }
        #expect(others > 0)
        #expect(page.contains("Buyers of \(others) products without any trial, renewal"))
        let start = try #require(page.range(of: "<h3>By storefront</h3>")).upperBound
        let table = page[start...].prefix(
            upTo: page[start...].range(of: "</table>")?.lowerBound ?? start)
        #expect(table.contains("buyers of renewing products"))
        for (country, count) in buyers {
            let row = try #require(
                table.firstMatch(of: try Regex("<tr><th scope=\"row\">\(country)</th>(.*?)</td>")))
            #expect("\(row.0)".contains(">\(ShownValue.grouped(count))</"), "\(country)")
        }
    }

    @Test(
        "a count of buyers by cohort is of all currencies",
        arguments: ["buyers", "renewals", "trial_conversions"])
    func countsOfCohorts(_ measure: String) throws {
        let page = try asker.page("/cohorts?period=all&buyers=\(measure)").text
        let all = try rows(
            "cohorts", "--by", "cohort", "--measures", measure, "--where", "cohort=2026-09-27")
        let start = try #require(page.range(of: "Buyers by day of first purchase")).upperBound
        let row = try #require(
            page[start...].firstMatch(of: #/<th scope="row">27 Sep 2026<\/th>(.*?)<\/tr>/#))
        let cells = row.1.replacing(#/<[^>]*>/#, with: " ").split(separator: " ")
        #expect(all.count == 1 && integer(all.first?[measure]) > 3)
        let reached = cells.last { $0 != "–" }.map(String.init)
        #expect(reached == ShownValue.grouped(integer(all.first?[measure])))
    }

    @Test("a share of refunds names the payments up to its own day")
    func refunds() throws {
        let page = try asker.page("/subscriptions?period=all&show=refunded_micros").text
        let curve = try rows(
            "cohorts", "--by", "product_id,currency,age", "--curve", "--where",
            "product_id=daybreak.monthly", "--where", "currency=USD", "--measures",
            "gross_micros,refunded_micros")
        let day = try #require(curve.first { $0["age"] as? String == "7" })
        let gross = ShownValue.money(integer(day["gross_micros"]), "")
        #expect(integer(day["refunded_micros"]) > 0 && page.contains(" % of \(gross)</small>"))
    }

    @Test("a table of notifications begins with money, and a column of one value is a sentence")
    func products() throws {
        let page = try asker.page("/subscriptions?period=all&app_id=6449017752").text
        let start = try #require(page.range(of: "<h2>By product</h2>")).upperBound
        let part = page[start...].prefix(
            upTo: page[start...].range(of: "</section>")?.lowerBound ?? start)
        let headings = part.matches(of: #/<th scope="col"[^>]*>([^<]*)</#).map { String($0.1) }
        #expect(Array(headings.prefix(4)) == ["product id", "currency", "gross", "refunded"])
        #expect(headings.count <= 12)
        #expect(part.contains("All rows: environment Production"))
        #expect(part.contains(">all columns of this table</a>"))
    }
}
