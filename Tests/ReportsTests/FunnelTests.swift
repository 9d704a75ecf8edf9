import ConfigurationValues
import Reports
import Store
import Streams
import TestKit
import Testing

@Suite("The funnel")
struct FunnelTests {
    private let stores = FunnelStores()
    private let catalog = """
        campaigns:
          - {name: launch, network: net, app: 1, campaign_id: 45, source_identifier: "5239",
             media_source: video}
          - {name: low, network: net, app: 1, campaign_id: 39}
          - {name: first, network: net, app: 1, source_identifier: "1140"}
          - {name: second, network: net, app: 1, source_identifier: "2240"}
        """
    private func bid(_ campaign: String, _ more: [String: Any] = [:]) -> [String: Any] {
        [
            "ad_network_id": "net", "app_id": 1, "campaign": campaign, "skan_version": "4.0",
            "currency": "USD", "bids": 1,
        ].merging(more) { $1 }
    }
    private func postback(_ campaign: String, _ more: [String: Any] = [:]) -> [String: Any] {
        ["ad_network_id": "net", "app_id": 1, "campaign": campaign].merging(more) { $1 }
    }

    @Test("a row has every column of the streams, worked out exactly")
    func everyColumn() throws {
        try stores.setCatalog(catalog)
        try stores.bids(
            bid(
                "5239",
                [
                    "bids": 8, "overlay_requested": 6, "overlay_eligible": 5, "wins": 3,
                    "billed": 3,
                    "billed_price_micros": 4_500_001_500,
                ]))
        try stores.store(
            "impressions", postback("5239", ["format": "skoverlay", "presented": 2, "viewed": 0]),
            postback("5239", ["format": "inapp", "presented": 1, "viewed": 0]),
            postback("5239", ["format": "outbrain", "presented": 0, "viewed": 2]),
            postback("5239", ["format": "skadn", "presented": 7, "viewed": 0]))
        try stores.store("overlay-clicks", postback("5239", ["clicks": 2, "automatic_clicks": 1]))
        try stores.postbacks(
            postback("39", ["null_values": 1]), postback("239", ["conversion_type": "redownload"]),
            postback("5239", ["conversion_type": "re-engagement"]),
            postback("5239", ["conversion_type": "other"]),
            postback("5239", ["sequence_index": 1]))
        try stores.decoded(
            "decoded-events",
            postback(
                "39",
                [
                    "currency": "USD", "revenue_min_micros": 9_000_003,
                    "revenue_max_micros": 18_000_006,
                ]))
        try stores.store(
            "store-notifications",
            [
                "environment": "Production", "bundle_id": "com.example",
                "ownership": "purchased", "refunds": 1, "refund_reversals": 0,
                "initial_buys": 1, "resubscribes": 1, "renewals": 1, "recoveries": 1,
                "one_time_purchases": 4,
            ])
        #expect(
            try stores.funnel(by: "day,campaign").lines == [
                """
                {"day":"2026-11-21","campaign":"","currency":"","bids":0,"overlay_requested":0,\
                "overlay_eligible":0,"wins":0,"presented":0,"viewed":0,"skadn_impressions":0,\
                "clicks":0,\
                "automatic_clicks":0,"installs":0,"redownloads":0,"reengagements":0,"postbacks":0,\
                "null_values":0,"null_rate":null,"revenue_min_micros":null,"revenue_max_micros":null,\
                "revenue_bound_min_micros":null,"revenue_bound_max_micros":null,\
                "unbounded_postbacks":0,"cost_micros":null,"cost_source":null,"reported_cost_micros":null,\
                "win_rate":null,"ctr":null,"install_rate":null,"cpi":null,\
                "roas_min":null,"roas_max":null,"app_refunds":1,"app_refund_reversals":0,"app_refund_rate":0.125000,\
                "maturity":null,"final_after":null}
                """,
                """
                {"day":"2026-11-21","campaign":"5239","currency":"USD","bids":8,"overlay_requested":6,\
                "overlay_eligible":5,"wins":3,"presented":3,"viewed":2,"skadn_impressions":7,\
                "clicks":2,"automatic_clicks":1,"installs":1,"redownloads":1,"reengagements":1,\
                "postbacks":5,"null_values":1,"null_rate":0.200000,"revenue_min_micros":9000003,\
                "revenue_max_micros":18000006,"revenue_bound_min_micros":null,\
                "revenue_bound_max_micros":null,"unbounded_postbacks":1,"cost_micros":4500001,\
                "cost_source":"billed","reported_cost_micros":null,\
                "win_rate":0.375000,"ctr":0.400000,"install_rate":0.500000,"cpi":4.500002,\
                "roas_min":2.000000,"roas_max":4.000000,"app_refunds":1,"app_refund_reversals":0,"app_refund_rate":0.125000,\
                "maturity":0.000000,"final_after":"2026-12-30T12:00:00Z"}
                """,
            ])
    }

    @Test(
        "bids, postbacks of 4.0 and of 3.0 of one campaign are one row, and revenue goes with them")
    func joins() throws {
        try stores.setCatalog(catalog)
        try stores.bids(bid("5239"))
        try stores.postbacks(
            postback("39"), postback("45", ["version": "3.0"]), postback("39", ["version": "3.0"]))
        try stores.decoded(
            "decoded-events",
            postback(
                "45", ["currency": "USD", "revenue_max_micros": 5, "has_source_identifier": 0]),
            postback("40", ["currency": "USD", "revenue_max_micros": 7]))
        let rows = try stores.funnel().rows(
            "campaign", "name", "media_source", "bids", "postbacks", "revenue_max_micros")
        #expect(
            rows == [
                ["39", "low", "", "0", "1", ""], ["40", "? of 2", "", "0", "0", "USD 0.000007"],
                ["5239", "launch", "video", "1", "2", "USD 0.000005"],
            ])
    }

    @Test("installs and revenue of one hour and text go to the campaign of their kind of id")
    func decodedKind() throws {
        try stores.setCatalog(catalog)
        func revenue(_ campaign: String, _ micros: Int, isIdentifier: Int) throws {
            try stores.decoded(
                "decoded-events",
                postback(
                    campaign,
                    [
                        "currency": "USD", "revenue_max_micros": micros,
                        "has_source_identifier": isIdentifier,
                    ]))
        }
        // 45 is the campaign id of 5239, and no identifier ends with it. 39 can be both.
        for campaign in ["45", "39"] {
            try stores.postbacks(
                postback(campaign), postback(campaign, ["version": "3.0", "postbacks": 2]))
        }
        try revenue("45", 1, isIdentifier: 1)
        try revenue("45", 20, isIdentifier: 0)
        try revenue("39", 300, isIdentifier: 1)
        try revenue("39", 4000, isIdentifier: 0)
        #expect(
            try stores.funnel().rows("campaign", "name", "installs", "revenue_max_micros") == [
                ["39", "low", "2", "USD 0.004"], ["45", "", "1", "USD 0.000001"],
                ["5239", "launch", "3", "USD 0.00032"],
            ])
    }

    @Test("an ambiguous identifier is reported with the number of candidates, never guessed")
    func ambiguous() throws {
        try stores.setCatalog(catalog)
        try stores.bids(bid("1140"), bid("2240"))
        try stores.postbacks(postback("40"), postback("140"))
        #expect(
            try stores.funnel().rows("campaign", "name", "postbacks") == [
                ["1140", "first", "1"], ["2240", "second", "0"], ["40", "? of 2", "1"],
            ])
    }

    @Test("money of two currencies stays apart, and what one currency alone gives is null")
    func currencies() throws {
        let billed: [String: Any] = ["billed": 1, "wins": 1, "billed_price_micros": 1_230_000_000]
        try stores.bids(
            bid("1", billed),
            bid(
                "1", billed.merging(["currency": "EUR", "billed_price_micros": 500_000_999]) { $1 }),
            bid("2", billed), bid("3", billed.merging(["currency": "EUR"]) { $1 }))
        try stores.postbacks(postback("1"), postback("2"), postback("3"))
        for campaign in ["1", "2", "3"] {
            try stores.decoded(
                "decoded-events",
                postback(
                    campaign,
                    [
                        "currency": "USD", "revenue_min_micros": 0,
                        "revenue_max_micros": 2_460_000,
                    ]))
        }
        let funnel = try stores.funnel(by: "campaign")
        #expect(
            funnel.rows("cost_micros", "cpi", "roas_min", "roas_max") == [
                ["EUR 0.50; USD 1.23", "", "", ""],
                ["USD 1.23", "1.230000", "0.000000", "2.000000"], ["EUR 1.23", "1.230000", "", ""],
            ])
        // For programs, a row for each currency, of which the first alone has the counts.
        let lines = funnel.lines
        #expect(lines.count == 5)
        #expect(lines[0].hasPrefix(#"{"campaign":"1","currency":"EUR","bids":2,"#))
        #expect(lines[0].contains(#""cost_micros":500000,"#))
        #expect(lines[0].contains(#""cpi":null,"roas_min":null,"roas_max":null"#))
        #expect(lines[1].hasPrefix(#"{"campaign":"1","currency":"USD","bids":null,"#))
        #expect(lines[1].contains(#""revenue_max_micros":2460000,"#))
        #expect(lines[1].contains(#""cost_micros":1230000,"#))
        let csv = funnel.table.text(as: .csv).split(separator: "\r\n")
        #expect(csv[0].hasPrefix("campaign,currency,bids,"))
        #expect(csv[2].hasPrefix("1,USD,,"))
    }

    @Test("a rate without a denominator is null, never 0 or infinite")
    func zeroDenominators() throws {
        try stores.bids(bid("1", ["bids": 0, "wins": 1, "billed": 1, "billed_price_micros": 0]))
        try stores.store("overlay-clicks", postback("1", ["clicks": 1, "automatic_clicks": 0]))
        try stores.postbacks(postback("1", ["did_win": 0]))
        let line = try #require(try stores.funnel().lines.first)
        for rate in ["win_rate", "ctr", "cpi", "roas_min", "null_rate", "app_refund_rate"] {
            #expect(line.contains("\"\(rate)\":null"), "\(rate)")
        }
        #expect(line.contains(#""install_rate":0.000000"#))
        #expect(line.contains(#""cost_micros":0"#))
    }

    @Test("sums beyond 64 bits, and what is divided by them, stay exact")
    func largeSums() throws {
        let most = Int64.max
        try stores.bids(
            bid("1", ["billed": 1, "billed_price_micros": most]),
            bid("1", ["hour": "2026-11-21T06:00:00Z", "billed": 1, "billed_price_micros": most]))
        try stores.postbacks(postback("1"))
        try stores.decoded(
            "decoded-events",
            postback(
                "1", ["currency": "USD", "revenue_min_micros": most, "revenue_max_micros": most]))
        #expect(try stores.funnel().lines.first?.contains(#":18446744073709551,"#) == true)
        #expect(
            try stores.funnel().rows("cpi", "roas_min") == [["18446744073.709552", "500.000000"]])
    }

    @Test("only trusted, winning postbacks count; development where the pipeline trusts it")
    func trust() throws {
        try stores.postbacks(
            postback("1"), postback("1", ["verdict": "development"]),
            postback("1", ["verdict": "invalid"]), postback("1", ["verdict": "unverifiable"]),
            postback("1", ["did_win": 0]))
        #expect(try stores.funnel().rows("installs", "postbacks") == [["1", "1"]])
        #expect(
            try stores.funnel(trustsDevelopment: true).rows("installs", "postbacks")
                == [["2", "2"]])
    }

    @Test("streams without a store are named, and give nothing, which is no 0")
    func missingStreams() throws {
        try stores.bids(bid("1"))
        let funnel = try stores.funnel()
        #expect(
            funnel.missingStreams == [
                "costs", "impressions", "overlay-clicks", "postbacks", "store-notifications",
            ])
        #expect(
            funnel.rows(
                "bids", "win_rate", "presented", "ctr", "installs", "maturity", "app_refunds")
                == [["1", "0.000000", "", "", "", "", ""]])
        try stores.postbacks(postback("1"))
        let later = try stores.funnel()
        #expect(
            later.rows("bids", "installs", "install_rate", "revenue_min_micros") == [
                ["1", "1", "", ""]
            ])
    }

    @Test("refunds are the app's: in each of its rows, once in a total, of what was paid for only")
    func refunds() throws {
        try stores.bids(bid("1"), bid("2"), bid("3", ["app_id": 2]))
        let sold: [String: Any] = [
            "bundle_id": "com.example", "ownership": "purchased", "refunds": 1,
            "refund_reversals": 0, "initial_buys": 4, "resubscribes": 0, "renewals": 0,
            "recoveries": 0, "one_time_purchases": 0,
        ]
        try stores.store(
            "store-notifications", sold.merging(["environment": "Production"]) { $1 },
            sold.merging(["environment": "Production", "hour": "2026-11-22T00:00:00Z"]) { $1 },
            sold.merging(["environment": "Sandbox"]) { $1 },
            sold.merging(["environment": "Production", "bundle_id": "com.other"]) { $1 },
            sold.merging(["environment": "Production", "ownership": "family"]) { $1 },
            sold.merging(["environment": "Production", "ownership": "assigned"]) { $1 },
            sold.merging(["environment": "Production", "ownership": "other"]) { $1 },
            sold.merging([
                "environment": "Production", "ownership": "", "bundle_id": "com.unknown",
            ]) { $1 })
        let funnel = try stores.funnel(by: "day,app_id,campaign")
        #expect(funnel.unknownBundles == ["com.other"])
        #expect(
            funnel.rows("day", "app_id", "campaign", "app_refunds", "app_refund_rate") == [
                ["2026-11-21", "1", "", "1", "0.250000"],
                ["2026-11-21", "1", "1", "1", "0.250000"],
                ["2026-11-21", "1", "2", "1", "0.250000"], ["2026-11-21", "2", "3", "0", ""],
                ["2026-11-22", "1", "", "1", "0.250000"],
            ])
        #expect(try stores.funnel(by: "total").rows("app_refunds") == [["2"]])
        #expect(
            try stores.funnel(by: "campaign", where: [("campaign", "2")]).rows("app_refunds")
                == [["2"]])
        #expect(
            try stores.funnel(by: "total", where: [("day", "2026-11-22")]).rows("app_refunds")
                == [["1"]])
    }

    @Test("the rate of refunds leaves out those that were reversed, in rows and in its division")
    func reversedRefunds() throws {
        try stores.bids(bid("1"))
        let sold: [String: Any] = [
            "bundle_id": "com.example", "ownership": "purchased", "environment": "Production",
            "refunds": 5, "refund_reversals": 2, "initial_buys": 8, "resubscribes": 0,
            "renewals": 4, "recoveries": 0, "one_time_purchases": 0,
        ]
        try stores.store(
            "store-notifications", sold,
            sold.merging(["hour": "2026-11-22T00:00:00Z", "refunds": 1]) { $1 })
        let names = ["day", "app_refunds", "app_refund_reversals", "app_refund_rate"]
        #expect(
            try stores.funnel(by: "day,app_id").rows(names[0], names[1], names[2], names[3]) == [
                ["2026-11-21", "5", "2", "0.250000"], ["2026-11-22", "1", "2", "-0.083333"],
            ])
        let division = try stores.sample.stores("data").division(
            of: "app_refund_rate", ReportRequest(name: Funnel.name),
            ReportConfiguration(catalog: Catalog(), appsByBundle: ["com.example": 1]))
        #expect(
            division?.text
                == "app_refund_rate = (app_refunds - app_refund_reversals) / app_sales = (6 - 4) / 24 = 0.083333"
        )
    }

    @Test("refunds are explained by the rows that the funnel counts")
    func explainedRefunds() throws {
        let cell = try FunnelFigure(
            ReportRequest(name: "funnel", grouping: .total),
            ReportConfiguration(catalog: Catalog(), appsByBundle: ["com.example": 1]))
        let table = StoreNotificationsKey.table
        func terms(_ ownership: String) -> Int? {
            let known = [
                "hour": "2026-11-21T05:00:00Z", "environment": "Production",
                "bundle_id": "com.example", "ownership": ownership,
            ]
            return cell.terms(
                of: table, columns: table.columns.map { .text(known[$0.name] ?? "") })?.count
        }
        #expect(terms("purchased") == 7)
        for ownership in ["family", "assigned", "other", ""] { #expect(terms(ownership) == nil) }
    }

    @Test("columns, conditions and times choose rows as in other dumps")
    func selection() throws {
        try stores.setCatalog(catalog)
        try stores.bids(
            bid("5239"), bid("39", ["skan_version": "3.0", "hour": "2026-11-22T01:00:00Z"]))
        #expect(try stores.funnel(by: "day").rows("day") == [["2026-11-21"], ["2026-11-22"]])
        #expect(try stores.funnel(by: "total").rows("bids") == [["2"]])
        #expect(
            try stores.funnel(by: "media_source,name").rows("name", "media_source")
                == [["launch", "video"], ["low", ""]])
        #expect(
            try stores.funnel(by: "name", where: [("name", "low")]).rows("name") == [["low"]])
        let noon = SampleStores.noon
        #expect(try stores.funnel(by: "total", since: noon).rows("bids") == [["1"]])
        #expect(try stores.funnel(by: "name", until: noon).rows("name") == [["launch"]])
        #expect(throws: InspectionError.self) { try stores.funnel(by: "seat") }
        #expect(throws: InspectionError.self) { try stores.funnel(where: [("app_id", "x")]) }
    }

    @Test("without any row a table says so")
    func empty() throws {
        try stores.bids()
        let text = try stores.funnel().table.text(as: .table)
        #expect(text == "no rows\n")
    }
}
