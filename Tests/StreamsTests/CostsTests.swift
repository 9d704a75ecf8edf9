import Streams
import TestKit
import Testing

@Suite("Reported costs")
struct CostsTests {
    private func report(
        _ amount: String, day: String = "2026-11-20", _ more: KeyValuePairs<String, Document?> = [:]
    ) -> TestRecord {
        let document: Document = [
            "source": "s", "day": .string(day), "currency": "USD", "amount": .raw(amount),
        ]
        return TestRecord(document.with(more))
    }

    @Test(
        "an amount is judged and rounded as it is written, half a micro away from zero",
        arguments: [
            ("0", 0), ("-0", 0), ("-0.0e7", 0), ("0.0000004999999999999999999999999999", 0),
            ("0.0000005", 1), ("0.00000049e1", 5), ("1.5E-7", 0), ("5e-7", 1),
            ("1e3", 1_000_000_000),
            ("12.3456785", 12_345_679), ("12.34567849999999999999999", 12_345_678),
            ("1e-99999999999", 0), ("0e99999999999", 0), ("100000000000e-11", 1_000_000),
            ("999999999.9999999", 1_000_000_000_000_000), ("1e9", 1_000_000_000_000_000),
            ("1000000000.000000", 1_000_000_000_000_000),
            ("0.0000000000000000000001e31", 1_000_000_000_000_000),
        ] as [(String, Int64)])
    func amounts(text: String, micros: Int64) throws {
        let result = try foldCosts([report(text)])
        #expect(result.outcome(.accepted) == 1, "\(result.refused)")
        #expect(result.sum("costs", "cost_micros") == micros)
    }

    @Test(
        "an amount that is above or below its bounds by ever so little is out of range",
        arguments: [
            "-0.0000000001", "-1e-400", "1000000000.0000001", "1.0000000000000000000000001e9",
            "1e10", "1000000001", "10000000000000000000000",
        ])
    func beyondBounds(text: String) throws {
        #expect(try foldCosts([report(text)]).reasons == ["out_of_range"])
    }

    @Test("an amount beyond a double is malformed, as everywhere")
    func beyondDouble() throws {
        #expect(try foldCosts([report("1e400")]).reasons == ["malformed_json"])
    }

    @Test("a day may be the one after the record's own, whatever the hour of that, and no later")
    func days() throws {
        let midnight = TestRecord.halfPastFive - 5 * 3_600_000 - 1_800_000
        for (time, day, isAccepted) in [
            (midnight, "2026-11-22", true), (midnight, "2026-11-23", false),
            (midnight - 1, "2026-11-21", true), (midnight - 1, "2026-11-22", false),
            (-1, "1970-01-02", true), (-1, "1970-01-03", false), (midnight, "0001-01-01", true),
            (midnight, "2024-02-29", true), (midnight, "2023-02-29", false),
        ] {
            let result = try foldCosts([report("1", day: day).at(time)])
            #expect(result.reasons == (isAccepted ? [] : ["out_of_range"]), "\(time) \(day)")
        }
    }

    @Test("each part of a cell tells it from others, and nothing else does")
    func cells() throws {
        let others: [KeyValuePairs<String, Document?>] = [
            ["source": "t"], ["day": "2026-11-19"], ["currency": "EUR"], ["country": "US"],
            ["campaign": ["campaign_id": 1]], ["campaign": ["campaign_id": 1, "app_id": 1]],
            ["campaign": ["ad_network_id": "1"]], ["campaign": ["source_app_id": 1]],
            ["campaign": ["source_identifier": "01"]],
        ]
        let same: [KeyValuePairs<String, Document?>] = [
            ["name": "x"], ["country": ""], ["country": .null], ["campaign": [:]],
            ["campaign": ["app_id": 0]], ["amount": "1e0"], ["clicks": 0], ["more": 7],
        ].map { changes in changes as KeyValuePairs<String, Document?> }
        let records = [report("1")] + others.map { report("1", $0) }
        let result = try foldCosts(records)
        #expect(result.outcome(.accepted) == Int64(records.count))
        #expect(result.rows("costs").count == records.count)
        let repeated = try foldCosts(
            [report("1")]
                + same.map { changes in
                    changes.contains { $0.key == "amount" } ? report("1e0") : report("1", changes)
                })
        #expect(repeated.outcome(.duplicates) == Int64(same.count))
    }

