import Reports
import Streams
import TestKit
import Testing

@Suite("What a rate of the funnel divides")
struct FunnelRatioTests {
    private let stores = FunnelStores()

    private func billed(_ campaign: String, _ currency: String, _ micros: Int) -> [String: Any] {
        [
            "ad_network_id": "net", "app_id": 1, "campaign": campaign, "skan_version": "4.0",
            "currency": currency, "billed": 1, "billed_price_micros": micros,
        ]
    }

    private func installed(_ campaign: String, _ count: Int) -> [String: Any] {
        ["ad_network_id": "net", "app_id": 1, "campaign": campaign, "postbacks": count]
    }

    private func division(_ measure: String, campaign: String? = nil) throws -> FunnelDivision? {
        let conditions =
            campaign.map { [ReportRequest.Condition(column: "campaign", value: $0)] } ?? []
        return try stores.sample.stores("data").division(
            of: measure, ReportRequest(name: Funnel.name, conditions: conditions),
            ReportConfiguration(catalog: stores.catalog))
    }

    @Test(
        "the parts are the funnel's own numbers, and the result is the funnel's to the last digit")
    func exact() throws {
        // 2.0000005 USD: the cost is shown without the fraction of a micro, and divided with it.
        try stores.bids(billed("1", "USD", 2_000_000_500))
        try stores.postbacks(installed("1", 3), installed("2", 4))
        let one = try #require(try division("cpi", campaign: "1"))
        #expect(one.text == "cpi = cost_micros / installs = USD 2.00 / 3 = USD 0.666667")
        #expect(one.noteOnInstalls == nil)
        let all = try #require(try division("cpi"))
        #expect(all.text == "cpi = cost_micros / installs = USD 2.00 / 7 = USD 0.285714")
        #expect(
            all.noteOnInstalls
                == "4 of the 7 installs belong to campaigns without a known cost in these days, which lowers cpi"
        )
        let funnel = try stores.funnel(by: "total")
        #expect(funnel.rows("cpi").map { $0[0] } == [all.value.plainText])
        #expect(all.over.map(\.name) == ["cost_micros"] && all.under.map(\.name) == ["installs"])
    }

    @Test("where there is no rate it is said why, and what is no rate has no division")
    func unknown() throws {
        try stores.bids(
            billed("1", "USD", 1_000_000_000), billed("2", "USD", 1_000_000_000),
            billed("2", "EUR", 1_000_000_000))
        try stores.postbacks(installed("2", 1), installed("3", 1))
        #expect(
            try division("cpi", campaign: "1")?.reasonUnknown
                == "not known: nothing to divide by")
        #expect(
            try division("cpi", campaign: "2")?.reasonUnknown
                == "not known: amounts in EUR and USD cannot be divided by one another")
        #expect(
            try division("cpi", campaign: "3")?.reasonUnknown
                == "not known: cost_micros is missing")
        #expect(try division("installs") == nil)
        #expect(try division("cost_micros") == nil)
        #expect(
            try division("null_rate")?.text
                == "null_rate = null_values / postbacks = 0 / 2 = 0.000000")
    }

    @Test("a share above 1 has the reason with it, for people")
    func aboveOne() throws {
        let ad: [String: Any] = ["ad_network_id": "net", "app_id": 1, "clicks": 2]
        try stores.store(
            "overlay-clicks", ad.merging(["campaign": "1"]) { $1 },
            ad.merging(["campaign": "2"]) { $1 })
        try stores.postbacks(installed("1", 3), installed("2", 1))
        let why = "install_rate is above 1 (100 %)"
        #expect(
            try division("install_rate", campaign: "1")?.notes.first?.hasPrefix("\(why): installs")
                == true)
        #expect(try division("install_rate")?.notes == [])
        func notices(
            _ format: DumpFormat, by columns: [String] = ["campaign"], _ measures: [String]? = nil
        ) throws -> Int {
            var request = ReportRequest(name: Funnel.name, grouping: .columns(columns))
            request.measures = measures
            return try request.answer(
                stores.sample.stores("data"), ReportConfiguration(catalog: stores.catalog),
                as: format
            ).notices.count { $0.hasPrefix(why) }
        }
        #expect(try notices(.table) == 1)
        #expect(try notices(.csv) == 0 && notices(.table, ["installs"]) == 0)
        // 4 installs of 4 clicks.
        #expect(try notices(.table, by: ["app_id"]) == 0)
    }

    @Test("sums below the line are added up")
    func added() throws {
        let ad: [String: Any] = ["ad_network_id": "net", "app_id": 1, "campaign": "1"]
        try stores.store(
            "impressions",
            ad.merging(["format": "skoverlay", "presented": 35]) { $1 },
            ad.merging(["format": "outbrain", "viewed": 3]) { $1 },
            ad.merging(["format": "skadn", "presented": 100]) { $1 })
        try stores.store(
            "overlay-clicks", ad.merging(["format": "skoverlay", "clicks": 11]) { $1 })
        #expect(
            try division("ctr")?.text
                == "ctr = clicks / (presented + viewed) = 11 / (35 + 3) = 0.289474")
        let rates = try stores.sample.stores("data").clickRates(
            ReportRequest(name: ClickRates.name, grouping: .columns(["format"])))
        #expect(
            rates.table.text(as: .csv)
                == "format,presented,viewed,clicks,user_clicks,paid_clicks,organic_clicks,ctr\r\noutbrain,0,3,0,0,0,0,0.000000\r\nskoverlay,35,0,11,0,0,0,0.314286\r\n"
        )
    }

    @Test("click rates without a store of clicks are not known, and not 0")
    func withoutClicks() throws {
        try stores.store("impressions", ["format": "skoverlay", "presented": 5])
        let rates = try stores.sample.stores("data").clickRates(
            ReportRequest(name: ClickRates.name, grouping: .total))
        #expect(rates.missingStreams == ["overlay-clicks"])
        #expect(
            rates.table.text(as: .csv)
                == "presented,viewed,clicks,user_clicks,paid_clicks,organic_clicks,ctr\r\n5,0,,,,,\r\n"
        )
    }
}
