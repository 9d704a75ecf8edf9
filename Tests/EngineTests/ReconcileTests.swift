import EventLog
import Foundation
import Reports
import TestKit
import Testing

@Suite("weir reconcile")
struct ReconcileTests {
    private let day: Int64 = 86_400_000

    private func copy(
        _ text: String, _ transaction: String, via: String? = nil, at milliseconds: Int64
    ) -> OutgoingRecord {
        OutgoingRecord(
            topic: "postbacks", partition: 1, timestampMilliseconds: milliseconds,
            key: Array(transaction.utf8), headers: via.map { [.init("ce_via", $0)] } ?? [],
            value: Array(text.utf8))
    }

    /// Seven postbacks of the first day, and one of ten days later.
    private func makePlace() throws -> Workplace {
        let place = try Workplace()
        try place.write("postbacks.yaml", Samples.trustedKeys)
        let start = Samples.start
        let (seen, changed) = (
            try Samples.postback("seen"), try Samples.postback("changed", value: 9)
        )
        try place.publish(
            "postbacks", copy(seen, "seen", at: start),
            copy(seen, "seen", via: "developer-copy", at: start + day),
            copy(seen, "seen", via: "relay", at: start + day),
            copy(try Samples.postback("changed"), "changed", at: start),
            copy(changed, "changed", via: "developer-copy", at: start),
            copy(try Samples.postback("alone"), "alone", at: start),
            copy(try Samples.postback("lost", value: nil, didWin: false), "lost", at: start),
            copy(try Samples.postback("copied"), "copied", via: "developer-copy", at: start),
            // A forged copy is none, and hides none.
            copy(
                try Samples.postback("relayed", forged: true), "relayed", via: "developer-copy",
                at: start),
            copy(try Samples.postback("relayed"), "relayed", via: "relay", at: start),
            copy(
                try Samples.postback("forged", forged: true), "forged", via: "developer-copy",
                at: start), copy(try Samples.postback("late"), "late", at: start + 10 * day))
        try place.foldPostbacks()
        return place
    }

    private func text(_ table: ReportTable) -> [String] {
        table.text(as: .csv).split(separator: "\r\n").map(String.init)
    }

    private func reconciliation(
        _ place: Workplace, _ change: (inout ReconciliationQuery) throws -> Void = { _ in }
    ) throws -> Reconciliation {
        var question = ReconciliationQuery()
        try change(&question)
        return try place.stores().reconciliation(question)
    }

    @Test("each postback is matched, differs, lost, or misses a copy on one side, and once only")
    func counts() throws {
        let place = try makePlace()
        let found = try reconciliation(place)
        #expect(
            text(found.table) == [
                "day,ad_network_id,campaign,app_id,postbacks,matched,differing,"
                    + "missing_developer_copy,missing_network_copy,losing,may_still_come,"
                    + "untrusted_copies",
                "2026-11-21,su67r6k2v3.skadnetwork,42,525463029,6,1,1,2,1,1,0,2",
                "2026-12-01,su67r6k2v3.skadnetwork,42,525463029,1,0,0,1,0,0,1,0",
            ])
        #expect(found.notices.isEmpty)
        let total = try reconciliation(place) {
            $0.request.grouping = .total
            $0.request.untilMilliseconds = Samples.start + day
        }
        #expect(text(total.table).last == "6,1,1,2,1,1,0,2")
    }

    @Test("the records of what does not match are named by their offsets")
    func records() throws {
        let place = try makePlace()
        let found = try reconciliation(place) {
            $0.showsRecords = true
            $0.request.untilMilliseconds = Samples.start + day
        }
        let rows = text(found.table).dropFirst().map { line in
            let fields = line.split(separator: ",", omittingEmptySubsequences: false)
            return [fields[0]] + fields.suffix(5)
        }
        #expect(
            rows.sorted { $0[2] + $0[4] < $1[2] + $1[4] } == [
                ["differing", "1", "3", "fine 4", "4", "fine 9"],
                ["missing_developer_copy", "1", "5", "fine 4", "", ""],
                ["missing_network_copy", "1", "", "", "7", "fine 4"],
                ["missing_developer_copy", "1", "9", "fine 4", "", ""],
            ])
        let all = try reconciliation(place) {
            $0.showsRecords = true
            $0.showsMatched = true
        }
        #expect(all.table.rows.count == 7)
    }

    @Test("networks without any copy of a developer are told where those are taken")
    func noCopies() throws {
        let place = try Workplace()
        try place.write("postbacks.yaml", Samples.trustedKeys)
        try place.publish("postbacks", copy(try Samples.postback("one"), "one", at: Samples.start))
        try place.foldPostbacks()
        #expect(try reconciliation(place).notices.count == 1)
    }
}
