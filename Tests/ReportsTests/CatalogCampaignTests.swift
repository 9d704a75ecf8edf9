import ConfigurationValues
import Store
import Streams
import TestKit
import Testing

@testable import Reports

@Suite("The campaign of the catalog in dumps")
struct CatalogCampaignTests {
    private let stores = FunnelStores()

    private func row(_ campaign: String, _ more: [String: Any] = [:]) -> [String: Any] {
        ["ad_network_id": "net", "app_id": 1, "campaign": campaign].merging(more) { $1 }
    }

    /// Rows of one campaign under its full id, its last digits and its campaign id, and rows of others.
    private func fill() throws {
        try stores.setCatalog(
            """
            campaigns:
              - {name: launch, network: net, app: 1, campaign_id: 45, source_identifier: "6137"}
              - {name: first, network: net, app: 1, source_identifier: "1140"}
              - {name: second, network: net, app: 1, source_identifier: "2240"}
            """)
        try stores.bids(
            row("6137", ["skan_version": "4.0", "bids": 1]),
            row("45", ["skan_version": "3.0", "bids": 20]),
            row("37", ["bids": 4000]),
            // As a source identifier, 45 is not in the catalog.
            row("45", ["skan_version": "4.0", "bids": 300]),
            row("40", ["skan_version": "4.0", "bids": 50_000]),
            row("45", ["skan_version": "3.0", "app_id": 2, "bids": 600_000]))
        try stores.store(
            "impressions", row("45", ["format": "skoverlay", "presented": 2]),
            row("6137", ["format": "inapp", "presented": 30]),
            row("40", ["format": "inapp", "presented": 400]))
        try stores.store(
            "overlay-clicks",
            row("45", ["format": "skoverlay", "clicks": 1, "automatic_clicks": 3]))
        try stores.postbacks(
            row("37", ["postbacks": 5]), row("45", ["version": "3.0", "postbacks": 60]),
            row("45", ["postbacks": 700]),
            row("137", ["verdict": "invalid", "postbacks": 8000]))
        try stores.decoded(
            "decoded-events",
            row("37", ["event": "sale", "currency": "USD", "revenue_max_micros": 5]),
            row(
                "45",
                [
                    "event": "sale", "currency": "USD", "revenue_max_micros": 70,
                    "has_source_identifier": 0,
                ]),
            row("45", ["event": "sale", "currency": "USD", "revenue_max_micros": 900]))
    }

    private var configuration: DumpConfiguration { DumpConfiguration(catalog: stores.catalog) }

    private func request(
        _ name: String, by columns: String, _ campaign: String? = nil
    ) throws -> ReportRequest {
        ReportRequest(
            name: name, grouping: try ReportRequest.Grouping(columns),
            conditions: campaign.map { [.init(column: "catalog_campaign", value: $0)] } ?? [])
    }

    /// The sums of a measure by the values of the columns.
    private func sums(
        _ request: ReportRequest, _ measure: String, _ configuration: DumpConfiguration
    ) throws -> [String: Int128] {
        let dump = try stores.sample.stores("data").dump(request, configuration)
        let index = try #require(dump.measures.firstIndex(of: measure))
        return Dictionary(
            dump.rows.map { row in
                let key = zip(dump.columns, row.columns).map { $0.reportValue($1).plainText }
                return (key.joined(separator: " "), row.measures[index] ?? -1)
            }, uniquingKeysWith: +)
    }

