import ConfigurationValues
import EventLog
import History
import Reports
import Store
import Streams
import TestKit
import Testing

@Suite("The records behind computed numbers")
struct ComputedExplainTests {
    /// Stores of all streams whose numbers are joined, with postbacks of apps with a model and without one.
    private func makeWorkspace(model: String = Samples.model) throws -> Workspace {
        let workspace = try Workspace()
        try workspace.write("postbacks.yaml", Samples.trustedKeys)
        try workspace.write(Samples.modelFile, model)
        for stream in [WindowedStream.bids, .impressions, .overlayClicks] {
            try workspace.publish(stream.rawValue, stream.records(150, seed: 5))
            try workspace.fold(stream)
        }
        try workspace.write("costs.yaml", "batch_records: 37\n")
        try workspace.publish("costs", Samples.costs(60, seed: 5))
        try workspace.fold("costs", workspace.options())
        var postbacks = try Samples.postbacks(120, seed: 5)
        for number in 0..<12 {
            let time = Samples.start + Int64(number) * 7 * 3_600_000
            postbacks.append(
                try Samples.signed(
                    "u\(number)", value: number % 3 == 0 ? nil : number, app: 7, at: time))
            postbacks.append(
                try Samples.signed("n\(number)", value: number % 2 == 0 ? nil : number, at: time))
            postbacks.append(
                Samples.record(
                    "postbacks",
                    try Samples.postback("s\(number)", sourceIdentifier: "5239", value: number),
                    at: time))
        }
        try workspace.publish("postbacks", postbacks)
        try workspace.foldPostbacks()
        return workspace
    }

    private let configuration = ReportConfiguration(catalog: Catalog())

    private func query(
        _ name: String, _ conditions: [ReportRequest.Condition] = []
    ) -> ReportRequest {
        ReportRequest(name: name, grouping: .total, conditions: conditions)
    }

    /// The values of a row's keys, as conditions.
    private func conditions(_ table: ReportTable, _ row: [ReportValue]) -> [ReportRequest.Condition]
    {
        zip(table.columns, row).prefix(table.keyCount).map {
            ReportRequest.Condition(column: $0.name, value: $1.plainText)
        }
    }

    private func value(_ name: String, _ table: ReportTable, _ row: [ReportValue]) -> ReportValue {
        table.columns.firstIndex { $0.name == name }.map { row[$0] } ?? .null
    }

    /// The amounts of money by measure and currency, and counts, without zeros.
    private func parts(_ name: String, _ value: ReportValue) -> [String: Int128] {
        switch value {
        case .money(let money):
            Dictionary(
                uniqueKeysWithValues: money.amounts.map { ("\(name) \($0.currency)", $0.micros) }
            ).filter { $0.value != 0 }
        case .integer(let count) where count != 0: [name: count]
        default: [:]
        }
    }

    private func sums(_ explanation: Explanation, _ names: [String]) -> [String: Int128] {
        var sums: [String: Int128] = [:]
        for measure in explanation.measures
        where measure.stored != 0 && names.contains(String(measure.name.prefix { $0 != " " })) {
            sums[measure.name] = measure.stored
        }
        return sums
    }

    /// The model of the samples, then versions that take effect one after the other while postbacks arrive.
    private func model(laterVersions: Int) -> String {
        (0..<laterVersions).reduce(Samples.model) { text, number in
            let hour = Hour(containing: Samples.start).hoursSince1970 + Int64(number) * 5 - 24
            return text + """
                  - id: later\(number)
                    effective_from: \(Hour(hoursSince1970: hour).text)
                    currency: \(number % 2 == 0 ? "USD" : "EUR")
                    fine:
                      fields:
                        - {bits: [0, 3], kind: revenue, buckets: [0, \(number + 2), 70], max: 90}

                """
        }
    }

    @Test(
        "of the funnel's bounds and unbounded postbacks add up to what each row shows",
        // Without other versions, with few, and with more than are looked at version by version.
        arguments: [0, 2, 20])
    func bounds(laterVersions: Int) throws {
        let workspace = try makeWorkspace(model: model(laterVersions: laterVersions))
        let stores = try workspace.stores()
        let explainer = try workspace.explainer(stores)
        let names = ["revenue_bound_min_micros", "revenue_bound_max_micros", "unbounded_postbacks"]
        var query = query(Funnel.name)
        query.grouping = .columns(["day", "app_id"])
        let table = try stores.funnel(query, configuration).table
        var unbounded = 0
        for row in table.rows {
            let cell = try FunnelFigure(
                self.query(Funnel.name, conditions(table, row)), configuration,
                bounds: .ofRevenue)
            var counted: Int128 = 0
            let explanation = try explainer.explainTwice(cell) { record in
                let measure = cell.measures.firstIndex(of: "unbounded_postbacks") ?? 0
                counted += record.amounts[measure]
            }
            #expect(explanation.addsUp, "\(explanation.summary)")
            var expected: [String: Int128] = [:]
            for name in names { expected.merge(parts(name, value(name, table, row))) { $1 } }
            // Where nothing bounds a postback, the funnel has no upper bound.
            var found = sums(explanation, names)
            if let count = expected["unbounded_postbacks"] {
                found = found.filter { !$0.key.hasPrefix("revenue_bound_max") }
                #expect(counted == count)
                unbounded += 1
            }
            #expect(found == expected, "\(conditions(table, row))")
        }
        #expect(unbounded > 1 && table.rows.count > unbounded)
    }

