import EventLog
import Streams
import Testing

@Suite("Duplicates of bids")
struct BidsDedupeTests {
    private let noon = TestRecord.halfPastFive

    private func win(_ id: String, _ timestamp: Int64) -> TestRecord {
        TestRecord(
            ["auction_id": .string(id), "bid_id": "b"] as Document, type: "openrtb.win",
            timestamp: timestamp)
    }

    private func outcomes(_ records: [TestRecord]) throws -> [Int64] {
        let result = try foldBids(records)
        return [.accepted, .duplicates, .rejected].map { result.outcome($0) }
    }

    @Test("ids are tuples: type, auction, seat and bid; texts are not joined")
    func tuples() throws {
        func notice(
            _ auction: String, _ seat: String, _ bid: String, _ type: String = "openrtb.win"
        ) -> TestRecord {
            let document: Document = [
                "auction_id": .string(auction), "seat": .string(seat), "bid_id": .string(bid),
                "price": 1, "loss_reason": 1,
            ]
            return TestRecord(document, type: type)
        }
        let different = [
            notice("ab", "c", "d"), notice("a", "bc", "d"), notice("a", "b", "cd"),
            notice("a", "", "bcd"),
            notice("A", "b", "cd"), notice("a", "b", "cd", "openrtb.loss"),
            notice("a", "b", "cd", "openrtb.billing"),
            notice("a\u{0}", "b", "cd"), notice("e\u{301}", "", "x"), notice("\u{E9}", "", "x"),
        ]
        #expect(
            try outcomes(different + different) == [
                Int64(different.count), Int64(different.count), 0,
            ])
    }

    @Test("an overflow that is refused leaves no entry")
    func overflowLeavesNoEntry() throws {
        let batch = RecordBatch([win("a", noon), win("a", noon)])
        let fold = try OverflowTests.makeBidsFold()
        fold.begin(fold.prepare(batch))
        fold.fold(0)
        fold.rejectOverflow(0)
        #expect(fold.effects.refused.map(\.reason) == ["overflow"])
        #expect(fold.deltas[0].count == 0)
        fold.clear()
        fold.fold(1)
        #expect(fold.deltas[0].count == 1)
    }
}
