import EventLog
import Streams
import Testing

@Suite("Duplicates of bids")
struct BidsDedupeTests {
    private let hour: Int64 = 3_600_000
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

    @Test("an entry at the very edge of the window is alive, a millisecond older it is dead")
    func boundary() throws {
        #expect(try outcomes([win("a", noon), win("a", noon + hour)]) == [1, 1, 0])
        #expect(try outcomes([win("a", noon), win("a", noon + hour + 1)]) == [2, 0, 0])
        #expect(
            try outcomes([win("a", noon), win("x", noon + hour), win("a", noon)]) == [2, 1, 0])
        #expect(
            try outcomes([win("a", noon), win("x", noon + hour + 1), win("a", noon)]) == [3, 0, 0])
    }

    @Test("a duplicate does not refresh its entry")
    func noRefresh() throws {
        #expect(
            try outcomes([
                win("a", noon), win("a", noon + hour), win("a", noon + hour + 1),
                win("a", noon + 2 * hour),
            ]) == [2, 2, 0])
    }

    @Test("a record older than the window leaves an entry that is dead at once")
    func lateRecords() throws {
        #expect(
            try outcomes([win("x", noon), win("a", noon - hour - 1), win("a", noon - hour - 1)])
                == [3, 0, 0])
        #expect(
            try outcomes([win("x", noon), win("a", noon - hour), win("a", noon - hour)]) == [
                2, 1, 0,
            ])
    }

    @Test("refused records move the watermark: malformed, unknown, tombstones")
    func refusedMoveWatermark() throws {
        let refused = [
            TestRecord("{", timestamp: noon + hour + 1),
            TestRecord(nil as [UInt8]?, timestamp: noon + hour + 1),
            TestRecord("{}", type: "no.such", timestamp: noon + hour + 1),
        ]
        for record in refused {
            #expect(try outcomes([win("a", noon), record, win("a", noon)]) == [2, 0, 1])
        }
    }

    @Test("a refused record leaves no entry, and a refused copy is no duplicate")
    func refusedLeaveNoEntry() throws {
        let broken = TestRecord(
            ["auction_id": "a", "bid_id": "b", "campaign": 5] as Document, type: "openrtb.win")
        #expect(try outcomes([broken, win("a", noon), broken]) == [1, 0, 2])
    }

    @Test("-1 counts as 0, as any time before 1970 does")
    func beforeTheEpoch() throws {
        #expect(try outcomes([win("a", -1), win("a", hour)]) == [1, 1, 0])
        #expect(try outcomes([win("a", -1), win("a", hour + 1)]) == [2, 0, 0])
        #expect(try outcomes([win("a", .min), win("a", 0)]) == [1, 1, 0])
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

    @Test("a partition knows nothing of another's ids")
    func partitions() throws {
        #expect(
            try outcomes([
                win("a", noon), win("a", noon).inPartition(1), win("a", noon).inPartition(1),
            ]) == [2, 1, 0])
        #expect(
            try outcomes([
                win("a", noon), win("x", noon + 2 * hour).inPartition(1), win("a", noon),
            ]) == [2, 1, 0])
    }

    @Test("a window of 0 forgets as soon as time moves on")
    func noWindow() throws {
        let result = try foldBids(
            [win("a", noon), win("a", noon), win("a", noon + 1)], windowMilliseconds: 0)
        #expect(result.outcome(.accepted) == 2)
    }

    @Test("an overflow that is refused leaves no entry")
    func overflowLeavesNoEntry() throws {
        let batch = RecordBatch([win("a", noon), win("a", noon)])
        let fold = try OverflowTests.makeBidsFold()
        fold.begin(fold.prepare(batch))
        fold.fold(0)
        fold.rejectOverflow(0)
        #expect(fold.effects.refused.map(\.reason) == ["overflow"])
        #expect(fold.bids.count == 0)
        fold.clear()
        fold.fold(1)
        #expect(fold.bids.count == 1)
    }
}