    @Test("of roas add up to what each row shows, up to each day")
    func returns() throws {
        let workspace = try makeWorkspace()
        let stores = try workspace.stores()
        let explainer = try workspace.explainer(stores)
        var query = query(CampaignReturns.name)
        query.grouping = .columns(["day", "ad_network_id", "app_id", "campaign"])
        let table = try stores.returns(query, configuration).table
        let names = ["installs", "revenue_min_micros", "revenue_max_micros"]
        var seen: Set<String> = []
        for row in table.rows {
            let cell = try CampaignReturns.figure(
                self.query(CampaignReturns.name, conditions(table, row)), configuration)
            let explanation = try explainer.explainTwice(cell) { _ in }
            #expect(explanation.addsUp, "\(explanation.summary)")
            var expected: [String: Int128] = [:]
            for name in names { expected.merge(parts(name, value(name, table, row))) { $1 } }
            var found = sums(explanation, names)
            if !sums(explanation, ["unbounded_postbacks"]).isEmpty {
                found = found.filter { !$0.key.hasPrefix("revenue_max") }
            }
            #expect(found == expected, "\(conditions(table, row))")
            seen.formUnion(expected.keys)
            let billed = sums(explanation, ["billed_price_micros"])
            for (name, cost) in parts("cost", value("cost_micros", table, row)) {
                let currency = name.dropFirst("cost ".count)
                let isBilled = !billed.isEmpty
                let sum =
                    isBilled
                    ? (billed["billed_price_micros \(currency)"] ?? 0) / 1000
                    : sums(explanation, ["reported_cost_micros"])[
                        "reported_cost_micros \(currency)"] ?? 0
                #expect(sum == cost, "\(conditions(table, row))")
            }
        }
        #expect(seen.count > 2, "\(seen)")
        #expect(throws: InspectionError.noThroughDay("roas")) {
            try CampaignReturns.figure(self.query(CampaignReturns.name), configuration)
        }
    }

    @Test("of a campaign of the catalog are those of each of its ids, and add up")
    func catalogCampaign() throws {
        let workspace = try makeWorkspace()
        try workspace.write(
            "catalog.yaml",
            """
            campaigns:
              - {name: a, network: \(Samples.network), app: 525463029, campaign_id: 42,
                 source_identifier: "5239"}
            """)
        let configuration = DumpConfiguration(
            catalog: try PipelineDirectory(workspace.pipelines).catalog())
        let stores = try workspace.stores()
        let explainer = try workspace.explainer(stores)
        for dump in ["postbacks", "conversion-values"] {
            func figure(_ conditions: [(String, String)]) throws -> DumpFigure {
                try DumpFigure(
                    query(dump, conditions.map { .init(column: $0.0, value: $0.1) }), configuration)
            }
            func total(_ conditions: [(String, String)]) throws -> Int128 {
                let rows = try stores.dump(figure(conditions).request, configuration).rows
                return try #require(rows.first?.measures[0])
            }
            let ids = try [("campaign", "42"), ("campaign", "5239")].map {
                try total([$0, ("app_id", "525463029")])
            }
            #expect(ids.allSatisfy { $0 > 0 })
            for (campaign, expected) in [
                ("5239", ids.reduce(0, +)),
                // Another app has the same campaign id.
                ("42", try total([("campaign", "42"), ("app_id", "7")])),
            ] {
                let wanted = [("catalog_campaign", campaign)]
                #expect(try total(wanted) == expected, "\(dump) \(campaign)")
                let explanation = try explainer.explainTwice(figure(wanted)) { _ in }
                #expect(explanation.addsUp, "\(explanation.summary)")
                #expect(explanation.measures.first?.stored == expected, "\(dump) \(campaign)")
            }
        }
    }

    @Test("of click rates add up to what each row shows")
    func clickRates() throws {
        let workspace = try makeWorkspace()
        let stores = try workspace.stores()
        let explainer = try workspace.explainer(stores)
        var query = query(ClickRates.name)
        query.grouping = .columns(["day", "format", "placement"])
        let table = try stores.clickRates(query).table
        #expect(table.rows.count > 3)
        for row in table.rows {
            let cell = try ClickRatesFigure(self.query(ClickRates.name, conditions(table, row)))
            let explanation = try explainer.explainTwice(cell) { _ in }
            #expect(explanation.addsUp, "\(explanation.summary)")
            let names = ClickRates.measureNames.filter { $0 != "ctr" }
            var expected: [String: Int128] = [:]
            for name in names { expected.merge(parts(name, value(name, table, row))) { $1 } }
            #expect(sums(explanation, names) == expected, "\(conditions(table, row))")
        }
    }
}
