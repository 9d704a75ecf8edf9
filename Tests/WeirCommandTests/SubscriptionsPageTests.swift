import Foundation
import History
import Streams
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

    private func rows(_ arguments: String...) throws -> [[String: Any]] { try rows(arguments) }

    private func rows(_ arguments: [String]) throws -> [[String: Any]] {
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

    @Test("cards have trials, their conversion, churn with its causes, refunds, and payments")
    func cards() throws {
        let page = try asker.page("/subscriptions?period=all").text
        let cohorts = try #require(
            try rows("cohorts", "--by", "total", "--measures", "trials,trial_conversions").first)
        // Both cards have the same trials.
        let trials = ShownValue.grouped(integer(cohorts["trials"]))
        #expect(try card("Trials begun", of: page) == trials)
        let converted = ReportValue.ratio(
            integer(cohorts["trial_conversions"]), integer(cohorts["trials"]))
        #expect(
            try card("Became paid, of all trials begun", of: page)
                == ShownValue.text(converted, in: "conversion_rate", isKey: false))
        #expect(page.contains(">\(trials)</a> began"))
        let all = try rows(
            "store-notifications", "--by", "currency", "--where", "environment=Production")
        func sum(_ names: String...) -> Int128 {
            all.reduce(0) { sum, row in names.reduce(sum) { $0 + integer(row[$1]) } }
        }
        let churned = sum(
            "expirations_voluntary", "expirations_billing", "expirations_price",
            "expirations_other")
        #expect(churned > 0)
        #expect(try card("Churned: all expirations", of: page) == ShownValue.grouped(churned))
        let cancelled = ShownValue.grouped(sum("expirations_voluntary"))
        #expect(page.contains(">\(cancelled)</a> cancelled by the customer, "))
        // A cause without any expiration is 0, and not missing.
        #expect(sum("expirations_price") == 0 && page.contains(">0</a> by a higher price"))
        let churn = ReportValue.ratio(churned, churned + sum("renewals", "recoveries"))
        #expect(
            try card("Churn rate, with trials", of: page)
                == ShownValue.text(churn, in: "churn_rate", isKey: false))
        let sales = sum(
            "initial_buys", "resubscribes", "renewals", "recoveries", "one_time_purchases")
        #expect(sum("trials") > 0)
        for (title, base) in [
            ("Refund rate, with trials", sales),
            ("Refund rate of paid purchases", sales - sum("trials")),
        ] {
            let rate = ReportValue.ratio(sum("refunds") - sum("refund_reversals"), base)
            #expect(
                try card(title, of: page)
                    == ShownValue.text(rate, in: "refund_rate", isKey: false), "\(title)")
        }
        for (count, total) in [
            (integer(cohorts["trial_conversions"]), integer(cohorts["trials"])),
            (churned, churned + sum("renewals", "recoveries")),
        ] {
            let words = try #require(ShareParts.words(count, of: total))
            #expect(page.contains("<span class=\"before\">95 % interval \(words)</span>"))
        }
        let recorded = try asker.page("/subscriptions?period=all&in=recorded").text
        #expect(all.count > 1)
        // Counts are not divided by currency.
        #expect(
            try card("Renewals", of: recorded) == ShownValue.grouped(sum("renewals")))
        for row in all {
            let currency = try #require(row["currency"] as? String)
            #expect(
                try card("Gross amount, \(currency)", of: recorded)
                    == ShownValue.money(integer(row["gross_micros"]), currency), "\(currency)")
        }
    }

    @Test("the share of ended trials leaves out running ones, and buyers whose trial began unseen")
    func endedTrials() throws {
        let first = try #require(
            try rows("store-notifications", "--by", "day").compactMap { $0["day"] as? String }.min()
        )
        let seen = UTC.day(
            milliseconds: try #require(UTC.milliseconds(text: first)) + 86_400_000)
        func row(_ more: String...) throws -> [String: Any] {
            try #require(
                try rows(["cohorts", "--by", "total", "--since", seen] + more).first)
        }
        let all = try row("--measures", "trials,trial_conversions")
        let offers = try row(
            "--where", "offer=introductory", "--measures", "buyers,trials,expirations")
        let (trials, paid) = (integer(all["trials"]), integer(all["trial_conversions"]))
        let expired = integer(offers["expirations"])
        // The demo has no introductory offer at a reduced price.
        #expect(integer(offers["buyers"]) == trials && integer(offers["trials"]) == trials)
        #expect(paid > 0 && expired > 0 && paid + expired < trials)
        let page = try asker.page("/subscriptions?period=all").text
        let share = ReportValue.ratio(paid, paid + expired)
        #expect(
            try card("Became paid, of trials that have ended", of: page)
                == ShownValue.text(share, in: "conversion_rate", isKey: false))
        #expect(
            page.contains(" expired, \(ShownValue.grouped(trials - paid - expired)) of <a "))
        let words = try #require(ShareParts.words(paid, of: paid + expired))
        #expect(page.contains("95 % interval \(words)</span>"))
    }

    @Test("a card of 0 stays")
    func zeros() throws {
        let page = try asker.page("/subscriptions?since=2020-01-01&until=2020-01-02").text
        for title in ["Trials begun", "Renewals", "Churned: all expirations", "Refunds reversed"] {
            #expect(try card(title, of: page) == "0", "\(title)")
        }
    }

    @Test("a chosen currency converts amounts, and an amount shows what it was converted from")
    func currency() throws {
        let page = try asker.page("/subscriptions?period=all&country=DE&in=USD")
        let conditions = ["--where", "environment=Production", "--where", "storefront=DEU"]
        func total(_ more: String...) throws -> Int128 {
            let found = try rows(
                ["store-notifications", "--by", "total", "--measures", "gross_micros"]
                    + conditions + more)
            return integer(found.first?["gross_micros"])
        }
        let shown = ShownValue.money(try total("--in", "USD"), "USD")
        #expect(try card("Gross amount", of: page.text) == shown)
        let door = try #require(
            page.links.first { $0.text == shown && $0.address.contains("measure=gross_micros") })
        let explained = try asker.page(door.address).text
        #expect(explained.contains("<h2>Converted to USD</h2>"))
        #expect(explained.contains(">\(shown)</strong>"))
        let recorded = ShownValue.money(try total(), "EUR")
        #expect(explained.contains(">\(recorded)</a>"), "\(recorded)")
    }

    @Test("a converted spend is the visible sum of its currencies, each in the chosen currency")
    func spend() throws {
        var request = ReportAddress("funnel", by: ["day"], measures: ["cost_micros"])
        request.target = "USD"
        request.since = "2026-11-20"
        let page = try asker.page(request.explanation(of: "cost_micros", where: []).text).text
        let days = [
            "funnel", "--by", "total", "--measures", "cost_micros", "--since", "2026-11-20",
        ]
        func cost(_ currency: String, _ more: String...) throws -> Int128 {
            let row = try rows(days + more).first { $0["currency"] as? String == currency }
            return integer(row?["cost_micros"])
        }
        let total = try cost("USD", "--in", "USD")
        let (euros, dollars) = (try cost("EUR"), try cost("USD"))
        #expect(euros > 0 && dollars > 0 && total > euros + dollars)
        #expect(page.contains(">\(ShownValue.money(euros, "EUR"))</a>"))
        let parts = [total - dollars, dollars]
        let digits = ExplanationPage.fractionDigits(parts, addingUpTo: total)
        let shown = parts.map { ShownValue.money($0, "USD", fractionDigits: digits) }
        #expect(page.contains("Sum: \(shown[0]) + \(shown[1]) = "), "\(shown)")
        #expect(page.contains(">\(ShownValue.money(total, "USD"))</strong>"))
        #expect(page.contains("<summary>Converted amounts by day</summary>"))
        // The index has counted the records; folding them again gives the same.
        #expect(page.contains("to it, by the index of the store"))
        let address = request.explanation(of: "cost_micros", where: []).text + "&verify=true"
        let verified = try asker.page(address).text
        #expect(verified.contains("adds up: ") && !verified.contains("does not add up"))
        // The proof names both origins of the dollars, and they add up.
        let proof = try #require(
            page.firstMatch(
                of: #/USD ([0-9.]+) = billed USD ([0-9.]+) \+ reported EUR [0-9.]+; USD ([0-9.]+):/#
            ))
        let amounts = try [proof.1, proof.2, proof.3].map {
            try #require(Decimal(string: String($0)))
        }
        #expect(amounts[0] == amounts[1] + amounts[2] && amounts[1] > 0)
        #expect(amounts[0] == Decimal(Int64(dollars)) / 1_000_000)
        // 1.004 and 1.004 are not 1.00 and 1.00, which would not add up to 2.01.
        #expect(ExplanationPage.fractionDigits([1_004_000, 1_004_000], addingUpTo: 2_008_000) == 3)
        #expect(ExplanationPage.fractionDigits([1_250_000, 1_250_000], addingUpTo: 2_500_000) == 2)
        #expect(ExplanationPage.fractionDigits([1_444_444, 1_444_444], addingUpTo: 2_888_888) == 6)
    }

    @Test("amounts without a rate stay as recorded, and the section says which rate is missing")
    func missingRates() throws {
        // The demo has no rate of JPY.
        let page = try asker.page("/subscriptions?period=all&in=JPY").text
        #expect(page.contains("Amounts are as recorded, because rates.csv has no rate of "))
        #expect(try card("Gross amount, CAD", of: page).hasPrefix("CAD "))
        #expect(!page.contains("Amounts cannot be converted"))
    }

    @Test("each product and country has its refund rate and churn rate, as explained divisions")
    func rates() throws {
        let page = try asker.page("/subscriptions?period=all").text
        for title in ["By product", "By country"] {
            let start = try #require(page.range(of: "<h2>\(title)</h2>")).upperBound
            let part = page[start...].prefix(
                upTo: page[start...].range(of: "</section>")?.lowerBound ?? start)
            let headings = part.matches(of: #/<th scope="col"[^>]*>([^<]*)</#).map {
                String($0.1)
            }
            #expect(headings.contains("churn rate, with trials"))
            #expect(headings.contains("refund rate, with trials"))
            #expect(headings.contains("refund rate, without trials"))
            #expect(headings.contains("sales less refunds"))
            #expect(headings.contains("refunded share"))
        }
        let row = try #require(
            try rows(
                "store-notifications", "--by", "total", "--where", "environment=Production",
                "--where", "storefront=DEU"
            ).first)
        let ended = ["expirations_voluntary", "expirations_billing", "expirations_price"]
            .reduce(integer(row["expirations_other"])) { $0 + integer(row[$1]) }
        let rate = ReportValue.ratio(
            ended, ended + integer(row["renewals"]) + integer(row["recoveries"]))
        let text = ShownValue.text(rate, in: "churn_rate", isKey: false)
        #expect(page.contains("storefront=DEU"))
        #expect(page.contains("measure=churn_rate\">\(text)</a>"), "\(text)")
    }

    @Test("paid periods have their own churn rate, whose base has no trials, as a division")
    func paidPeriods() throws {
        let page = try asker.page("/subscriptions?period=all")
        // Without amounts there is one row, not one for each currency.
        let product = [
            "--where", "product_id=daybreak.monthly", "--measures",
            "expirations,renewals,trial_conversions",
        ]
        func counts(_ offer: String) throws -> [String: Any] {
            try #require(
                try rows(["cohorts", "--by", "total", "--where", "offer=\(offer)"] + product).first)
        }
        let (paid, trials) = (try counts(""), try counts("introductory"))
        // A trial that expires keeps its offer.
        let expired = integer(paid["expirations"])
        #expect(expired > 0 && integer(trials["expirations"]) > 0)
        let renewed = integer(paid["renewals"]) - integer(paid["trial_conversions"])
        let rate = ReportValue.ratio(expired, expired + renewed)
        let door = try #require(
            page.links.first { link in
                ["product_id=daybreak.monthly", "offer=&", "measure=period_churn_rate"].allSatisfy {
                    link.address.contains($0)
                }
            })
        #expect(door.text == ShownValue.text(rate, in: "period_churn_rate", isKey: false))
        let explained = try asker.page(door.address).text
        #expect(explained.contains("expirations / (expirations + renewals - trial conversions)"))
        #expect(explained.contains("adds up: ") && !explained.contains("does not add up"))
        let start = try #require(page.text.range(of: "<h2>Trials and paid periods</h2>"))
        let rest = page.text[start.upperBound...]
        let table = rest[..<(try #require(rest.range(of: "</table>")).lowerBound)]
        let heading = "<th scope=\"col\" class=\"number\">"
        #expect(table.contains("\(heading)expired introductory offers</th>"))
        #expect(
            table.contains("\(heading)churn rate of paid periods, of buyers of these days</th>"))
        for share in ["the conversion rate", "this churn rate"] {
            #expect(table.contains("\(heading)interval of \(share), 95 %</th>"), "\(share)")
        }
        let expiredTrials = ShownValue.grouped(integer(trials["expirations"]))
        #expect(table.contains("measure=expirations\">\(expiredTrials)</a>"))
        #expect(page.text.contains("also those whose first purchase was before the first record"))
    }

    @Test("without an ended paid period, a sentence is in the place of the churn rate")
    func noPaidPeriod() throws {
        let days = ["--since", "2026-11-20", "--until", "2026-11-25"]
        let paid = try #require(
            try rows(
                [
                    "cohorts", "--by", "total", "--where", "offer=", "--measures",
                    "expirations,renewals,trial_conversions",
                ] + days
            ).first)
        let renewals = integer(paid["renewals"])
        #expect(renewals > 0 && renewals == integer(paid["trial_conversions"]))
        #expect(integer(paid["expirations"]) == 0)
        let sentence =
            "No paid period of these buyers has ended yet, so there is no churn rate: choose more days."
        let title = "Churn rate of paid periods, of buyers of these days"
        let page = try asker.page("/subscriptions?since=2026-11-20&until=2026-11-25").text
        #expect(page.components(separatedBy: sentence).count == 2)
        #expect(!page.contains("<span class=\"title\">\(title)</span>"))
        let all = try asker.page("/subscriptions?period=all").text
        #expect(!all.contains(sentence))
        #expect(try card(title, of: all).hasSuffix("%"))
    }

    @Test("a country has its sales less refunds and its refunded share, as explained numbers")
    func netSales() throws {
        let page = try asker.page("/subscriptions?period=all&in=recorded")
        let row = try #require(
            try rows(
                "store-notifications", "--by", "total", "--where", "environment=Production",
                "--where", "storefront=DEU", "--where", "currency=EUR"
            ).first)
        let refunded = integer(row["refunded_micros"])
        #expect(refunded > 0)
        let net = ShownValue.money(integer(row["gross_micros"]) - refunded, "EUR")
        let door = try #require(
            page.links.first { link in
                ["storefront=DEU", "currency=EUR", "measure=net_micros"].allSatisfy {
                    link.address.contains($0)
                }
            })
        #expect(door.text == net)
        let explained = try asker.page(door.address).text
        #expect(explained.contains("sales less refunds = gross - refunded = "))
        #expect(explained.contains("adds up: "))
        let share = try #require(
            page.links.first { link in
                ["storefront=DEU", "currency=EUR", "measure=refunded_share"].allSatisfy {
                    link.address.contains($0)
                }
            })
        let expected = ReportValue.ratio(refunded, integer(row["gross_micros"]))
        #expect(share.text == ShownValue.text(expected, in: "refunded_share", isKey: false))
        let division = try asker.page(share.address).text
        #expect(division.contains("refunded share = refunded / gross = "))
        #expect(division.contains("adds up: "))
    }

    @Test("a cell of a curve opens into the events up to its age, which add up to it")
    func cells() throws {
        let product = ["--where", "product_id=daybreak.monthly"]
        let page = try asker.page("/subscriptions?period=all&show=renewals")
        #expect(page.text.contains(">Through day 30</th>"))
        let door = try #require(
            page.links.first { link in
                ["product_id=daybreak.monthly", "through_age=30", "measure=renewals"].allSatisfy {
                    link.address.contains($0)
                }
            })
        // Only buyers who have reached the age count, and all of these do.
        let until = try #require(door.address.firstMatch(of: #/until=([0-9-]+)/#)?.1)
        func curve(until day: String) throws -> [String: Any] {
            try #require(
                rows(
                    "cohorts", "--by", "product_id,age", "--curve", "--measures",
                    "buyers,renewals,expirations", product[0], product[1], "--until", day
                ).first { $0["age"] as? String == "30" })
        }
        let cell = try curve(until: String(until))
        let start = try #require(UTC.milliseconds(text: String(until)))
        let later = try curve(until: UTC.day(milliseconds: start + 86_400_000))
        #expect((cell["maturity"] as? NSNumber)?.doubleValue == 1)
        #expect((later["maturity"] as? NSNumber)?.doubleValue != 1)
        let renewals = ShownValue.grouped(integer(cell["renewals"]))
        #expect(door.text == renewals)
        #expect(integer(cell["renewals"]) > 0)
        let explained = try asker.page(door.address).text
        #expect(explained.contains("adds up: ") && explained.contains(">\(renewals)</span>"))
        #expect(
            explained.contains("weir explain cohorts --where product_id=daybreak.monthly --where"))
        // A number of renewals for 100 buyers is not a percentage.
        let per100 = ReportValue.ratio(100 * integer(cell["renewals"]), integer(cell["buyers"]))
        let perBuyers = ShownValue.text(
            per100, in: "renewals_per_100_buyers", isKey: false, fractionDigits: 2)
        #expect(page.text.contains(">\(perBuyers)</a> per 100 of <span"), "\(perBuyers)")
        let kept = ReportValue.ratio(
            integer(cell["buyers"]) - integer(cell["expirations"]), integer(cell["buyers"]))
        #expect(
            try asker.page("/subscriptions?period=all").text.contains(
                ">\(ShownValue.text(kept, in: "kept_rate", isKey: false))</a>"))
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

    @Test("a share of refunds is of the payments up to its own day")
    func refunds() throws {
        let page = try asker.page("/subscriptions?period=all&show=refunded_micros&in=recorded")
        let door = try #require(
            page.links.first { link in
                [
                    "product_id=daybreak.monthly", "through_age=7", "currency=USD",
                    "measure=refunded_share",
                ].allSatisfy { link.address.contains($0) }
            })
        let until = try #require(door.address.firstMatch(of: #/until=([0-9-]+)/#)?.1)
        let curve = try rows(
            "cohorts", "--by", "product_id,currency,age", "--curve", "--where",
            "product_id=daybreak.monthly", "--where", "currency=USD", "--measures",
            "gross_micros,refunded_micros", "--until", String(until))
        let day = try #require(curve.first { $0["age"] as? String == "7" })
        let share = ReportValue.ratio(
            integer(day["refunded_micros"]), integer(day["gross_micros"]))
        let text = ShownValue.text(share, in: "refunded_share", isKey: false)
        #expect(integer(day["refunded_micros"]) > 0 && door.text == text)
        #expect(page.text.contains(">\(text)</a> of payments "), "\(text)")
        let gross = MoneyByCurrency(
            integer(day["gross_micros"]), of: "gross_micros", currency: "USD")
        let explained = try asker.page(door.address).text
        #expect(explained.contains(">\(gross?.plainText ?? "")</a> = <strong"))
    }

    @Test("a table of notifications begins with money, and a column of one value is a sentence")
    func products() throws {
        let page = try asker.page("/subscriptions?period=all&app_id=6449017752").text
        let start = try #require(page.range(of: "<h2>By product</h2>")).upperBound
        let part = page[start...].prefix(
            upTo: page[start...].range(of: "</section>")?.lowerBound ?? start)
        let headings = part.matches(of: #/<th scope="col"[^>]*>([^<]*)</#).map { String($0.1) }
        #expect(
            Array(headings.prefix(5)) == [
                "product id", "gross", "refunded", "sales less refunds", "refunded share",
            ])
        #expect(headings.count <= 14)
        #expect(part.contains("All rows: environment Production"))
        #expect(part.contains(">all columns of this table</a>"))
    }
}
