import Simulation
import Streams
import Testing

/// Makes records of the topic `bids`, good and bad ones, many of them duplicates.
struct RandomBids {
    var random: SeededGenerator
    private var time = TestRecord.halfPastFive

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func records(_ count: Int) -> [TestRecord] {
        (0..<count).map { _ in
            time += Int64.random(in: -300_000...400_000, using: &random)
            var record = record()
            record.timestamp = Int.random(in: 0..<50, using: &random) == 0 ? -1 : time
            record.partition = Int32.random(in: 0..<4, using: &random)
            return record
        }
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    private mutating func record() -> TestRecord {
        let id = Document.string("\(Int.random(in: 0..<25, using: &random))")
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return TestRecord(pick(["{", "[]", "{}", "\"\u{1}\"", ""]))
        case 1: return TestRecord(nil as [UInt8]?, type: pick([nil, "no.such", "openrtb.win"]))
        case 2...5:
            return TestRecord(
                Auction.with([
                    "request.id": id,
                    Auction.bid + ".price": .raw(pick(["1", "2.5", "-1", "1e-7"])),
                    Auction.skadn + ".version": .string(pick(["4.0", "2.2", "9"])),
                    "response.seatbid.0.seat": .string(pick(["acme", "zenith", ""])),
                ]))
        case 6:
            return TestRecord(
                [
                    "auction_id": id, "adapter": .string(pick(["x", "y"])),
                    "competition_type": "price",
                    "price": pick([1, 2, "3"]), "currency": "EUR",
                ] as Document, type: pick(["inapp.bid", "inapp.bidder_won"]))
        default:
            return TestRecord(
                [
                    "auction_id": id, "bid_id": "b", "price": pick([1, 2]),
                    "loss_reason": pick([1, 2.5]),
                    "campaign": ["campaign_id": pick([1, "2", "x"])],
                ] as Document, type: pick(["openrtb.win", "openrtb.loss", "openrtb.billing"]))
        }
    }
}

@Suite("The fold of bids is a function of the log")
struct BidsPropertyTests {
    @Test(
        "however the log is cut into batches, and through restarts, the result is the same",
        arguments: 1...4 as ClosedRange<UInt64>)
    func batches(_ seed: UInt64) throws {
        var bids = RandomBids(seed: seed)
        let records = bids.records(1_500)
        let whole = try foldBids(records)
        for outcome in [Outcome.accepted, .duplicates, .rejected] {
            #expect(whole.outcome(outcome) > 50)
        }
        #expect(Outcome.allCases.reduce(0) { $0 + whole.outcome($1) } == 1_500)
        #expect(whole.rows("bid-faults").count > 3)
        for sizes in [[1], [7, 1, 100], [500], [Int.random(in: 2...400, using: &bids.random), 3]] {
            #expect(try foldBids(records, .sizes(sizes)) == whole)
            #expect(try foldBids(records, .sizes(sizes), restarts: true) == whole)
        }
    }

    @Test(
        "however partitions are interleaved, each gives the same",
        arguments: 5...7 as ClosedRange<UInt64>)
    func interleaving(_ seed: UInt64) throws {
        var bids = RandomBids(seed: seed)
        let records = bids.records(1_000)
        let whole = try foldBids(records)
        let byPartition = Dictionary(grouping: records, by: \.partition)
        for _ in 0..<5 {
            var rests = byPartition.mapValues { $0[...] }
            var mixed: [TestRecord] = []
            while let partition = rests.filter({ !$0.value.isEmpty }).keys.sorted()
                .randomElement(using: &bids.random)
            {
                guard let record = rests[partition]?.popFirst() else { break }
                mixed.append(record)
            }
            let result = try foldBids(mixed, .sizes([33]))
            #expect(result.sums == whole.sums)
            #expect(result.watermarks == whole.watermarks)
            #expect(result.nextOffsets == whole.nextOffsets)
            for partition in byPartition.keys {
                #expect(
                    result.refused.filter { $0.partition == partition }
                        == whole.refused.filter { $0.partition == partition })
                #expect(
                    try foldBids(byPartition[partition] ?? []).sums.mapValues { $0[partition] }
                        == whole.sums.mapValues { $0[partition] }.filter { $0.value != nil })
            }
        }
    }
}
