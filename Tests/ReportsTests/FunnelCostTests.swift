import Reports
import Streams
import TestKit
import Testing

@Suite("What the funnel says that campaigns cost")
struct FunnelCostTests {
    private let stores = FunnelStores()
    private let measures = ["cost_source", "cost_micros", "reported_cost_micros"]

    /// Billing of 1 USD, as CPM prices.
    private func billed(_ campaign: String, hour: String = "2026-11-21T05:00:00Z") -> [String: Any]
    {
        [
            "ad_network_id": "net", "app_id": 1, "campaign": campaign, "skan_version": "4.0",
            "currency": "USD", "hour": hour, "billed": 1, "billed_price_micros": 1_000_000_000,
        ]
    }

    /// A report of 3 units.
    private func reported(
        _ campaign: String, day: String = "2026-11-21", _ more: [String: Any] = [:]
    ) -> [String: Any] {
        [
            "ad_network_id": "net", "app_id": 1, "campaign": campaign, "source": "finance",
            "currency": "USD", "day": day, "cost_micros": 3_000_000,
        ].merging(more) { $1 }
    }

    private func rows(by columns: String, _ more: String...) throws -> [[String]] {
        let rows = try stores.funnel(by: columns)
        let keys = columns == "total" ? [] : columns.split(separator: ",").map(String.init)
        let names = keys + measures + more
        let all = names.map { rows.rows($0).map { $0[0] } }
        return (all.first ?? []).indices.map { row in all.map { $0[row] } }
    }

    @Test("it is what was billed on the days on which anything was, else what was reported")
    func choice() throws {
        try stores.bids(
            billed("1"), billed("2"), billed("2", hour: "2026-11-22T07:00:00Z"))
        try stores.store(
            "costs", reported("2"), reported("3"), reported("2", day: "2026-11-23"),
            reported("4", ["cost_micros": 0, "reported_clicks": 5]))
        #expect(
            try rows(by: "day,campaign") == [
                ["2026-11-21", "1", "billed", "USD 1.00", ""],
                ["2026-11-21", "2", "both", "USD 1.00", "USD 3.00"],
                ["2026-11-21", "3", "reported", "USD 3.00", "USD 3.00"],
                ["2026-11-21", "4", "reported", "USD 0.00", "USD 0.00"],
                ["2026-11-22", "2", "billed", "USD 1.00", ""],
                ["2026-11-23", "2", "reported", "USD 3.00", "USD 3.00"],
            ])
        // The days of a campaign are chosen one by one, however rows are grouped.
        #expect(
            try rows(by: "campaign").first { $0[0] == "2" }
                == ["2", "both", "USD 5.00", "USD 6.00"])
        #expect(try rows(by: "total") == [["both", "USD 9.00", "USD 9.00"]])
    }

    @Test("reports of several sources and countries add up, and currencies never do")
    func currencies() throws {
        try stores.store(
            "costs", reported("1"), reported("1", ["source": "net"]),
            reported("1", ["country": "DE", "currency": "EUR"]))
        #expect(
            try rows(by: "campaign", "cpi") == [
                ["1", "reported", "EUR 3.00; USD 6.00", "EUR 3.00; USD 6.00", ""]
            ])
    }

    @Test("rates are of the cost that counts")
    func rates() throws {
        try stores.store("costs", reported("5239"))
        try stores.postbacks([
            "ad_network_id": "net", "app_id": 1, "campaign": "5239", "postbacks": 4,
        ])
        #expect(try stores.funnel(by: "campaign").rows("cpi") == [["0.750000"]])
    }

    @Test("a store of either is enough, and what nobody could tell is null")
    func oneStore() throws {
        try stores.store("costs", reported("1"))
        #expect(try rows(by: "campaign") == [["1", "reported", "USD 3.00", "USD 3.00"]])
        let billing = FunnelStores()
        try billing.bids(billed("1"))
        #expect(
            try billing.funnel(by: "campaign").lines[0].contains(
                #""cost_micros":1000000,"cost_source":"billed","reported_cost_micros":null"#
            ))
        let neither = FunnelStores()
        try neither.postbacks(["ad_network_id": "net", "app_id": 1, "campaign": "1"])
        #expect(
            try neither.funnel(by: "campaign").lines[0].contains(
                #""cost_micros":null,"cost_source":null,"reported_cost_micros":null"#))
    }

    @Test("the costs of a day have the funnel's time conditions")
    func times() throws {
        try stores.store("costs", reported("1"), reported("1", day: "2026-11-22"))
        let rows = try stores.funnel(by: "day", where: [("day", "2026-11-22")])
        #expect(rows.rows("day", "cost_micros") == [["2026-11-22", "USD 3.00"]])
        let early = try stores.funnel(by: "day", until: FunnelStores.morning)
        #expect(early.rows("day", "cost_micros") == [["2026-11-21", "USD 3.00"]])
    }
}
