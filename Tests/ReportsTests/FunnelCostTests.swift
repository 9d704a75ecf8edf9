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

    @Test("a report of 0 is a cost, and beside billing it is one of both")
    func reportOfZero() throws {
        try stores.store("costs", reported("1", ["cost_micros": 0]))
        #expect(
            try rows(by: "campaign") == [["1", "reported", "USD 0.00", "USD 0.00"]])
        try stores.bids(billed("1"))
        #expect(
            try rows(by: "campaign").map { $0[1] } == ["both"])
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

    private let shortened = """
        campaigns:
          - {name: old, network: net, app: 1, campaign_id: 39}
          - {name: new, network: net, app: 1, source_identifier: "5239"}
        """

    @Test(
        "a campaign's billing and reports are its own, whatever the catalog calls the rows of either"
    )
    func shortenedIdentifiers() throws {
        try stores.setCatalog(shortened)
        // 0.002 USD of campaign id 39, and a report of 5 USD, whose id may be 39 or the end of 5239.
        try stores.bids(
            billed("39").merging([
                "skan_version": "3.0", "billed_price_micros": 2_000_000,
            ]) { $1 })
        try stores.store("costs", reported("39", ["cost_micros": 5_000_000]))
        try stores.postbacks([
            "ad_network_id": "net", "app_id": 1, "campaign": "39", "version": "3.0",
        ])
        try stores.decoded(
            "decoded-events",
            [
                "ad_network_id": "net", "app_id": 1, "campaign": "39", "has_source_identifier": 0,
                "currency": "USD", "revenue_min_micros": 1000, "revenue_max_micros": 4000,
            ])
        #expect(
            try rows(by: "day", "roas_min", "roas_max") == [
                ["2026-11-21", "both", "USD 0.002", "USD 5.00", "0.500000", "2.000000"]
            ])
        #expect(
            try rows(by: "day,campaign,name", "roas_min") == [
                ["2026-11-21", "39", "? of 2", "both", "", "USD 5.00", ""],
                ["2026-11-21", "39", "old", "billed", "USD 0.002", "", "0.500000"],
            ])
        // A condition asks for a part of the same rows.
        for (name, cost) in [("old", "USD 0.002"), ("? of 2", "")] {
            let part = try stores.funnel(by: "total", where: [("name", name)])
            #expect(part.rows("cost_micros") == [[cost]])
        }
        // Another campaign's billing is not this one's.
        try stores.bids(billed("5239", hour: "2026-11-21T06:00:00Z"))
        #expect(try rows(by: "total").first?[1] == "USD 1.002")
    }

    @Test("billing decides for its whole day, also where only some hours of it are asked for")
    func hours() throws {
        try stores.bids(billed("1", hour: "2026-11-21T15:00:00Z"))
        try stores.store("costs", reported("1"))
        let noon = FunnelStores.morning + 7 * SampleStores.hour
        let morning = try stores.funnel(by: "day", until: noon)
        #expect(morning.rows("cost_micros", "cost_source") == [["", "both"]])
        let evening = try stores.funnel(by: "day", since: noon)
        #expect(evening.rows("cost_micros", "cost_source") == [["USD 1.00", "billed"]])
    }

    /// Something billed or reported on a day of a campaign.
    private struct Amount {
        var day: String
        var network: String
        var app: Int
        var campaign: String
        var currency: String
        var micros: Int128
        var isBilled: Bool

        var key: String { "\(day) \(network) \(app) \(campaign)" }
    }

    private func add(_ amount: Amount, _ index: Int, version: String, hour: Int) throws {
        let campaign: [String: Any] = [
            "ad_network_id": amount.network, "app_id": amount.app, "campaign": amount.campaign,
            "currency": amount.currency,
        ]
        guard amount.isBilled else {
            return try stores.store(
                "costs",
                campaign.merging([
                    "day": amount.day, "source": "s\(index)", "cost_micros": Int64(amount.micros),
                ]) { $1 })
        }
        let text = hour < 10 ? "0\(hour)" : "\(hour)"
        try stores.bids(
            campaign.merging([
                "hour": "\(amount.day)T\(text):00:00Z", "seat": "s\(index)", "billed": 1,
                "skan_version": version, "billed_price_micros": Int64(amount.micros * 1000),
            ]) { $1 })
    }

    @Test(
        "however rows are grouped, and whatever is asked for, parts add up to what each day and campaign cost",
        arguments: 1...4 as ClosedRange<UInt64>)
    func partsAddUp(_ seed: UInt64) throws {
        try stores.setCatalog(shortened)
        var generator = SeededGenerator(seed: seed)
        func pick<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &generator)]
        }
        let days = ["2026-11-20", "2026-11-21", "2026-11-22"]
        var amounts: [Amount] = []
        for index in 0..<40 {
            let amount = Amount(
                day: pick(days), network: pick(["net", "other"]), app: pick([1, 2]),
                campaign: pick(["", "39", "239", "5239"]), currency: pick(["USD", "USD", "EUR"]),
                micros: Int128(Int.random(in: 1...1_000_000, using: &generator)),
                isBilled: pick([true, false, false]))
            amounts.append(amount)
            try add(
                amount, index, version: pick(["", "3.0", "4.0"]),
                hour: Int.random(in: 0..<24, using: &generator))
        }
        let billed = Set(amounts.filter(\.isBilled).map(\.key))
        var expected: [String: Int128] = [:]
        for amount in amounts where amount.isBilled || !billed.contains(amount.key) {
            expected[amount.currency, default: 0] += amount.micros
        }
        func cost(_ funnel: Funnel) throws -> [String: Int128] {
            let index = try #require(funnel.table.columns.firstIndex { $0.name == "cost_micros" })
            var sums: [String: Int128] = [:]
            for case .money(let money) in funnel.table.rows.map({ $0[index] }) {
                for amount in money.amounts { sums[amount.currency, default: 0] += amount.micros }
            }
            return sums
        }
        let columns = Funnel.columnNames
        for round in 0..<12 {
            let names = columns.filter { _ in Bool.random(using: &generator) }
            let by = round == 0 || names.isEmpty ? "total" : names.joined(separator: ",")
            #expect(try cost(stores.funnel(by: by)) == expected, "\(by)")
        }
        // The parts of each column, by conditions.
        for column in columns {
            var sums: [String: Int128] = [:]
            for value in try stores.funnel(by: column).rows(column) {
                let part = try stores.funnel(by: pick(columns), where: [(column, value[0])])
                sums.merge(try cost(part), uniquingKeysWith: +)
            }
            #expect(sums == expected, "\(column)")
        }
        // The parts of a stretch of time.
        let cut =
            FunnelStores.morning + Int64(Int.random(in: -20...20, using: &generator))
            * SampleStores.hour
        var sums = try cost(stores.funnel(by: "name", until: cut))
        sums.merge(try cost(stores.funnel(by: "day", since: cut)), uniquingKeysWith: +)
        #expect(sums == expected, "\(cut)")
    }
}
