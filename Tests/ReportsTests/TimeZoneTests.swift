import ConfigurationValues
import Foundation
import Reports
import Streams
import TestKit
import Testing

/// Days of a zone, held against those of the system's calendar.
@Suite("Days in a time zone", .timeLimit(.minutes(10)))
struct TimeZoneTests {
    private static let names = ["UTC", "Europe/Berlin", "America/New_York", "Pacific/Auckland"]
    /// Hours at which clocks change in one of these zones.
    private static let changes = [
        "2026-03-08T07:00:00Z", "2026-03-29T01:00:00Z", "2026-04-04T14:00:00Z",
        "2026-09-26T14:00:00Z", "2026-10-25T01:00:00Z", "2026-11-01T06:00:00Z",
    ]

    private func calendar(_ name: String) throws -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: name))
        return calendar
    }

    /// The day that a calendar has at an instant.
    private func day(_ milliseconds: Int64, _ calendar: Calendar) -> String {
        let date = Date(timeIntervalSince1970: Double(milliseconds / 1000))
        let parts = calendar.dateComponents([.year, .month, .day], from: date)
        let texts = [parts.month ?? 0, parts.day ?? 0].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(parts.year ?? 0)-" + texts.joined(separator: "-")
    }

    private func milliseconds(_ text: String) throws -> Int64 {
        try #require(UTC.milliseconds(text: text))
    }

    @Test(
        "each hour belongs to the day of the calendar, which begins when the calendar begins it",
        arguments: names + ["America/Santiago", "Asia/Beirut", "Africa/Casablanca"])
    func hours(_ name: String) throws {
        let zone = try ReportTimeZone(named: name)
        let calendar = try calendar(name)
        let first = try milliseconds("2026-01-01T00:00:00Z")
        for hour in 0..<Int64(365 * 24) {
            let time = first + hour * 3_600_000
            let date = Date(timeIntervalSince1970: Double(time / 1000))
            let start = Int64(calendar.startOfDay(for: date).timeIntervalSince1970) * 1000
            try #require(zone.day(milliseconds: time) == day(time, calendar), "\(hour)")
            try #require(zone.startOfDay(milliseconds: time) == start, "\(hour)")
            let bounds = try #require(zone.bounds(ofDay: day(time, calendar)))
            try #require(bounds.start == start && time < bounds.end, "\(hour)")
            let later = zone.shifted(milliseconds: start, days: 3)
            let wanted = calendar.date(
                byAdding: .day, value: 3, to: Date(timeIntervalSince1970: Double(start / 1000)))
            try #require(later == wanted.map { Int64($0.timeIntervalSince1970) * 1000 }, "\(hour)")
        }
    }

    // MARK: Sums

    /// Bids of two campaigns in some hours, and the costs that their networks report.
    private struct Row {
        let hour: Int64
        let campaign: String
        let bids: Int64
        /// In whole units of the amount.
        let billed: Int64
    }

    private struct Cost {
        let day: String
        let campaign: String
        let amount: Int64
    }

    private struct Market {
        let stores = FunnelStores()
        var rows: [Row] = []
        var costs: [Cost] = []
    }

    private func market(seed: UInt64) throws -> Market {
        var random = SeededGenerator(seed: seed)
        var market = Market()
        for change in Self.changes {
            let middle = try milliseconds(change)
            var hours: Set<Int64> = []
            while hours.count < 12 { hours.insert(Int64.random(in: -40...40, using: &random)) }
            for hour in hours.sorted() {
                let row = Row(
                    hour: middle + hour * 3_600_000, campaign: "\(hour.magnitude % 2)",
                    bids: Int64.random(in: 1...1000, using: &random),
                    billed: Int.random(in: 0..<4, using: &random) == 0
                        ? Int64.random(in: 1...50, using: &random) : 0)
                market.rows.append(row)
                try market.stores.bids([
                    "hour": UTC.text(milliseconds: row.hour), "ad_network_id": "net",
                    "app_id": 1, "campaign": row.campaign, "currency": "USD", "bids": row.bids,
                    "billed": row.billed == 0 ? 0 : 1, "billed_price_micros": row.billed * 1000,
                ])
            }
            for days in Int64(-2)...2 {
                let campaign = "\(Int.random(in: 0...1, using: &random))"
                let cost = Cost(
                    day: UTC.day(milliseconds: middle + days * 86_400_000), campaign: campaign,
                    amount: Int64.random(in: 1...1000, using: &random))
                market.costs.append(cost)
                try market.stores.store(
                    "costs",
                    [
                        "day": cost.day, "source": "s", "ad_network_id": "net", "app_id": 1,
                        "campaign": campaign, "currency": "USD", "cost_micros": cost.amount,
                    ])
            }
        }
        return market
    }

    /// The sums of a measure by the values of a column.
    private func sums(_ table: ReportTable, _ measure: String, by column: String) -> [String: Int64]
    {
        guard let key = table.columns.firstIndex(where: { $0.name == column }),
            let value = table.columns.firstIndex(where: { $0.name == measure })
        else { return [:] }
        return table.rows.reduce(into: [String: Int64]()) { sums, row in
            let amount: Int128? =
                if case .money(let money) = row[value] {
                    money.amounts.reduce(0) { $0 + $1.micros }
                } else { Int128(row[value].plainText) }
            sums[row[key].plainText, default: 0] += Int64(amount ?? 0)
        }.filter { $0.value != 0 }
    }

    @Test(
        "a table by day is its table by hour, added up by the days of the calendar, on both changes of summer time",
        arguments: [UInt64(1), 2, 3])
    func regrouped(_ seed: UInt64) throws {
        let market = try market(seed: seed)
        let stores = try market.stores.sample.stores("data")
        func dump(_ by: String, _ zone: ReportTimeZone) throws -> ReportTable {
            var request = ReportRequest(name: "bids", grouping: .columns([by]))
            request.timeZone = zone
            return try stores.dump(request).report(forPeople: false)
        }
        for name in Self.names {
            let zone = try ReportTimeZone(named: name)
            let calendar = try calendar(name)
            let hours = sums(try dump("hour", zone), "bids", by: "hour")
            #expect(hours.count == Set(market.rows.map(\.hour)).count)
            var naive: [String: Int64] = [:]
            for (hour, bids) in hours {
                naive[day(try milliseconds(hour), calendar), default: 0] += bids
            }
            #expect(sums(try dump("day", zone), "bids", by: "day") == naive, "\(name)")
        }
    }

    @Test(
        "the funnel counts hours and reported costs on the days of the zone, and days add up",
        arguments: [UInt64(1), 2, 3])
    func funnel(_ seed: UInt64) throws {
        let market = try market(seed: seed)
        for name in Self.names {
            let zone = try ReportTimeZone(named: name)
            let calendar = try calendar(name)
            var (bids, cost): ([String: Int64], [String: Int64]) = ([:], [:])
            var billed: Set<[String]> = []
            for row in market.rows {
                let day = day(row.hour, calendar)
                bids[day, default: 0] += row.bids
                if row.billed != 0 { billed.insert([day, row.campaign]) }
                cost[day, default: 0] += row.billed
            }
            for report in market.costs where !billed.contains([report.day, report.campaign]) {
                cost[report.day, default: 0] += report.amount
            }
            cost = cost.filter { $0.value != 0 }
            let days = try market.stores.funnel(by: "day", in: zone).table
            #expect(sums(days, "bids", by: "day") == bids, "\(name)")
            #expect(sums(days, "cost_micros", by: "day") == cost, "\(name)")
            let apps = try market.stores.funnel(by: "app_id", in: zone).table
            #expect(sums(apps, "cost_micros", by: "app_id") == ["1": cost.values.reduce(0, +)])
            // One day, by its bounds and by its name.
            for day in bids.keys.sorted().prefix(6) + cost.keys.sorted().suffix(6) {
                let bounds = try #require(zone.bounds(ofDay: day))
                for part in [
                    try market.stores.funnel(
                        by: "app_id", since: bounds.start, until: bounds.end, in: zone),
                    try market.stores.funnel(by: "app_id", where: [("day", day)], in: zone),
                ] {
                    let own = ["1": bids[day] ?? 0].filter { $0.value != 0 }
                    #expect(sums(part.table, "bids", by: "app_id") == own, "\(name) \(day)")
                    let paid = ["1": cost[day] ?? 0].filter { $0.value != 0 }
                    #expect(sums(part.table, "cost_micros", by: "app_id") == paid, "\(name) \(day)")
                }
            }
        }
    }

    @Test("tables of days keep their days, and dates select the days that they name")
    func ownDays() throws {
        let market = try market(seed: 4)
        let stores = try market.stores.sample.stores("data")
        for name in Self.names {
            let zone = try ReportTimeZone(named: name)
            var request = ReportRequest(name: "costs", grouping: .columns(["day"]))
            request.timeZone = zone
            request.sinceMilliseconds = zone.milliseconds(text: "2026-03-28")
            request.untilMilliseconds = zone.milliseconds(text: "2026-10-26")
            let naive = market.costs.reduce(into: [String: Int64]()) { sums, cost in
                guard "2026-03-28" <= cost.day, cost.day < "2026-10-26" else { return }
                sums[cost.day, default: 0] += cost.amount
            }
            let table = try stores.dump(request).report(forPeople: false)
            #expect(sums(table, "cost_micros", by: "day") == naive, "\(name)")
        }
    }

    @Test("an arrival day is final when the last install of the zone's day can have no postback")
    func maturity() throws {
        let stores = FunnelStores()
        try stores.postbacks(["ad_network_id": "net", "app_id": 1, "campaign": "1"])
        let zone = try ReportTimeZone(named: "America/New_York")
        #expect(
            try stores.funnel(in: zone).rows("day", "final_after")
                == [["2026-11-21", "2026-12-30T17:00:00Z"]])
        // Installs keep their estimated day in UTC.
        #expect(
            try stores.funnel(date: .install, in: zone).rows("day", "final_after")
                == [["2026-11-17", "2026-12-26T12:00:00Z"]])
    }

    @Test("periods begin and end with days of the zone")
    func periods() throws {
        let zone = try ReportTimeZone(named: "Europe/Berlin")
        // 2026-04-01, 00:30 in Berlin.
        let instant = try milliseconds("2026-03-31T22:30:00Z")
        for (text, since, until) in [
            ("last day", "2026-03-30T22:00:00Z", "2026-03-31T22:00:00Z"),
            ("last 7 days", "2026-03-24T23:00:00Z", "2026-03-31T22:00:00Z"),
            ("last month", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"),
            ("this week", "2026-03-29T22:00:00Z", "2026-03-31T22:30:00.001Z"),
            ("last 24 hours", "2026-03-30T22:00:00Z", "2026-03-31T22:00:00Z"),
        ] {
            let bounds = try #require(ReportPeriod(text)).bounds(at: instant, in: zone)
            #expect(UTC.text(milliseconds: bounds.since) == since, "\(text)")
            #expect(UTC.text(milliseconds: bounds.until) == until, "\(text)")
        }
    }
}
