import ConversionModels
import Reports
import TestKit
import Testing

@Suite("Bounds of the funnel's revenue")
struct FunnelBoundsTests {
    private let stores = FunnelStores()

    private func row(_ more: [String: Any]) -> [String: Any] {
        ["ad_network_id": "net", "app_id": 1, "campaign": "5239"].merging(more) { $1 }
    }

    private func value(
        _ kind: String, _ value: String, _ more: [String: Any] = [:]
    ) -> [String: Any] {
        row([
            "framework": "skadnetwork", "version": "4.0", "conversion_type": "download",
            "did_win": 1, "verdict": "valid", "kind": kind, "value": value, "postbacks": 1,
        ]).merging(more) { $1 }
    }

    private func version(
        _ id: String, from: Int64, currency: String = "USD", max: Int64
    ) throws -> ConversionModelVersion {
        try ConversionModelVersion(
            id: id, effectiveFromMilliseconds: from, currency: currency,
            fields: [
                FineField(
                    lowestBit: 0, highestBit: 1,
                    kind: .revenue(event: "revenue", boundsMicros: [0, 4, 10], maxMicros: max))
            ],
            coarse: [
                1: [.high: [ModelEvent(event: "sale", revenueMinMicros: 6, revenueMaxMicros: 8)]]
            ])
    }

    private func bounds(_ by: String = "total") throws -> [[String]] {
        try stores.funnel(by: by).rows(
            "revenue_bound_min_micros", "revenue_bound_max_micros", "unbounded_postbacks")
    }

    @Test("they cover null values, coarse values that say nothing, and every version of their time")
    func coverAll() throws {
        try stores.postbacks(
            row(["postbacks": 5, "null_values": 2]),
            row(["sequence_index": 1, "postbacks": 3, "null_values": 1]))
        try stores.decoded(
            "conversion-values", value("fine", "1", ["postbacks": 2]), value("coarse", "low"),
            value("coarse", "high", ["sequence_index": 1]),
            value("coarse", "low", ["sequence_index": 1]))
        try stores.record([
            try ConversionModel(app: 1, versions: [version("only", from: 0, max: 20)])
        ])
        // Two of [4, 10], two without a value and one coarse one of [0, 20]; then [6, 8] and [0, 0],
        // and one without a value of [0, 8].
        #expect(try bounds() == [["USD 0.000014", "USD 0.000096", "0"]])

        // The value of the first window was set between four days and one day before.
        let start = FunnelStores.morning - 30 * SampleStores.hour
        try stores.record([
            try ConversionModel(
                app: 1,
                versions: [
                    version("first", from: 0, max: 20), version("second", from: start, max: 50),
                ])
        ])
        #expect(try bounds() == [["USD 0.000014", "USD 0.000186", "0"]])
        try stores.record([
            try ConversionModel(
                app: 1,
                versions: [
                    version("first", from: 0, max: 20),
                    version("second", from: start, currency: "EUR", max: 50),
                ])
        ])
        #expect(try bounds() == [["EUR 0.00; USD 0.00", "EUR 0.000186; USD 0.000096", "0"]])
    }

