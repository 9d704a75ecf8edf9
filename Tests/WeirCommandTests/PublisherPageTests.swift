import Foundation
import History
import TestKit
import Testing

@testable import Dashboard
@testable import Reports
@testable import weir

/// What the page of a publisher says, held against stored rows.
@Suite("The page Publisher", .timeLimit(.minutes(10)))
struct PublisherPageTests {
    private let asker: PageAsker

    init() throws { asker = PageAsker(source: try ExampleStores.source()) }

    private func rows(_ arguments: [String]) throws -> [[String: Any]] {
        let program = try Program.run(
            "weir",
            arguments + [
                "--format", "json", "--data", try ExampleStores.shared.get().data, "--pipelines",
                Repository.path("pipelines"),
            ])
        #expect(program.status == 0, "\(arguments): \(program.error)")
        let value = try JSONSerialization.jsonObject(with: Data(program.output.utf8))
        return try #require(value as? [[String: Any]])
    }

    private func integer(_ value: Any?) -> Int128 {
        Int128((value as? NSNumber)?.int64Value ?? 0)
    }

    private func section(_ title: String, of page: String) throws -> String {
        let start = try #require(page.range(of: "<h2>\(title)</h2>")).upperBound
        let end = try #require(page[start...].range(of: "</section>")).lowerBound
        return String(page[start..<end])
    }