    @Test("joins the ids of one campaign by their kinds, and keeps ambiguous and unknown ones")
    func ids() throws {
        try fill()
        let byCampaign = try request("bids", by: "app_id,catalog_campaign")
        #expect(
            try sums(byCampaign, "bids", configuration) == [
                "1 6137": 4021, "1 45": 300, "1 40": 50_000, "2 45": 600_000,
            ])
        // Without a catalog the column is the campaign, which comes before the app.
        let recorded = try sums(request("bids", by: "app_id,campaign"), "bids", configuration)
        #expect(
            try sums(byCampaign, "bids", DumpConfiguration())
                == Dictionary(
                    recorded.map { key, sum in
                        (key.split(separator: " ").reversed().joined(separator: " "), sum)
                    }, uniquingKeysWith: +))
        // A condition and a grouping by the campaign of records can be combined.
        #expect(
            try sums(request("bids", by: "campaign", "6137"), "bids", configuration) == [
                "6137": 1, "45": 20, "37": 4000,
            ])
        var limited = try request("bids", by: "campaign", "45")
        limited.conditions.append(.init(column: "app_id", value: "2"))
        #expect(try sums(limited, "bids", configuration) == ["45": 600_000])
        #expect(
            try sums(
                request("postbacks", by: "catalog_campaign,verdict", "6137"), "postbacks",
                configuration) == ["valid 6137": 65, "invalid 6137": 8000])
        // It is a column on request only.
        let stored = try stores.sample.stores("data").dump(ReportRequest(name: "bids"))
        #expect(!stored.columns.contains { $0.name == "catalog_campaign" })
    }

    @Test("has the sums of the funnel's rows, in every dump that the funnel reads")
    func funnel() throws {
        try fill()
        let keys = "ad_network_id,app_id,catalog_campaign"
        for (dump, measure, column) in [
            ("bids", "bids", "bids"), ("impressions", "presented", "presented"),
            ("overlay-clicks", "automatic_clicks", "automatic_clicks"),
            ("postbacks", "postbacks", "postbacks"),
        ] {
            var request = try request(dump, by: keys)
            if dump == "postbacks" {
                request.conditions = [
                    .init(column: "verdict", value: "valid"),
                    .init(column: "did_win", value: "true"),
                ]
            }
            var found = try sums(request, measure, configuration)
            // The columns of a dump have an order of their own.
            found = Dictionary(uniqueKeysWithValues: found.filter { $0.value != 0 })
            let funnel = try stores.funnel(by: "ad_network_id,app_id,campaign").rows(
                "ad_network_id", "app_id", "campaign", column)
            let expected = Dictionary(
                uniqueKeysWithValues: funnel.compactMap { row in
                    Int128(row[3]).flatMap {
                        $0 == 0 ? nil : (row[..<3].joined(separator: " "), $0)
                    }
                })
            #expect(found == expected && !expected.isEmpty, "\(dump)")
        }
        #expect(
            try sums(
                request("decoded-events", by: "catalog_campaign"), "revenue_max_micros",
                configuration) == ["6137": 75, "45": 900])
    }

    @Test("selects and counts in the same way row by row, in pieces and in comparisons")
    func ways() throws {
        try fill()
        let opened = try stores.sample.stores("data")
        let request = try request("bids", by: "total", "6137")
        let (kept, count) = try opened.dump(request, configuration, keeping: RowBound(10))
        let bids = try #require(kept.measures.firstIndex(of: "bids"))
        #expect(count == 1 && kept.rows[0].measures[bids] == 4021)
        let figure = try DumpFigure(request, configuration)
        let columns: [StoredValue] = BidsKey.table.columns.map { column in
            switch column.name {
            case "ad_network_id": .text("net")
            case "campaign": .text("45")
            case "skan_version": .text("3.0")
            case "app_id": .integer(1)
            case "hour": .text("2026-11-21T05:00:00Z")
            default: column.kind == .text ? .text("") : .integer(0)
            }
        }
        #expect(figure.terms(of: BidsKey.table, columns: columns)?.isEmpty == false)
        let other = try DumpFigure(request)
        #expect(other.terms(of: BidsKey.table, columns: columns) == nil)
        let report = ReportConfiguration(catalog: stores.catalog)
        let compared = try requireReport("bids").comparedRows(request, report)
        let same = try stores.sample.stores("data")
        let comparison = try opened.diff(same, compared, ComparisonQuery(request))
        #expect(!comparison.differs)
        var query = ComparisonQuery(request)
        query.showsEqual = true
        let lines = try opened.diff(same, compared, query).table.rows
        #expect(lines.contains { $0.map(\.plainText).contains("4021") })
    }

    @Test("limits click rates and signals of fraud in the same way")
    func computed() throws {
        try fill()
        let report = ReportConfiguration(catalog: stores.catalog)
        let opened = try stores.sample.stores("data")
        func rows(_ name: String, by columns: String, _ campaign: String) throws -> [[String]] {
            try request(name, by: columns, campaign).answer(opened, report, as: .json).report.rows
                .map { $0.map(\.plainText) }
        }
        #expect(
            try rows("click-rates", by: "catalog_campaign", "6137").map { $0.prefix(3) } == [
                ["6137", "32", "0"]
            ])
        let signals = try rows("fraud-signals", by: "catalog_campaign", "6137")
        func counts(_ signal: String) -> ArraySlice<String>? {
            signals.first { $0[1] == signal }?[2...3]
        }
        #expect(counts("automatic_clicks") == ["3", "4"])
        #expect(counts("invalid_postbacks") == ["8000", "8065"])
        #expect(try rows("fraud-signals", by: "total", "45").contains { $0.contains("700") })
        // The numbers of a signal are those of the dump that explains them.
        for (signal, sums) in [
            ("invalid_postbacks", ["8000", "8065"]), ("automatic_clicks", ["3", "4"]),
        ] {
            let source = try #require(FraudSignalSource.of(signal))
            for (number, sum) in zip([source.count, source.total], sums) {
                let number = try #require(number)
                var request = try request(number.dump, by: "total", "6137")
                request.conditions += number.conditions
                request.measures = [number.measure]
                let figure = try requireReport(number.dump).division(
                    of: number.measure, request, opened, report)
                let answer =
                    try figure.map { [[$0.value.plainText]] }
                    ?? request.answer(opened, report, as: .json).report.rows
                    .map { $0.map(\.plainText) }
                #expect(answer == [[sum]], "\(signal)")
            }
        }
    }
}
