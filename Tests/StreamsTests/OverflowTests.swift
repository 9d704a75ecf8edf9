import EventLog
import JSONReader
import Streams
import Testing

@Suite("Overflows")
struct OverflowTests {
    static func makeBidsFold() throws -> BidsFold {
        BidsFold(
            topic: "bids",
            configuration: .init(dedupeWindowMilliseconds: 3_600_000, maxRecordBytes: 1_048_576),
            parser: try #require(JSONParser()))
    }

    private func key(_ symbols: inout SymbolTable) -> OutcomeKey {
        OutcomeKey(partition: 0, hour: Hour(hoursSince1970: 0), topic: symbols.intern("t" as StaticString), type: .empty)
    }

    @Test("a table reports a sum that leaves 64 bits, at either end, and only then")
    func tableReports() {
        var symbols = SymbolTable()
        for (first, second, overflows) in [
            (Int64.max, 1, true), (.max - 1, 1, false), (.min, -1, true), (.min, 0, false), (.max, -1, false),
        ] as [(Int64, Int64, Bool)] {
            var table = DeltaTable<OutcomeKey>()
            let row = table.row(key(&symbols))
            table.add(first, to: 1, row: row)
            #expect(!table.hasOverflowed)
            table.add(second, to: 1, row: row)
            #expect(table.hasOverflowed == overflows)
            table.removeAll()
            #expect(!table.hasOverflowed)
            #expect(table.count == 0)
        }
    }

    @Test("measures and rows do not spill into each other")
    func rowsAreApart() {
        var table = DeltaTable<OutcomeKey>()
        var expected: [Int64: [Int64]] = [:]
        var random = SeededGenerator(seed: 3)
        for _ in 0..<20_000 {
            let hour = Int64.random(in: 0..<2_000, using: &random)
            let measure = Int.random(in: 0..<5, using: &random)
            let amount = Int64.random(in: -9...9, using: &random)
            let key = OutcomeKey(partition: Int32(hour % 3), hour: Hour(hoursSince1970: hour), topic: .empty, type: .empty)
            let row = table.row(key)
            table.add(amount, to: measure, row: row)
            expected[hour, default: Array(repeating: 0, count: 5)][measure] += amount
        }
        var found: [Int64: [Int64]] = [:]
        table.forEachRow { key, measures in
            #expect(found[key.hour.hoursSince1970] == nil)
            found[key.hour.hoursSince1970] = Array(measures)
        }
        #expect(found == expected)
        #expect(table.count == expected.count)
    }

    @Test("a batch whose own sums leave 64 bits says so")
    func batchOverflows() throws {
        // 1,000 bids of the highest price are 10^15 micros; Int64 holds 9.2 million bids of them.
        let bid: Document = ["price": 1_000_000]
        let bids = Document.array(Array(repeating: bid, count: 60_000))
        let fold = try Self.makeBidsFold()
        let records = (0..<160).map { number in
            let auction: Document = [
                "request": ["id": .string("\(number)")], "response": ["seatbid": [["bid": bids]]],
            ]
            return TestRecord(auction)
        }
        var overflowed: Int?
        for (number, record) in records.enumerated() where overflowed == nil {
            fold.begin(fold.prepare(RecordBatch([record])))
            fold.fold(0)
            if fold.hasOverflowed { overflowed = number }
        }
        // 153 auctions are 9.18 * 10^18 micros, one more is 9.24 * 10^18.
        #expect(overflowed == 153)
        fold.rejectOverflow(0)
        #expect(!fold.hasOverflowed)
        #expect(fold.effects.refused.map(\.reason) == ["overflow"])
    }
}