    @Test("counts up to 64 bits are restated in one batch without an overflow")
    func largeCounts() throws {
        let most: KeyValuePairs<String, Document?> = ["clicks": .raw("9223372036854775807")]
        let records = [report("1", most), report("1"), report("1", most), report("1")]
        for batching in [Batching.together, .sizes([1]), .sizes([2])] {
            let result = try foldCosts(records, batching)
            #expect(result.outcome(.accepted) == 4)
            #expect(result.sum("costs", "reported_clicks") == 0)
            #expect(result.sum("costs", "restatements") == 3)
        }
    }

    @Test("a record is keyed by its source, a colon and its campaign")
    func keys() throws {
        let reader = try #require(RecordKeyReader())
        func key(_ campaign: Document?) throws -> String {
            let value = Array((report("1", ["campaign": campaign]).value) ?? [])
            let events = try reader.events(value, stream: CostsFold.self, type: "cost.reported")
            return String(decoding: events[0].key, as: UTF8.self)
        }
        #expect(try key(nil) == "s:")
        #expect(try key(["campaign_id": "045"]) == "s:45")
        #expect(try key(["campaign_id": 45, "source_identifier": "0052"]) == "s:0052")
        #expect(try key(["app_id": 7]) == "s:")
    }

    @Test(
        "in whatever batches reports and restatements come, and however often the worker starts anew, the last ones count",
        arguments: 1...20 as ClosedRange<UInt64>)
    func anyBatches(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var last: [Int32: [String: Int64]] = [:]
        let records = (0..<200).map { _ -> TestRecord in
            let day = "2026-11-\(Int.random(in: 10...14, using: &random))"
            let campaign = Int64.random(in: 1...3, using: &random)
            let amount = Int64.random(in: 0...4, using: &random)
            var record = report(
                "\(amount)", day: day, ["campaign": ["campaign_id": .raw("\(campaign)")]])
            record.partition = Int32(campaign % 2)
            record.timestamp += Int64.random(in: -3_600_000...3_600_000, using: &random)
            last[record.partition, default: [:]]["\(day) \(campaign)"] = amount * 1_000_000
            return record
        }
        let whole = try foldCosts(records)
        let sizes = (0..<5).map { _ in Int.random(in: 1...40, using: &random) }
        for restarts in [false, true] {
            let result = try foldCosts(records, .sizes(sizes), restarts: restarts)
            #expect(Self.rows(result) == Self.rows(whole))
            #expect(result.rows("outcomes") == whole.rows("outcomes"))
            #expect(result.watermarks == whole.watermarks)
        }
        let expected = last.values.flatMap(\.values).reduce(0, +)
        #expect(whole.sum("costs", "cost_micros") == expected)
        #expect(whole.outcome(.accepted) + whole.outcome(.duplicates) == 200)
        // What was accepted is the first report of its cell, or takes the place of another.
        let cells = last.values.reduce(0) { $0 + $1.count }
        #expect(whole.outcome(.accepted) == whole.sum("costs", "restatements") + Int64(cells))
    }

    /// The rows without sums that came back to 0, of which only some batchings know.
    private static func rows(_ result: FoldResult) -> Set<Row> {
        Set(result.rows("costs").map { row in row.filter { !$0.value.isDefault } })
    }

    @Test("every example of the topic is accepted, and counts as it says")
    func examples() throws {
        let topic = try Topic("costs")
        let result = try foldCosts(topic.examples().map(\.record))
        #expect(result.outcome(.accepted) == 3, "\(result.refused)")
        #expect(result.sum("costs", "restatements") == 1)
        #expect(result.sum("costs", "cost_micros", where: ["currency": "USD"]) == 1_229_100_000)
        #expect(result.sum("costs", "reported_clicks") == 1822)
        let read: Set = [
            "source", "day", "campaign", "country", "currency", "amount", "impressions", "clicks",
            "installs",
        ]
        #expect(read.isSubset(of: topic.properties("CostReported")))
    }
}
