import EventLog
import JSON
import Streams
import TestKit
import Testing

/// A key of a table of numbers.
private struct NumberKey: RowKey {
    var number: Int64

    enum Measure: Int, AggregateMeasure { case first, second, third, fourth, fifth }

    static let columns: KeyColumns<Self> = [.integer("number", \.number)]
    static let table = AggregateTable("numbers", "Numbers.", columns, measures: Measure.self)
}

@Suite("Overflows")
struct OverflowTests {
    static func makeBidsFold() throws -> BidsFold {
        BidsFold(
            topic: "bids",
            rules: .init(
                stream: "bids", dedupeWindowMilliseconds: 3_600_000, maxRecordBytes: 1_048_576),
            parser: try #require(JSONParser()))
    }

    @Test("a table reports a sum that leaves 64 bits, at either end, and only then")
    func tableReports() {
        for (first, second, overflows) in [
            (Int64.max, 1, true), (.max - 1, 1, false), (.min, -1, true), (.min, 0, false),
            (.max, -1, false),
        ] as [(Int64, Int64, Bool)] {
            let table = DeltaTable<NumberKey>()
            let row = table.row(NumberKey(number: 0), partition: 0, hour: Hour(hoursSince1970: 0))
            table.add(first, to: .second, row: row)
            #expect(!table.hasOverflowed)
            table.add(second, to: .second, row: row)
            #expect(table.hasOverflowed == overflows)
            table.removeAll(keepingRows: false)
            #expect(!table.hasOverflowed)
            #expect(table.count == 0)
        }
    }

    @Test("measures and rows do not spill into each other, by number, partition and hour")
    func rowsAreApart() {
        let table = DeltaTable<NumberKey>()
        var expected: [String: [Int64]] = [:]
        var random = SeededGenerator(seed: 3)
        for _ in 0..<20_000 {
            let number = Int64.random(in: 0..<50, using: &random)
            let partition = Int32.random(in: 0..<4, using: &random)
            let hour = Hour(hoursSince1970: Int64.random(in: 0..<10, using: &random))
            let amount = Int64.random(in: -9...9, using: &random)
            guard let measure = NumberKey.Measure.allCases.randomElement(using: &random) else {
                return
            }
            let row = table.row(NumberKey(number: number), partition: partition, hour: hour)
            table.add(amount, to: measure, row: row)
            expected["\(partition) \(hour.text) \(number)", default: [0, 0, 0, 0, 0]][
                measure.rawValue] += amount
        }
        var found: [String: [Int64]] = [:]
        table.forEachRow { row, measures in
            var key = "\(table.partitionHour(ofRow: row).partition)"
            table.forEachColumn(ofRow: row) { value in
                switch value {
                case .hour(let hour): key += " " + hour.text
                case .integer(let number): key += " \(number)"
                default: Issue.record("a column of another kind")
                }
            }
            #expect(found[key] == nil)
            found[key] = Array(measures)
        }
        #expect(found == expected)
        #expect(table.count == expected.count)
    }

    @Test("padding and columns of one byte neither join rows nor split them")
    func narrowColumns() {
        let table = DeltaTable<NarrowKey>()
        for (index, flag) in [true, false, true, false].enumerated() {
            let key = NarrowKey(first: flag, number: 7, second: !flag)
            #expect(table.row(key, partition: 0, hour: Hour(hoursSince1970: 1)) == index % 2)
        }
        #expect(table.table.columns.map(\.name) == ["hour", "first", "number", "second"])
    }
}

/// A key with padding between its columns.
private struct NarrowKey: RowKey {
    var first: Bool
    var number: Int64
    var second: Bool

    enum Measure: Int, AggregateMeasure { case onlyOne }

    static let columns: KeyColumns<Self> = [
        .boolean("first", \.first), .integer("number", \.number), .boolean("second", \.second),
    ]
    static let table = AggregateTable("narrow", "Keys.", columns, measures: Measure.self)
}