    @Test("a postback of an app without a model has no bound, which is not 0")
    func unbounded() throws {
        try stores.postbacks(
            row(["postbacks": 2, "null_values": 1]),
            row(["app_id": 2, "campaign": "7", "null_values": 1]))
        try stores.decoded(
            "conversion-values", value("fine", "1"),
            value("fine", "1", ["app_id": 3, "verdict": "invalid"]),
            value("fine", "1", ["app_id": 3, "did_win": 0]))
        try stores.record([
            try ConversionModel(app: 1, versions: [version("only", from: 0, max: 20)])
        ])
        #expect(try bounds("campaign") == [["USD 0.000004", "USD 0.00003", "0"], ["", "", "1"]])
        #expect(try bounds() == [["USD 0.000004", "", "1"]])
        #expect(
            try stores.funnel(by: "app_id").lines[1].contains("\"revenue_bound_max_micros\":null"))
    }

    @Test("an estimate stands apart, scales each window by itself, and is null where nothing tells")
    func estimate() throws {
        try stores.postbacks(
            row(["postbacks": 4, "null_values": 2]), row(["sequence_index": 1, "postbacks": 1]))
        try stores.decoded(
            "conversion-values", value("fine", "1", ["postbacks": 1]), value("fine", "2"),
            value("coarse", "high", ["sequence_index": 1]))
        try stores.record([
            try ConversionModel(app: 1, versions: [version("only", from: 0, max: 20)])
        ])
        func estimates() throws -> [[String]] {
            try stores.funnel(estimates: true).rows(
                "estimated_revenue_micros", "estimated_value_share")
        }
        // 7 and 15 are those of two of four; 7 is that of one of one.
        #expect(try estimates() == [["USD 0.000051", "0.600000"]])
        #expect(try !stores.funnel().lines[0].contains("estimated"))
        try stores.postbacks(row(["sequence_index": 2, "null_values": 1]))
        #expect(try estimates() == [["", "0.500000"]])
    }

    @Test(
        "a return on cost is at least that of the windows that are over, at most that of those that have begun"
    )
    func returns() throws {
        try stores.postbacks(
            watermark: SampleStores.noon + 12 * SampleStores.hour, row(["postbacks": 1]),
            row(["sequence_index": 1, "postbacks": 2, "null_values": 1]))
        try stores.decoded(
            "conversion-values", value("fine", "1"),
            value("coarse", "high", ["sequence_index": 1]))
        try stores.store(
            "costs", row(["day": "2026-11-20", "currency": "USD", "cost_micros": 20]),
            row(["day": "2026-11-20", "currency": "USD", "cost_micros": 5, "campaign": "1"]))
        try stores.record([
            try ConversionModel(app: 1, versions: [version("only", from: 0, max: 20)])
        ])
        func returns(_ campaign: String) throws -> [[String]] {
            let query = ReportRequest(
                name: "roas", grouping: .total,
                conditions: [.init(column: "campaign", value: campaign)])
            return try stores.sample.stores("data")
                .returns(query, ReportConfiguration(catalog: stores.catalog)).table.rows
                .map { $0.map(\.plainText) }
        }
        // [4, 10] of the first window, then [6, 8] and one without a value of the second.
        let (cost, most) = ("USD 0.00002", "USD 0.000026")
        #expect(
            try returns("5239") == [
                [
                    "0", "1", cost, "USD 0.00", "USD 0.00001", "0.000000", "0.500000", "1.000000",
                ],
                ["3", "1", cost, "USD 0.000004", most, "0.200000", "1.300000", "0.000000"],
                ["7", "1", cost, "USD 0.00001", most, "0.500000", "1.300000", "0.000000"],
                ["30", "1", cost, "USD 0.00001", most, "0.500000", "1.300000", "0.000000"],
            ])
        // What costs and brings nothing has a return, which is 0.
        #expect(try returns("1").map { $0[5] } == Array(repeating: "0.000000", count: 4))
    }

    @Test("a dump of postbacks says which share of its windows is closed, and when it is final")
    func maturity() throws {
        let day = FunnelStores.morning - 5 * SampleStores.hour
        try stores.postbacks(
            watermark: day + 7 * 24 * SampleStores.hour,
            row(["version": "3.0", "campaign": "1"]), row(["campaign": "2"]))
        func rows(_ name: String, by: String) throws -> [[String]] {
            var query = ReportRequest(name: name, grouping: try .init(by))
            query.maturity = true
            let table = try stores.sample.stores("data").dump(query).withMaturity(
                forPeople: false)
            let text = table.text(as: .csv)
            return text.split(separator: "\r\n").dropFirst().map { line in
                line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
        }
        #expect(
            try rows("postbacks", by: "day,campaign") == [
                ["2026-11-21", "1", "1", "0", "1.000000", "2026-11-23T12:00:00Z"],
                ["2026-11-21", "2", "1", "0", "0.333333", "2026-12-30T12:00:00Z"],
                ["2026-11-21", "42", "1", "0", "1.000000", "2026-11-23T12:00:00Z"],
            ])
        #expect(
            try rows("postbacks", by: "total") == [["3", "0", "0.500000", "2026-12-30T12:00:00Z"]])
        #expect(throws: InspectionError.self) { try rows("bids", by: "total") }
    }
}
