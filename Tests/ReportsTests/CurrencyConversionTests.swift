import ConfigurationFiles
import ConfigurationValues
import Foundation
import Reports
import Store
import Streams
import TestKit
import Testing

@Suite("Amounts in one currency")
struct CurrencyConversionTests {
    private let stores = FunnelStores()

    private func conversion(to target: String, _ lines: String...) throws -> CurrencyConversion {
        let workspace = try TemporaryDirectory()
        try workspace.write(
            (["day,currency,base,rate"] + lines).joined(separator: "\n"), to: "rates.csv")
        let rates = try PipelineDirectory(workspace.path).rates()
        return CurrencyConversion(to: target, by: rates, of: "rates.csv")
    }

    private func reported(
        _ currency: String, day: String, micros: Int64, campaign: String = "5239"
    ) -> [String: Any] {
        [
            "ad_network_id": "net", "app_id": 1, "campaign": campaign, "source": "finance",
            "currency": currency, "day": day, "cost_micros": micros,
        ]
    }

    private func costs(
        by columns: [String], _ conversion: CurrencyConversion
    ) throws -> [[String]] {
        var query = ReportRequest(name: "costs", grouping: .columns(columns))
        query.tellsCurrenciesApart = true
        query.measures = ["cost_micros"]
        return try stores.sample.stores("data").dump(query, converting: conversion)
            .limited(toMeasures: ["cost_micros"]).report(forPeople: false).rows
            .map { $0.map(\.plainText) }
    }

    @Test(
        "each day's amounts go by the day's rate, rounded half away from zero, and are added up then"
    )
    func days() throws {
        try stores.store(
            "costs", reported("EUR", day: "2026-11-20", micros: 1_000_001),
            reported("EUR", day: "2026-11-21", micros: 3),
            reported("JPY", day: "2026-11-20", micros: 500_000_000),
            reported("USD", day: "2026-11-20", micros: 7))
        let rates = [
            "2026-11-20,EUR,USD,1.5", "2026-11-21,EUR,USD,0.5", "2026-11-20,JPY,USD,0.0064",
        ]
        // 1500001.5, 1.5, 3200000 and 7.
        let dollars = try conversion(to: "USD", rates[0], rates[1], rates[2])
        #expect(try costs(by: [], dollars) == [["USD 4.700011"]])
        #expect(
            dollars.notice
                == "amounts are converted to USD with the rates in rates.csv: EUR at 0.500000 to 1.500000 (2026-11-20 to 2026-11-21), JPY at 0.006400 (2026-11-20)"
        )
        #expect(
            try costs(by: ["day"], conversion(to: "USD", rates[0], rates[1], rates[2]))
                == [["2026-11-20", "USD 4.700009"], ["2026-11-21", "USD 0.000002"]])
        // Into another currency than the base: through it.
        let euros = try conversion(
            to: "EUR", rates[0], rates[1], rates[2])
        #expect(
            try costs(by: ["day"], euros) == [
                // 1000001, 2133333.33 and 4.67
                ["2026-11-20", "EUR 3.133339"], ["2026-11-21", "EUR 0.000003"],
            ])
    }

    @Test(
        "rows and columns are those that were asked for where all amounts are of one currency; else rows are told apart by it"
    )
    func shape() throws {
        try stores.store(
            "costs", reported("EUR", day: "2026-11-20", micros: 1),
            reported("CHF", day: "2026-11-20", micros: 0),
            reported("EUR", day: "2026-11-21", micros: 2),
            reported("USD", day: "2026-11-21", micros: 3))
        var query = ReportRequest(name: "costs", grouping: .columns(["day"]))
        query.tellsCurrenciesApart = true
        query.measures = ["cost_micros"]
        query.untilMilliseconds = UTC.milliseconds(text: "2026-11-21")
        func rows() throws -> [[String]] {
            let dump = try stores.sample.stores("data").dump(query)
                .limited(toMeasures: ["cost_micros"])
            return [dump.columns.map(\.name)]
                + dump.report(forPeople: true).rows.map { $0.map(\.plainText) }
        }
        #expect(try rows() == [["day"], ["2026-11-20", "EUR 0.000001"]])
        query.untilMilliseconds = nil
        #expect(
            try rows().filter { !$0.contains("CHF") } == [
                ["day", "currency"], ["2026-11-20", "EUR", "EUR 0.000001"],
                ["2026-11-21", "EUR", "EUR 0.000002"], ["2026-11-21", "USD", "USD 0.000003"],
            ])
    }

    @Test("an amount without a rate is an error that names currency and days, and never left out")
    func missing() throws {
        try stores.store(
            "costs", reported("EUR", day: "2026-11-20", micros: 1),
            reported("CHF", day: "2026-11-21", micros: 0))
        let conversion = try conversion(to: "USD", "2026-11-19,EUR,USD,1.5")
        #expect {
            try costs(by: [], conversion)
        } throws: { error in
            let words = "\(error)"
            // Nothing is nothing in every currency.
            return words.contains("no rate for EUR on 2026-11-20") && !words.contains("CHF")
        }
    }

    @Test("the funnel adds cost up over currencies and days, and has the rates that follow")
    func funnel() throws {
        try stores.store(
            "costs", reported("EUR", day: "2026-11-20", micros: 2_000_000),
            reported("EUR", day: "2026-11-21", micros: 2_000_000),
            reported("USD", day: "2026-11-21", micros: 1_000_000))
        try stores.postbacks([
            "ad_network_id": "net", "app_id": 1, "campaign": "5239", "version": "4.0",
        ])
        try stores.decoded(
            "decoded-events",
            [
                "ad_network_id": "net", "app_id": 1, "campaign": "5239", "currency": "EUR",
                "has_source_identifier": 1, "revenue_min_micros": 4_000_000,
                "revenue_max_micros": 8_000_000,
            ])
        let rates = ["2026-11-20,EUR,USD,1", "2026-11-21,EUR,USD,1.5"]
        let request = ReportRequest(name: "funnel", grouping: .columns(["campaign"]))
        let configuration = ReportConfiguration(catalog: Catalog())
        let funnel = try stores.sample.stores("data").funnel(
            request, configuration, converting: conversion(to: "USD", rates[0], rates[1]))
        #expect(
            funnel.rows("campaign", "postbacks", "cost_micros", "revenue_max_micros", "roas_max")
                == [["5239", "1", "USD 6.00", "USD 12.00", "2.000000"]])

        // A quotient of the pages, with the rates of the configuration.
        let files = try TemporaryDirectory()
        try files.write(
            "day,currency,base,rate\n\(rates.joined(separator: "\n"))\n", to: "rates.csv")
        var converted = request
        converted.target = "USD"
        let named = ReportConfiguration(PipelineDirectory(files.path), isNamed: true)
        #expect(
            try stores.sample.stores("data").division(of: "roas_max", converted, named)?.text
                == "roas_max = revenue_max_micros / cost_micros = USD 12.00 / USD 6.00 = 2.000000")
        #expect(
            try stores.sample.stores("data").division(of: "roas_max", request, configuration)?
                .reasonUnknown
                == "not known: amounts in EUR and USD cannot be divided by one another")
        let apart = try stores.sample.stores("data").funnel(request, configuration)
        #expect(apart.rows("cost_micros") == [["EUR 4.00; USD 1.00"]])
    }
}
