import Signatures
import Streams
import TestKit
import Testing

@Suite("Cohorts of installs")
struct InstallCohortTests {
    private static let day: Int64 = 86_400_000

    private func fold(
        _ records: [TestRecord], trustsDevelopment: Bool = false, secondFrom: Int64? = nil,
        batching: Batching = .together
    ) throws -> FoldResult {
        let result = try foldPostbacks(
            records, batching,
            PostbackPipeline(
                trustsDevelopment: trustsDevelopment, models: [Models.model(secondFrom: secondFrom)]
            ))
        #expect(result.refused.isEmpty, "\(result.refused)")
        return result
    }

    private func cohorts(
        _ records: [TestRecord], trustsDevelopment: Bool = false
    ) throws -> Set<Row> {
        try fold(records, trustsDevelopment: trustsDevelopment).rows("install-cohorts")
    }

    /// Revenue bucket 2 and the event 2, received on 2026-11-21.
    private let postback = Postbacks.v40.with(["conversion-value": 18])

    private func row(_ cohort: String, _ measures: Row, currency: String = "EUR") -> Row {
        let row: Row = [
            "cohort": .text(cohort), "ad_network_id": "net.skadnetwork", "campaign": "0239",
            "app_id": 22, "source_app_id": 11, "currency": .text(currency), "postbacks": 1,
        ]
        return row.merging(measures) { $1 }.filter { !$0.value.isDefault }
    }

    @Test("a postback counts on the latest day of its install, by window, with what it is worth")
    func windows() throws {
        let revenue: Row = ["revenue_min_micros": 5_490_000, "revenue_max_micros": 11_000_000]
        for (index, cohort, installs) in [
            (0, "2026-11-20", 1), (1, "2026-11-18", 0), (2, "2026-11-13", 0),
        ] as [(Int64, String, Int64)] {
            let record = try Postbacks.record(
                postback.with(["postback-sequence-index": .raw("\(index)")]))
            let measures: Row = ["window": .integer(index), "installs": .integer(installs)]
            #expect(
                try cohorts([record]) == [row(cohort, revenue.merging(measures) { $1 })])
        }
    }

    @Test("a day begins at midnight of the instant 24 hours before, at either end of it")
    func days() throws {
        let midnight = TestRecord.halfPastFive - 5 * 3_600_000 - 1_800_000
        for (received, cohort) in [
            (midnight, "2026-11-20"), (midnight - 1, "2026-11-19"),
            (midnight + Self.day - 1, "2026-11-20"), (0, "1969-12-31"), (-1, "1969-12-31"),
            (.max, "292278994-08-16"),
        ] as [(Int64, String)] {
            let record = try Postbacks.record(postback).at(received)
            #expect(try cohorts([record]).compactMap { $0["cohort"] } == [.text(cohort)])
        }
    }

    @Test("without an install window there is no cohort")
    func noWindow() throws {
        let development = try Postbacks.record(postback, by: .development)
        #expect(try cohorts([development]).isEmpty)
        let rows = try cohorts([development], trustsDevelopment: true)
        #expect(rows.count == 1)
        #expect(rows.first?["cohort"] == nil)
        #expect(rows.first?["installs"] == 1)
        let claims = Postbacks.claims.with(["conversion-type": "re-engagement"])
        let engaged = try cohorts([try Postbacks.record(claims: claims)])
        #expect(engaged.count == 1)
        #expect(engaged.first?["cohort"] == nil)
        #expect(engaged.first?["installs"] == nil)
    }

    @Test("only trusted, winning postbacks count, and only downloads are installs")
    func scope() throws {
        #expect(try cohorts([try Postbacks.record(postback, by: .stranger)]).isEmpty)
        #expect(try cohorts([try Postbacks.record(postback.with(["did-win": false]))]).isEmpty)
        #expect(try cohorts([TestRecord(postback.with(["version": "9.9"]))]).isEmpty)
        let again = try cohorts([try Postbacks.record(postback.with(["redownload": true]))])
        #expect(again.first?["installs"] == nil)
        #expect(again.first?["postbacks"] == 1)
    }

    @Test("a postback without a value is null, in the row of those that have one")
    func nullValues() throws {
        let null = try Postbacks.record(postback.with(["conversion-value": nil]))
        #expect(
            try cohorts([null]) == [row("2026-11-20", ["installs": 1, "null_values": 1])])
        let coarse = try Postbacks.record(
            postback.with(["conversion-value": nil, "coarse-conversion-value": "low"]))
        #expect(try cohorts([coarse]) == [row("2026-11-20", ["installs": 1])])
        let unmodelled = try Postbacks.record(postback.with(["app-id": 23]))
        #expect(
            try cohorts([unmodelled])
                == [row("2026-11-20", ["installs": 1, "app_id": 23], currency: "")])
    }

    @Test("a better copy is accepted and counts anew, as everywhere; others count nothing")
    func copies() throws {
        let better = try Postbacks.record(postback)
        let weaker = try Postbacks.record(postback, by: .development)
        for batching in [Batching.together, .sizes([1])] {
            func sum(_ records: [TestRecord]) throws -> (Int64, Int64) {
                let result = try fold(records, trustsDevelopment: true, batching: batching)
                return (
                    result.sum("install-cohorts", "installs"),
                    result.sum("postbacks", "postbacks")
                )
            }
            #expect(try sum([better, weaker, better]) == (1, 1))
            #expect(try sum([weaker, better]) == (2, 2))
        }
        // Where development is not trusted only the better one counts.
        #expect(try cohorts([weaker, better]).map { $0["installs"] } == [1])
    }
}
