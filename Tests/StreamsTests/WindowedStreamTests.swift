import EventLog
import Streams
import TestKit
import Testing

@Suite("Duplicates in a window")
struct WindowedDedupeTests {
    private let hour: Int64 = 3_600_000
    private let noon = TestRecord.halfPastFive

    /// How many are accepted, duplicates and rejected.
    private func outcomes(
        _ stream: WindowedStream, _ records: TestRecord..., window: Int64 = 3_600_000
    ) throws -> [Int64] {
        let result = try stream.fold(records, windowMilliseconds: window)
        return [.accepted, .duplicates, .rejected].map { result.outcome($0) }
    }

    @Test(
        "an entry at the very edge of the window is alive, a millisecond older it is dead",
        arguments: WindowedStream.allCases)
    func boundary(_ stream: WindowedStream) throws {
        let a = { stream.event("a", noon + $0) }
        let x = { stream.event("x", noon + $0) }
        #expect(try outcomes(stream, a(0), a(hour)) == [1, 1, 0])
        #expect(try outcomes(stream, a(0), a(hour + 1)) == [2, 0, 0])
        #expect(try outcomes(stream, a(0), x(hour), a(0)) == [2, 1, 0])
        #expect(try outcomes(stream, a(0), x(hour + 1), a(0)) == [3, 0, 0])
    }

    @Test("a duplicate does not refresh its entry", arguments: WindowedStream.allCases)
    func noRefresh(_ stream: WindowedStream) throws {
        let a = { stream.event("a", noon + $0) }
        #expect(try outcomes(stream, a(0), a(hour), a(hour + 1), a(2 * hour)) == [2, 2, 0])
    }

    @Test(
        "a record older than the window leaves an entry that is dead at once",
        arguments: WindowedStream.allCases)
    func lateRecords(_ stream: WindowedStream) throws {
        let a = { stream.event("a", noon + $0) }
        let x = stream.event("x", noon)
        #expect(try outcomes(stream, x, a(-hour - 1), a(-hour - 1)) == [3, 0, 0])
        #expect(try outcomes(stream, x, a(-hour), a(-hour)) == [2, 1, 0])
    }

    @Test(
        "refused records move the watermark: malformed, unknown, tombstones",
        arguments: WindowedStream.allCases)
    func refusedMoveWatermark(_ stream: WindowedStream) throws {
        let a = stream.event("a", noon)
        for record in [
            TestRecord("{", timestamp: noon + hour + 1),
            TestRecord(nil as [UInt8]?, timestamp: noon + hour + 1),
            TestRecord("{}", type: "no.such", timestamp: noon + hour + 1),
        ] {
            #expect(try outcomes(stream, a, record, a) == [2, 0, 1])
        }
    }

    @Test(
        "a refused record leaves no entry, and a refused copy is no duplicate",
        arguments: WindowedStream.allCases)
    func refusedLeaveNoEntry(_ stream: WindowedStream) throws {
        let broken = stream.brokenEvent("a")
        #expect(try outcomes(stream, broken, stream.event("a", noon), broken) == [1, 0, 2])
    }

    @Test("-1 counts as 0, as any time before 1970 does", arguments: WindowedStream.allCases)
    func beforeTheEpoch(_ stream: WindowedStream) throws {
        let a = { stream.event("a", $0) }
        #expect(try outcomes(stream, a(-1), a(hour)) == [1, 1, 0])
        #expect(try outcomes(stream, a(-1), a(hour + 1)) == [2, 0, 0])
        #expect(try outcomes(stream, a(.min), a(0)) == [1, 1, 0])
    }

    @Test("a partition knows nothing of another's ids", arguments: WindowedStream.allCases)
    func partitions(_ stream: WindowedStream) throws {
        let a = stream.event("a", noon)
        let later = stream.event("x", noon + 2 * hour).inPartition(1)
        #expect(try outcomes(stream, a, a.inPartition(1), a.inPartition(1)) == [2, 1, 0])
        #expect(try outcomes(stream, a, later, a) == [2, 1, 0])
    }

    @Test("a window of 0 forgets as soon as time moves on", arguments: WindowedStream.allCases)
    func noWindow(_ stream: WindowedStream) throws {
        let a = { stream.event("a", noon + $0) }
        #expect(try outcomes(stream, a(0), a(0), a(1), window: 0) == [2, 1, 0])
    }
}

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
        let prepared = fold.prepare(batch)
        try fold.fold(0, of: prepared)
        fold.rejectOverflow(0, of: prepared)
        #expect(fold.effects.refused.map(\.reason) == ["overflow"])
        #expect(fold.deltas[0].count == 0)
        fold.clear()
        try fold.fold(1, of: prepared)
        #expect(fold.deltas[0].count == 1)
    }
}

@Suite("The folds with a window are functions of the log")
struct WindowedPropertyTests {
    @Test(
        "however the log is cut into batches, and through restarts, the result is the same",
        arguments: WindowedStream.allCases, 1...2 as ClosedRange<UInt64>)
    func batches(_ stream: WindowedStream, _ seed: UInt64) throws {
        var random = RandomRecords(stream, seed: seed)
        let records = random.records(1_500)
        let whole = try stream.fold(records)
        for outcome in [Outcome.accepted, .duplicates, .rejected] {
            #expect(whole.outcome(outcome) > 30)
        }
        #expect(Outcome.allCases.reduce(0) { $0 + whole.outcome($1) } == 1_500)
        #expect(whole.rows(stream.rawValue).count > 8)
        for sizes in [
            [1], [7, 1, 100], [500], [Int.random(in: 2...400, using: &random.random), 3],
        ] {
            #expect(try stream.fold(records, .sizes(sizes)) == whole)
            #expect(try stream.fold(records, .sizes(sizes), restarts: true) == whole)
        }
    }

    @Test(
        "however partitions are interleaved, each gives the same",
        arguments: WindowedStream.allCases, 5...6 as ClosedRange<UInt64>)
    func interleaving(_ stream: WindowedStream, _ seed: UInt64) throws {
        var random = RandomRecords(stream, seed: seed)
        let records = random.records(1_000)
        let whole = try stream.fold(records)
        let byPartition = Dictionary(grouping: records, by: \.partition)
        for _ in 0..<5 {
            var rests = byPartition.mapValues { $0[...] }
            var mixed: [TestRecord] = []
            while let partition = rests.filter({ !$0.value.isEmpty }).keys.sorted()
                .randomElement(using: &random.random)
            {
                guard let record = rests[partition]?.popFirst() else { break }
                mixed.append(record)
            }
            let result = try stream.fold(mixed, .sizes([33]))
            #expect(result.sums == whole.sums)
            #expect(result.watermarks == whole.watermarks)
            #expect(result.nextOffsets == whole.nextOffsets)
            for partition in byPartition.keys {
                #expect(
                    result.refused.filter { $0.partition == partition }
                        == whole.refused.filter { $0.partition == partition })
                #expect(
                    try stream.fold(byPartition[partition] ?? []).sums.mapValues { $0[partition] }
                        == whole.sums.mapValues { $0[partition] }.filter { $0.value != nil })
            }
        }
    }
}
