import EventLog
import JSONReader
import Simulation
import Streams
import Testing

/// A key of a table of numbers.
private struct NumberKey: RowKey {
    var number: Int64

    static let table = AggregateTable(
        name: "numbers", columns: [.init("number", .integer)],
        measures: ["first", "second", "third", "fourth", "fifth"])

    var partition: Int32 { 0 }

    func combine(into hasher: inout RowHasher) { hasher.combine(number) }

    func forEachColumn(_ body: (ColumnValue) -> Void) { body(.integer(number)) }
}

@Suite("Overflows")
struct OverflowTests {
    static func makeBidsFold() throws -> BidsFold {
        BidsFold(
            topic: "bids",
            configuration: .init(dedupeWindowMilliseconds: 3_600_000, maxRecordBytes: 1_048_576),
            parser: try #require(JSONParser()))
    }

    @Test("a table reports a sum that leaves 64 bits, at either end, and only then")
    func tableReports() {
        for (first, second, overflows) in [
            (Int64.max, 1, true), (.max - 1, 1, false), (.min, -1, true), (.min, 0, false),
            (.max, -1, false),
        ] as [(Int64, Int64, Bool)] {
            var table = DeltaTable<NumberKey>()
            let row = table.row(NumberKey(number: 0))
            table.add(first, to: 1, row: row)
            #expect(!table.hasOverflowed)
            table.add(second, to: 1, row: row)
            #expect(table.hasOverflowed == overflows)
            table.removeAll(keepingRows: false)
            #expect(!table.hasOverflowed)
            #expect(table.count == 0)
        }
    }

    @Test("measures and rows do not spill into each other")
    func rowsAreApart() {
        var table = DeltaTable<NumberKey>()
        var expected: [Int64: [Int64]] = [:]
        var random = SeededGenerator(seed: 3)
        for _ in 0..<20_000 {
            let hour = Int64.random(in: 0..<2_000, using: &random)
            let measure = Int.random(in: 0..<5, using: &random)
            let amount = Int64.random(in: -9...9, using: &random)
            let row = table.row(NumberKey(number: hour))
            table.add(amount, to: measure, row: row)
            expected[hour, default: Array(repeating: 0, count: 5)][measure] += amount
        }
        var found: [Int64: [Int64]] = [:]
        table.forEachRow { _, key, measures in
            #expect(found[key.number] == nil)
            found[key.number] = Array(measures)
        }
        #expect(found == expected)
        #expect(table.count == expected.count)
    }
}
