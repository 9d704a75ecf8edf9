import ConfigurationValues
import ConversionModels
import TestKit
import Testing

@testable import Reports

@Suite("Estimates of revenue")
struct RevenueEstimateTests {
    private let stores = FunnelStores()

    private func row(_ more: [String: Any]) -> [String: Any] {
        [
            "ad_network_id": "net", "app_id": 1, "campaign": "5239", "framework": "skadnetwork",
            "version": "4.0", "conversion_type": "download", "did_win": 1, "verdict": "valid",
        ].merging(more) { $1 }
    }

    private func postbacks(_ count: Int, nulls: Int, _ more: [String: Any] = [:]) throws {
        try stores.postbacks(row(["postbacks": count, "null_values": nulls]).merging(more) { $1 })
    }

    private func values(
        _ value: String, _ count: Int, _ more: [String: Any] = [:]
    ) throws {
        let kind = Int(value) == nil ? "coarse" : "fine"
        try stores.conversionValues(
            row(["kind": kind, "value": value, "postbacks": count]).merging(more) { $1 })
    }

    /// Fine value 1 means 10 units, and each coarse value of two windows 2 to 3 units.
    private func record(currency: String = "USD") throws {
        let one = try ModelEvent(
            event: "sale", revenueMinMicros: 2_000_000, revenueMaxMicros: 3_000_000)
        let coarse: [CoarseValue: [ModelEvent]] = [.low: [one], .medium: [one], .high: [one]]
        let version = try ConversionModelVersion(
            id: "only", effectiveFromMilliseconds: 0, currency: currency,
            fields: [
                FineField(
                    lowestBit: 0, highestBit: 5,
                    kind: .events([1: try ModelEvent(event: "sale", revenueMinMicros: 10_000_000)]))
            ], coarse: [0: coarse, 1: coarse])
        try stores.record([try ConversionModel(app: 1, versions: [version])])
    }

    private func estimates(
        _ conditions: [(String, String)] = [], converting conversion: CurrencyConversion? = nil
    ) throws -> (rows: [[String]], notice: String?) {
        let request = ReportRequest(
            name: RevenueEstimates.name,
            conditions: conditions.map { .init(column: $0.0, value: $0.1) })
        let found = try stores.sample.stores("data").revenueEstimates(
            request, ReportConfiguration(catalog: stores.catalog), converting: conversion)
        return (found.table.rows.map { $0.map(\.plainText) }, found.notice)
    }

    /// Window 0 has 7 postbacks and 3 missing values, window 1 has 2 and 1.
    private func twoWindows() throws {
        try stores.setCatalog(
            """
            networks: {net: Net}
            apps: {1: Rides}
            campaigns:
              - {name: Spring, network: net, app: 1, source_identifier: "5239"}
            """)
        try postbacks(6, nulls: 2)
        // Shortened, but the catalog has only one campaign that ends with it.
        try postbacks(1, nulls: 1, ["campaign": "39"])
        try values("low", 2)
        try values("medium", 1)
        try values("high", 1)
        try postbacks(2, nulls: 1, ["sequence_index": 1])
        try values("high", 1, ["sequence_index": 1])
    }

    @Test("the lower end counts windows that are over, the upper end those that have begun")
    func windows() throws {
        try twoWindows()
        try record()
        let key = ["net", "1", "5239"]
        let expected = [
            key + ["0", "7", "3", "USD 0.00", "USD 12.00", "USD 0.00", "", "USD 21.00"],
            key + ["3", "9", "4", "USD 8.00", "USD 15.00", "USD 14.00", "", "USD 27.00"],
            key + ["7", "9", "4", "USD 10.00", "USD 15.00", "USD 18.00", "USD 22.50", "USD 27.00"],
            key + ["30", "9", "4", "USD 10.00", "USD 15.00", "USD 18.00", "", "USD 27.00"],
        ]
        let all = try estimates()
        #expect(all.rows == expected && all.notice == nil)
        #expect(try estimates([("through_day", "7"), ("app_id", "1")]).rows == [expected[2]])
        #expect(try estimates([("campaign", "1")]).rows.isEmpty)
    }

    @Test("amounts are converted at the rates of their days")
    func converted() throws {
        try twoWindows()
        try record(currency: "EUR")
        let workspace = try TemporaryDirectory()
        // The likely install days of the two windows.
        try workspace.write(
            "day,currency,base,rate\n2026-11-10,EUR,USD,2\n2026-11-17,EUR,USD,2\n",
            to: "rates.csv")
        let rates = try PipelineDirectory(workspace.path).rates()
        let conversion = CurrencyConversion(to: "USD", by: rates, of: "rates.csv")
        #expect(
            try estimates([("through_day", "7")], converting: conversion).rows.map {
                Array($0.suffix(5))
            } == [["USD 20.00", "USD 30.00", "USD 36.00", "USD 45.00", "USD 54.00"]])
    }

    @Test("a campaign borrows from the others of its app, and its interval is within the bounds")
    func pooled() throws {
        for campaign in ["1001", "1002", "1003"] {
            try postbacks(500, nulls: 0, ["campaign": campaign])
            try values("0", 300, ["campaign": campaign])
            try values("1", 200, ["campaign": campaign])
        }
        try postbacks(100, nulls: 100)
        try record()
        let found = try stores.sample.stores("data").revenueEstimates(
            ReportRequest(
                name: RevenueEstimates.name,
                conditions: [
                    .init(column: "campaign", value: "5239"),
                    .init(column: "through_day", value: "7"),
                ]), ReportConfiguration(catalog: stores.catalog))
        let units = found.table.rows[0].suffix(3).compactMap { value -> Double? in
            guard case .money(let money) = value else { return nil }
            return money.amounts.first.map { Double($0.micros) / 1_000_000 }
        }
        // The bounds are 0 and 1000. 40 of 100 are expected; 10 fewer or more are two standard deviations.
        #expect(units.count == 3 && abs(units[1] - 400) < 5)
        #expect((250...320).contains(units[0]) && (480...550).contains(units[2]))
    }

    @Test("nothing is estimated without a model, or without a known value of the same window")
    func unknown() throws {
        try postbacks(2, nulls: 1, ["app_id": 2])
        try values("1", 1, ["app_id": 2])
        try postbacks(3, nulls: 0)
        try values("1", 3)
        try postbacks(1, nulls: 1, ["sequence_index": 2])
        try record()
        let found = try estimates()
        #expect(
            found.rows.map { Array($0.dropFirst(3)) } == [
                ["0", "3", "0", "USD 0.00", "USD 30.00", "USD 0.00", "", "USD 30.00"],
                ["3", "3", "0", "USD 30.00", "USD 30.00", "USD 30.00", "", "USD 30.00"],
                ["7", "3", "0", "USD 30.00", "USD 30.00", "USD 30.00", "USD 30.00", "USD 30.00"],
                ["30", "4", "1", "USD 30.00", "USD 30.00", "", "", ""],
                ["0", "2", "1", "", "", "", "", ""], ["3", "2", "1", "", "", "", "", ""],
                ["7", "2", "1", "", "", "", "", ""], ["30", "2", "1", "", "", "", "", ""],
            ])
        #expect(found.notice?.hasPrefix("2 null values belong to apps and windows") == true)
        // The notice is about the selected rows.
        #expect(try estimates([("campaign", "1")]).notice == nil)
    }
}
