import ConfigurationValues
import EventLog
import Foundation
import GRDB
import History
import Monitoring
import TestKit
import Testing

@testable import Dashboard
@testable import Reports
@testable import weir

/// What buyers decide by: targets, names and heat maps.
@Suite("Campaigns on pages", .timeLimit(.minutes(5)))
struct DashboardCampaignsTests {
    @Test("a target is decided only by a bound that no later postback can move across it")
    func targets() {
        func state(_ low: Double?, _ high: Double?, isFinal: Bool) -> TargetState.State {
            TargetState(low: low, high: high, isFinal: isFinal, 1_000_000).state
        }
        #expect(state(1.33, 6.67, isFinal: false) == .reached)
        #expect(state(1, nil, isFinal: false) == .reached)
        #expect(state(0.2, 0.9, isFinal: true) == .missed)
        #expect(state(0.2, 0.9, isFinal: false) == .open)
        #expect(state(0.2, 6.67, isFinal: true) == .open)
        #expect(state(0.2, nil, isFinal: true) == .open)
        #expect(state(nil, nil, isFinal: true) == .open)
        func words(_ low: Double?, _ high: Double?, isFinal: Bool = true) -> String {
            let state = TargetState(low: low, high: high, isFinal: isFinal, 400_000)
            return "\(state.text): \(state.reason)"
        }
        #expect(words(0.41, 0.9) == "✓ above target 0.40: whole range above")
        #expect(words(0.1, 0.39) == "✗ below target 0.40: whole range below")
        #expect(words(0.1, 0.9) == "◌ not certain: target 0.40: the target is in the range")
        #expect(words(0.1, nil) == "◌ not certain: target 0.40: a bound is not known")
        #expect(
            words(0.1, 0.39, isFinal: false)
                == "◌ below target 0.40 so far: more postbacks can arrive")
    }

    @Test("a cost per install at its target is within it, and words say how far one is above it")
    func costs() {
        func text(_ cost: Double?) -> String { TargetState(costPerInstall: cost, 2_500_000).text }
        #expect(text(2.5) == "✓ within target 2.50")
        #expect(text(3) == "✗ 20 % above target 2.50")
        #expect(text(2.5001) == "✗ 1 % above target 2.50")
        #expect(text(nil) == "target 2.50")
    }

    @Test("a campaign whose spend is unknown is shown")
    func unknownSpend() throws {
        let files = try TemporaryDirectory()
        let data = "\(files.path)/data"
        try FileManager.default.copyItem(atPath: ExampleStores.shared.get().data, toPath: data)
        // Without results, spend is the only reason for a row.
        try FileManager.default.removeItem(atPath: "\(data)/postbacks.sqlite")
        func campaigns() throws -> Int {
            let source = try Installation.parse([
                "--data", data, "--pipelines", Repository.path("pipelines"),
            ])
            let page = try PageAsker(source: source).page("/campaigns?period=all").text
            let table = try #require(page.firstMatch(of: #/class="campaigns"(.*?)<\/tbody>/#)?.1)
            #expect(table.contains(">Spend"))
            return table.matches(of: #/<tr/#).count
        }
        let known = try campaigns()
        #expect(known > 1)
        // As an earlier version has folded it that did not count prices of billed bids.
        try DatabaseQueue(path: "\(data)/bids.sqlite").inDatabase { db in
            let view = try #require(
                try String.fetchOne(db, sql: "SELECT sql FROM sqlite_schema WHERE name = 'bids'"))
            try db.execute(sql: "DROP VIEW bids")
            try db.execute(sql: "ALTER TABLE bids_sums DROP COLUMN billed_price_micros")
            try db.execute(sql: view.replacing(", billed_price_micros", with: ""))
        }
        #expect(try campaigns() >= known)
    }

    @Test("a share above 100 % has the reason above its table and at its heading")
    func aboveWhole() {
        let answer = PageAnswer(
            ReportAddress(Funnel.name),
            ShownRows(
                table: ReportTable(
                    columns: [
                        .init("install_rate", isNumber: true), .init("ctr", isNumber: true),
                        .init("cpi", isNumber: true),
                    ], rows: [[.ratio(9, 2), .ratio(1, 2), .ratio(9, 2)]], keyCount: 0),
                keyCount: 0))
        let notes = answer.notesAboveWhole(
            ["install_rate", "ctr", "cpi"].map { (heading: $0, measure: $0) })
        #expect(notes.count == 1)
        let note = "Install_rate is above 100 % in some rows: installs"
        #expect(notes.first?.hasPrefix(note) == true)
        #expect(ShownValue.note("install_rate")?.contains("Can be above 100 %: ") == true)
        #expect(ShownValue.note("win_rate") == nil)
        #expect(ShownValue.note("cpi") == "cpi in files and commands.")
    }

    @Test("a campaign without a single name says what it is, in words")
    func unnamed() throws {
        let names = try names()
        func words(_ campaign: String, _ network: String, _ app: String) -> String {
            let row = ["campaign": campaign, "ad_network_id": network, "app_id": app]
            let found = names.unnamedCampaign { row[$0] }
            return [found.title, found.reason].compactMap(\.self).joined(separator: ": ")
        }
        #expect(words("", "", "1") == "Whole app: App Store notifications name no campaign")
        #expect(words("", "com.example", "1") == "No campaign: its records name no campaign")
        #expect(words("9999", "com.example", "1") == "Campaign 9999: not in the catalog")
        #expect(
            words("99", "com.example", "1")
                == "Campaign 99: not in the catalog, or for few installs, Apple sends only the last digits of an id"
        )
        #expect(names.name("39", in: "campaign") { ["name": "? of 2"][$0] } == nil)
    }

    @Test("a row without a campaign leads to its days, and one with an id to the campaign's page")
    func links() throws {
        let source = try ExampleStores.source()
        let asker = PageAsker(source: source)
        let context = PageContext(
            path: "/campaigns", parameters: try #require(QueryParameters("period=all")), scope: [],
            newestMilliseconds: nil, presentMilliseconds: 0)
        let writer = PageWriter(PageSource(source), context, period: .all)
        let app = ["ad_network_id": "", "app_id": "525463029", "campaign": ""]
        let link = try #require(
            writer.campaignLink(
                Funnel.campaignColumns.map { .init(column: $0, value: app[$0] ?? "") }))
        #expect(
            link.text == "/dump/funnel?by=day&ad_network_id=&app_id=525463029&campaign=")
        #expect(try asker.page(link.text).text.contains("Campaign: <b>none</b>"))
        let unknown = try #require(
            try asker.page("/campaigns?period=all").links.first {
                $0.text.hasPrefix("Campaign ")
            })
        let campaign = try asker.page(unknown.address)
        let postbacks = try #require(
            campaign.links.first { $0.text == "Postbacks of this id" })
        #expect(try asker.page(postbacks.address).status == 200)
    }

    private func demo() throws -> PageAsker {
        let data = try DemoStores.shared.get().path
        return PageAsker(
            source: try Installation.parse([
                "--data", data, "--pipelines", "\(data)/pipelines", "--at", "2026-11-25T23:59:00Z",
            ]))
    }

    private func section(_ title: String, of page: ReadPage) throws -> String {
        let start = try #require(page.text.range(of: "<h2>\(title)</h2>"), "\(title)").upperBound
        let end = try #require(page.text[start...].range(of: "</section>")).lowerBound
        return String(page.text[start..<end])
    }

    @Test("the page of a campaign has the records under each of its ids, and they add up")
    func recordsOfAllIDs() throws {
        let asker = try demo()
        let rest = "app_id=6448231907&ad_network_id=kst8r5m3vd.skadnetwork&period=7d"
        let page = try asker.page("/campaign?campaign=6137&\(rest)")
        #expect(!page.text.contains("Re-engagement campaign"))
        #expect(
            try section("Return on spend by age", of: page).contains(
                "Read the first table first: its range is usually the narrowest."))
        for (title, report) in [
            ("Bids by source app", "bids"), ("Ads by placement", "impressions"),
            ("Clicks by placement", "overlay-clicks"), ("Loss reasons", "loss-reasons"),
            ("Postbacks by verdict", "postbacks"), ("Decoded events", "decoded-events"),
        ] {
            let part = try section(title, of: page)
            #expect(!part.contains("No rows for these days"), "\(title)")
            #expect(part.contains(#/\/explain\/[a-z-]+\?[^"]*catalog_campaign=6137/#), "\(title)")
            #expect(part.contains("weir dump \(report) "), "\(title)")
            #expect(part.contains("--where catalog_campaign=6137"), "\(title)")
        }
        func bids(_ address: String) throws -> [Int] {
            let rows = try JSONSerialization.jsonObject(
                with: Data(asker.page("\(address)&by=total&measures=bids&\(rest)").text.utf8))
            return try #require(rows as? [[String: Any]]).compactMap { $0["bids"] as? Int }
        }
        let joined = try bids("/dump/bids.json?catalog_campaign=6137")
        #expect(try joined == bids("/dump/funnel.json?campaign=6137") && joined[0] > 0)
        let links = ReadPage(
            status: 200, contentType: "", text: try section("Fraud signals", of: page)
        ).links
        let clicks = try #require(
            links.first { $0.address.hasSuffix("measure=automatic_clicks") && $0.text != "0" })
        #expect(clicks.address.contains("catalog_campaign=6137"))
        let explained = try asker.page(clicks.address).text
        #expect(explained.contains("adds up: "))
        #expect(explained.contains("<span class=\"amount\">\(clicks.text)</span>"))
    }

    @Test("a campaign with re-engagements only counts these, and has no cost per install")
    func reengagement() throws {
        let page = try demo().page(
            "/campaign?campaign=7495&app_id=6449017752&ad_network_id=bp6x1n8trc.skadnetwork&period=7d"
        )
        #expect(page.text.contains("class=\"ids\">Re-engagement campaign · "))
        let results = try section("Results", of: page)
        #expect(results.contains("Every counted first postback of these days is a re-engagement"))
        #expect(results.contains(#/>Re-engagements<\/span><span class="amount"><a [^>]*>[1-9]/#))
        #expect(!page.text.contains("Cost per install<"))
        #expect(!page.text.contains("<h2>Return on spend by age</h2>"))
    }

    @Test(
        "the bar of a report filters by the catalog's campaign, and campaign stays that of records")
    func barOfReport() throws {
        let asker = PageAsker(source: try ExampleStores.source())
        func form(_ page: ReadPage) throws -> Substring {
            try #require(page.text.firstMatch(of: #/<form method="get"(.*?)<\/form>/#)?.1)
        }
        func chips(_ page: ReadPage) -> [String] {
            page.text.matches(of: #/<li class="chip">(.*?)<\/li>/#).map {
                String($0.1).replacing(#/<[^>]*>/#, with: "")
            }
        }
        let page = try asker.page("/dump/bids?by=seat&catalog_campaign=5239")
        #expect(chips(page) == ["Campaign: Rides, launch, video×"])
        #expect(page.text.contains("href=\"/dump/bids?by=seat\" aria-label=\"Remove the filter"))
        #expect(try form(page).contains("<select name=\"catalog_campaign\">"))
        #expect(try !form(page).contains("name=\"campaign\""))
        #expect(page.links.contains { $0.address == "/campaigns?campaign=5239" })
        let sent = try asker.page("/dump/bids?by=seat&shown=all&period=all&catalog_campaign=")
        #expect(chips(sent).isEmpty)
        let raw = try asker.page("/dump/bids?by=seat&campaign=5239")
        #expect(raw.text.contains("weir dump bids --by seat --where campaign=5239"))
        #expect(try form(raw).contains("type=\"hidden\" name=\"campaign\" value=\"5239\""))
    }

    private func names(_ scope: (column: String, value: String)...) throws -> PageNames {
        let catalog = try PipelineDirectory(Repository.path("pipelines")).catalog()
        return PageNames(
            catalog,
            scope: scope.map { ReportRequest.Condition(column: $0.column, value: $0.value) })
    }

    @Test("a reader of some campaigns is offered no name of another campaign, app or network")
    func scopes() throws {
        let all = try names()
        #expect(all.choices("campaign").count == 5 && all.choices("app_id").count == 3)
        for scope in [
            ("campaign", "5240"), ("app_id", "525463029"), ("ad_network_id", "com.example"),
        ] {
            let own = try names(scope)
            #expect(own.choices("app_id").map(\.name) == ["Example Rides"], "\(scope)")
            #expect(own.choices("ad_network_id").map(\.name) == ["Example Network"], "\(scope)")
            #expect(
                own.choices("campaign").allSatisfy { $0.name.hasPrefix("Rides") }, "\(scope)")
            #expect(own.name("1307", in: "campaign") == nil, "\(scope)")
            #expect(own.name("v9wttpbfk9.skadnetwork", in: "ad_network_id") == nil, "\(scope)")
        }
        #expect(try names(("campaign", "5240")).choices("campaign").map(\.value) == ["5240"])
        #expect(try names(("campaign", "none")).choices("app_id").isEmpty)
    }

    @Test("every country has a storefront of its own, and names are those of both codes")
    func countries() {
        #expect(Set(Countries.all.compactMap { Countries.storefront(of: $0.code) }).count > 200)
        #expect(Countries.storefront(of: "de") == "DEU" && Countries.storefront(of: "XX") == nil)
        #expect(
            Countries.name(of: "USA") == "United States"
                && Countries.name(of: "US") == "United States")
        #expect(Countries.all.allSatisfy { $0.name != $0.code })
        #expect(Countries.name(of: "QQQ") == "QQQ")
    }

    @Test(
        "costs and sales of a country are one row, and its filter shows no number of another country"
    )
    func spendByCountry() throws {
        let workspace = try Workspace()
        let samples = try SampleNotifications()
        try samples.configure(workspace)
        try workspace.write("costs.yaml", "batch_records: 100\n")
        func cost(_ country: String, _ currency: String, _ amount: Int) -> OutgoingRecord {
            OutgoingRecord(
                "costs",
                #"{"source":"s","day":"2026-11-21","country":"\#(country)","currency":"\#(currency)","amount":\#(amount)}"#,
                type: "cost.reported", partition: 0, at: Samples.start)
        }
        try workspace.publish("costs", cost("US", "USD", 20), cost("DE", "EUR", 5))
        try workspace.fold("costs", workspace.options())
        let sales = [("SUBSCRIBED", "INITIAL_BUY", 1), ("DID_RENEW", "", 5), ("REFUND", "", 1)]
        try workspace.publish(
            "store-notifications",
            sales.enumerated().map { number, sale in
                SampleNotifications.record(
                    try samples.v2(
                        sale.0, sale.1, uuid: "\(number)", transaction: sale.2, cohort: 20_000),
                    number: number)
            })
        try workspace.fold("store-notifications", workspace.options())
        let asker = PageAsker(source: try Installation.parse(workspace.commandLine()))
        func rows(_ page: String) throws -> [[String]] {
            let table = try #require(
                page.firstMatch(of: #/<h2>By country<\/h2>.*?<tbody>(.*?)<\/tbody>/#)?.1)
            return table.matches(of: #/<tr>(.*?)<\/tr>/#).map { row in
                row.1.matches(of: #/<t[hd][^>]*>(.*?)<\/t[hd]>/#).map {
                    String($0.1).replacing(#/<[^>]*>/#, with: "")
                }
            }
        }
        let all = try asker.page("/campaigns?period=all")
        #expect(
            try rows(all.text) == [
                ["United StatesUS", "USD", "USD 20.00", "USD 19.98", "USD 9.99", "USD 9.99"],
                ["GermanyDE", "EUR", "EUR 5.00", "EUR 0.00", "EUR 0.00", "EUR 0.00"],
            ])
        let net = try #require(all.links.first { $0.address.contains("measure=net_micros") })
        let explained = try asker.page(net.address).text
        #expect(explained.contains("adds up: ") && !explained.contains("does not add up"))
        let germany = try asker.page("/?period=all&country=DE").text
        #expect(germany.contains("<h2>Spend and sales in Germany</h2>"))
        #expect(germany.contains(">EUR 5.00<") && !germany.contains("USD"))
        // A notification names no network, so the sales of a network are not known.
        let network = try asker.page("/campaigns?period=all&ad_network_id=n.example").text
        #expect(network.contains("Sales: not by network. Records of store notifications carry no"))
    }

    @Test("cells of cohorts that can still grow are hatched, complete ones are not")
    func hatched() throws {
        let asker = PageAsker(source: try ExampleStores.source())
        let page = try asker.page("/cohorts?period=all").text
        let maps = page.matches(of: #/<table class="heat">(.*?)<\/table>/#).map { String($0.1) }
        #expect(!maps.isEmpty)
        let rows = try JSONSerialization.jsonObject(
            with: Data(try asker.page("/dump/roas.json?by=day,through_day").text.utf8))
        let open = try #require(rows as? [[String: Any]]).contains {
            ($0["maturity"] as? NSNumber)?.doubleValue ?? 1 < 1
        }
        #expect(open && maps[0].contains(" young\""))
    }

    @Test("targets of a campaign are read, and one that is not above 0 is refused")
    func configuration() throws {
        let workspace = try Workspace()
        func write(_ targets: String) throws {
            try workspace.write(
                "catalog.yaml",
                "campaigns: [{name: a, network: n.example, app: 1, campaign_id: 2, \(targets)}]\n")
        }
        try write("target_cpi: 2.5, target_roas_7: 0.25")
        let found = try PipelineDirectory(workspace.pipelines).catalog().campaigns.first?.targets
        #expect(found?.costPerInstallMicros == 2_500_000 && found?.returnMicros == 250_000)
        for wrong in ["target_cpi: 0", "target_roas_7: x"] {
            try write(wrong)
            #expect(throws: ConfigurationError.self) {
                try PipelineDirectory(workspace.pipelines).catalog()
            }
        }
    }
}