    @Test(
        "earnings are a thousandth of the billed CPM prices, and the average CPM is theirs for an ad"
    )
    func earnings() throws {
        let filter = "campaign=5239&ad_network_id=com.example"
        let page = try asker.page("/publisher?period=all&\(filter)").text
        let cards = try section("Earnings", of: page)
        // The sum of CPM prices is USD 108.28.
        #expect(
            cards.contains(
                #/<span class="title">Earnings<\/span><span class="amount"><a [^>]*>USD 0\.108280</#
            ))
        let row = try #require(
            try rows(
                ["dump", "bids", "--by", "total"]
                    + filter.split(separator: "&").flatMap { ["--where", String($0)] }
            ).first)
        #expect(integer(row["billed_price_micros"]) == 108_280_000)
        let average = ShownValue.money(108_280_000 / integer(row["billed"]), "USD")
        #expect(cards.contains(">\(average)</a>"), "\(average)")
        #expect(!page.contains(" CPM</a>"))
        let door = try #require(
            asker.page("/publisher?period=all&\(filter)").links.first { $0.text == "USD 0.108280" })
        let explained = try asker.page(door.address).text
        #expect(explained.contains("108.28 CPM") && explained.contains("adds up: "))
        #expect(explained.contains("earnings = billed prices / 1000 = "))
        #expect(
            explained.contains(">USD 108.28 CPM</a> / 1000 = <strong class=\"amount\">USD 0.10828<")
        )
    }

    @Test("a buyer has its earnings, average CPM and win rate from its own counts")
    func derived() throws {
        let request = ReportAddress("bids", by: ["seat"])
        let prices = try #require(
            MoneyByCurrency(7_500_000, of: "billed_price_micros", currency: "USD"))
        let names = ["bids", "wins", "billed", "billed_price_micros"]
        let table = ReportTable(
            columns: [.init("seat")] + names.map { .init($0, isNumber: true) },
            rows: [
                [.text("a"), .integer(8), .integer(4), .integer(3), .money(prices)],
                [.text("b"), .integer(0), .integer(0), .integer(0), .integer(0)],
            ], keyCount: 1)
        var answer = PageAnswer(request, ShownRows(table: table, keyCount: 1))
        answer.add([.of(.winRate), .of(.earnings), .averageCPM])
        func shown(_ row: Int, _ column: String) -> String {
            ShownValue.text(answer.value(answer.rows[row], column), in: column, isKey: false)
        }
        #expect(shown(0, "win_rate") == "50.00 %")
        #expect(shown(0, "earnings_micros") == "USD 0.007500")
        #expect(shown(0, "average_cpm") == "USD 2.50")
        #expect(shown(0, "billed_price_micros") == "USD 0.007500")
        // Without bids and bills there is no rate.
        #expect(["win_rate", "average_cpm"].map { shown(1, $0) } == ["", ""])
        #expect(answer.explanation(of: "average_cpm") == "average_cpm")
        #expect(answer.explanation(of: "earnings_micros") == "earnings_micros")
        answer.show(["average_cpm", "bids"])
        #expect(answer.table.columns.map(\.name) == ["seat", "average_cpm", "bids"])
    }

    @Test("each source app has its earnings and bids, which add up to those of the app")
    func sourceApps() throws {
        let part = try section(
            "Earnings by source app", of: asker.page("/publisher?period=all").text)
        let links = part.matches(of: #/<a href="([^"]*)"[^>]*>([^<]*)<\/a>/#)
        let apps = try rows(["dump", "bids", "--by", "source_app_id", "--measures", "bids,billed"])
            .filter { integer($0["bids"]) > 0 }
        #expect(!apps.isEmpty && part.contains(">earnings</th>"))
        for app in apps {
            let id = "source_app_id=\(app["source_app_id"] ?? "")&amp;"
            for measure in ["bids", "billed"] {
                let shown = links.filter {
                    $0.1.contains(id) && $0.1.hasSuffix("measure=\(measure)")
                }
                let sum = shown.reduce(Int128(0)) {
                    $0 + (Int128($1.2.replacing(",", with: "")) ?? 0)
                }
                #expect(sum == integer(app[measure]), "\(id) \(measure)")
            }
            #expect(part.contains("<a href=\"/explain/bids?\(id)"), "\(id)")
        }
    }

    @Test("a click rate has its interval, and orders the rows on request")
    func clickRates() throws {
        let title = "Click rate by placement"
        func placements(_ query: String) throws -> [String] {
            try section(title, of: asker.page("/publisher?period=all\(query)").text)
                .matches(of: #/<th scope="row">([^<]*)</#).map { String($0.1) }
        }
        let rates = try rows(["dump", "click-rates", "--by", "format,placement"])
        func sorted(_ measure: String) -> [Double] {
            rates.compactMap { ($0[measure] as? NSNumber)?.doubleValue }.sorted(by: >)
        }
        let part = try section(title, of: asker.page("/publisher?period=all&sort=ctr").text)
        #expect(part.contains(">95 % interval</th>"))
        var compared = 0
        for row in rates {
            let clicks = integer(row["clicks"])
            let shown = integer(row["presented"]) + integer(row["viewed"])
            guard clicks > 0, clicks <= shown else { continue }
            let interval = ShareInterval(clicks, of: shown)
            let text = [interval.low, interval.high].map {
                ShownValue.text($0, in: "share", isKey: false)
            }.joined(separator: " to ")
            #expect(part.contains(">\(text)</span>"), "\(text)")
            compared += 1
        }
        #expect(compared > 0)
        // The shown rates are in order.
        let shown = part.matches(of: #/measure=ctr">([0-9.,]+) %</#).compactMap { Double($0.1) }
        #expect(
            shown == shown.sorted(by: >)
                && shown.first
                    == sorted("ctr").first.map {
                        ($0 * 10_000).rounded() / 100
                    }
        )
        #expect(part.contains("sort=presented\">presented</a>"))
        #expect(try Set(placements("")) == Set(placements("&sort=ctr")))
        #expect(try asker.page("/publisher?sort=none").status == 400)
        // Wilson's interval of 8 of 10.
        let known = ShareInterval(8, of: 10)
        #expect(known.low == .decimal("0.490162") && known.high == .decimal("0.943318"))
        #expect(ShareInterval(3, of: 2).low == .null)
    }

    @Test("fraud signals of fewer than 30 records are counted and left out")
    func fraudSignals() throws {
        let page = try asker.page("/publisher?period=all").text
        let all = try rows(["dump", "fraud-signals", "--by", "ad_network_id"])
            .map { integer($0["of"]) }.filter { $0 > 0 }
        let few = all.count { $0 < 30 }
        let part = try section("Fraud signals", of: page)
        #expect(few > 0 && part.contains(" shares have fewer than 30 records"))
        #expect(part.contains("\(few == all.count ? "All \(few)" : "\(few) more") shares"))
        #expect(part.ranges(of: "<tr>").count == (few == all.count ? 0 : 1 + all.count - few))
    }

    @Test("the filter Source app offers the apps with ads, and App is the advertised app")
    func app() throws {
        let own = try asker.page("/publisher?period=all&source_app_id=880047117").text
        #expect(try section("Earnings by buyer", of: own).contains("source_app_id=880047117"))
        #expect(try !section("Earnings by buyer", of: own).contains("&amp;app_id="))
        let field = try #require(
            own.firstMatch(of: #/<select name="source_app_id">(.*?)<\/select>/#)?.1)
        let offered = field.matches(of: #/<option value="([0-9]+)"/#).map { String($0.1) }
        let shown = try rows(["dump", "bids", "--by", "source_app_id"]).compactMap {
            $0["source_app_id"].map { "\($0)" }
        }
        #expect(offered.contains("880047117") && Set(offered) == Set(shown).subtracting(["0"]))
        let both = try asker.page(
            "/publisher?period=all&app_id=525463029&source_app_id=880047117"
        ).text
        #expect(try section("Earnings by buyer", of: both).contains("app_id=525463029&amp;"))
    }

    @Test("billed and presented ads are linked, and only their counts are compared")
    func discrepancy() throws {
        let part = try section("Earnings", of: asker.page("/publisher?period=all").text)
        #expect(part.contains("failed to be presented. "))
        #expect(part.contains("/explain/impressions?"))
        #expect(
            PageWriter.discrepancy(200, 190).hasPrefix(
                "At least 10 billed ads (5.00 % of those billed) were not presented"))
        #expect(
            PageWriter.discrepancy(200, 210).hasPrefix(
                "At least 10 presented ads (5.00 % of those billed) were not billed"))
        #expect(PageWriter.discrepancy(200, 200).hasPrefix("As many were presented as billed."))
    }

    @Test("loss reasons have their share of all losses")
    func losses() throws {
        let part = try section("Loss reasons", of: asker.page("/publisher?period=all").text)
        let all = try rows(["dump", "loss-reasons", "--by", "reason"])
        let total = all.reduce(0) { $0 + integer($1["losses"]) }
        #expect(total > 0 && part.contains(">\(ShownValue.grouped(total))</a>"))
        for row in all {
            let share = ReportValue.ratio(integer(row["losses"]), total)
            let text = ShownValue.text(share, in: "share_of_losses", isKey: false)
            #expect(part.contains(">\(text)</span>"), "\(text)")
        }
    }

    @Test("a linked number of a fraud signal is the sum of the rows that it links to")
    func signalSources() throws {
        var compared = 0
        for row in try rows(["dump", "fraud-signals", "--by", "ad_network_id"]) {
            let signal = try #require(row["signal"] as? String)
            let source = try #require(FraudSignalSource.of(signal), "\(signal)")
            for (number, shown) in [(source.count, row["count"]), (source.total, row["of"])] {
                guard let number, !(shown is NSNull) else { continue }
                let parts =
                    DerivedMeasure.named(number.measure, of: number.dump)?.measures
                    ?? [number.measure]
                let conditions =
                    number.conditions.map { ["--where", "\($0.column)=\($0.value)"] }
                    + [["--where", "ad_network_id=\(row["ad_network_id"] ?? "")"]]
                let found = try rows(
                    ["dump", number.dump, "--by", "total"] + conditions.joined()
                        + ["--measures", parts.joined(separator: ",")])
                let sum = parts.reduce(Int128(0)) { $0 + integer(found.first?[$1]) }
                #expect(sum == integer(shown), "\(signal)")
                compared += 1
            }
        }
        #expect(compared > 5)
    }

    @Test(
        "a table of several reports has each number with its own explanation, and no column twice")
    func placements() throws {
        let part = try section(
            "Click rate by placement", of: asker.page("/publisher?period=all").text)
        let headings = part.matches(of: #/<th scope="col"[^>]*>([^<]*)</#).map { String($0.1) }
        #expect(Set(headings).count == headings.count)
        #expect(["presented", "clicks", "click rate"].allSatisfy(headings.contains))
        for report in ["impressions", "click-rates", "overlay-clicks"] {
            #expect(part.contains("/explain/\(report)?"), "\(report)")
            #expect(part.contains("weir dump \(report) --by format,placement"), "\(report)")
        }
    }
}
