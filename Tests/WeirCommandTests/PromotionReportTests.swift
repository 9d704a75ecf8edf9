import Engine
import Foundation
import History
import Store
import Streams
import Testing

@testable import weir

@Suite("What weir replay and weir promote say")
struct PromotionReportTests {
    private static let id = "2d0136c18b5007e0d205543c5bf2f427"

    private func document(_ maximum: String) -> PartnerDocument {
        let text = """
            {"id":"\(Self.id)","revision":1,"partner":"acme","postback":{"version":"4.0"},"conversion":\
            {"value":63,"model":"v1","events":[],"revenue":{"min":0.5,"max":\(maximum),"currency":"USD"}},\
            "received_at":"2026-11-21T05:28:00Z","origin":{"topic":"postbacks","partition":2,"offset":7}}
            """
        return PartnerDocument(stored: text, id: Self.id, revision: 1)
    }

    private func correction(
        _ kind: Correction.Kind, state: Correction.State = .due, from old: String?, to new: String
    ) -> Correction {
        let postback = PartnerPostback(
            document: document(new), partner: "acme", partition: 2, originOffset: 7,
            adNetworkID: "com.example", campaign: "5239", hasSourceIdentifier: true, appID: 5,
            sourceAppID: 0)
        return Correction(
            postback: postback, kind: kind, state: state, ownRevision: 1,
            publishedRevision: old == nil ? 0 : 1, publishedDocument: old.map(document),
            publishedContent: nil, revision: old == nil ? 1 : 2, boundary: 100)
    }

    private func report() throws -> PromotionReport {
        var report = PromotionReport(isDryRun: false, data: "data", directory: "data/sets/a")
        report.streams = [
            PromotedStream(stream: "postbacks", from: "data", to: "data/sets/a", behind: 3)
        ]
        try report.add(correction(.changed, from: "100", to: "99.25"))
        try report.add(correction(.withdrawn, state: .sent, from: "10", to: "10"))
        try report.add(correction(.added, from: nil, to: "1"))
        try report.add(correction(.unchanged, from: "1", to: "1"))
        return report
    }

    @Test("a table lists each correction with what differs, sums revenue, and names the way back")
    func table() throws {
        var report = try report()
        report.sent = 1
        let lines = report.text(.table).split(separator: "\n").map(String.init)
        #expect(lines.first == "postbacks: data -> data/sets/a, 3 records folded in addition")
        #expect(lines.contains { $0.hasSuffix("conversion.revenue.max 100 -> 99.25") })
        #expect(
            lines.contains(
                "corrections: 1 changed, 1 added, 1 withdrawn; 1 sent; 2 not sent: weir promote data/sets/a --emit sends them"
            ))
        #expect(lines.contains("revenue USD: 1..110 -> 1..100.25"))
        #expect(lines.last == "to undo this: weir promote --back --data data")
    }

    @Test("JSON has every correction with its numbers, and the totals exactly")
    func json() throws {
        let text = try report().text(.json)
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let corrections = try #require(json["corrections"] as? [[String: Any]])
        #expect(
            corrections.compactMap { $0["kind"] as? String } == ["changed", "withdrawn", "added"])
        #expect(corrections[0]["supersedes"] as? String == "\(Self.id):1")
        #expect(corrections[2]["supersedes"] is NSNull)
        let totals = try #require(json["totals"] as? [String: Any])
        #expect(totals["changed"] as? Int == 1)
        let revenue = try #require(totals["revenue"] as? [[String: Any]])
        #expect(revenue.first?["before_max_micros"] as? Int == 110_000_000)
        #expect(revenue.first?["after_max_micros"] as? Int == 100_250_000)
    }

    @Test("a plan says what is gone, how many records there are, and about how long they take")
    func plan() {
        let plan = ReplayPlan(
            stream: "bids", topic: "bids", mode: .recorded, lacksStore: false,
            partitions: [
                .init(
                    partition: 0, fromOffset: 40, toOffset: 100_000, log: 40..<100_000,
                    archive: nil, gone: 0..<40)
            ], recordsPerSecond: 1000)
        let text = ReplayPlanReport(plans: [plan]).text(.table)
        #expect(text.contains("40-99999"))
        #expect(text.contains("0-39"))
        #expect(
            text.contains(
                "bids: 99960 records, 1000 a second in a sample, about 100 s; each under its recorded configuration; 40 offsets are missing"
            ))
    }
}
