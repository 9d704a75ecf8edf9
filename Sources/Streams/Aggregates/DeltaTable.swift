/// The amounts that a batch adds to the rows of one aggregate, folded in memory before they are written.
///
/// Rows stay known after the batch, with sums of 0, because most batches touch the rows of the previous one. The number
/// of rows is bounded: beyond the bound all are forgotten. Stores use this class; `DeltaTable` knows the keys.
package class Deltas {
    package let table: AggregateTable
    fileprivate let measureCount: Int
    /// The measures of all rows, row after row.
    fileprivate final var sums: [Int64] = []
    /// The index of each row's last contribution; negative for a row that the batch does not touch.
    fileprivate final var lastContributions: [Int32] = []
    fileprivate final var touched: [Int] = []
    private final var contributions: [RowContribution] = []

    /// Within one generation, a row's index refers to the same key.
    package fileprivate(set) final var generation = RowGeneration()

    /// True once a sum of this batch exceeds 64 bits; its value is then meaningless.
    package fileprivate(set) final var hasOverflowed = false

    fileprivate init(_ table: AggregateTable) {
        precondition(
            table.measures.count <= RowContribution.mostMeasures, "measures are bits of a word")
        self.table = table
        measureCount = table.measures.count
    }

    package final var count: Int { touched.count }

    /// The number of pairs of a record and a row to which it added.
    package final var contributionCount: Int { contributions.count }

    /// Forgets the batch, and the rows unless the symbols in their keys stay valid.
    package final func removeAll(keepingRows: Bool) {
        hasOverflowed = false
        contributions.removeAll(keepingCapacity: true)
        guard keepingRows, isWorthKeeping else { return forgetRows() }
        for row in touched {
            lastContributions[row] = -1
            for index in row * measureCount..<(row + 1) * measureCount { sums[index] = 0 }
        }
        touched.removeAll(keepingCapacity: true)
    }

    /// Whether a good part of the rows is of the present hours, or they are few. A row has some 250 bytes.
    private var isWorthKeeping: Bool {
        let count = lastContributions.count
        return count < 16_384 || (count < 65_536 && count < touched.count * 4)
    }

    fileprivate func forgetRows() {
        touched.removeAll()
        lastContributions.removeAll()
        sums.removeAll()
        generation = RowGeneration()
    }

    @inline(__always)
    fileprivate final func add(_ amount: Int64, toMeasure measure: Int, row: Int) {
        let index = row * measureCount + measure
        let (sum, overflow) = sums[index].addingReportingOverflow(amount)
        sums[index] = sum
        if overflow { hasOverflowed = true }
        if amount != 0 {
            contributions[Int(lastContributions[row])].add(measure, isNegative: amount < 0)
        }
    }

    /// Notes that a record touches a row.
    @inline(__always)
    fileprivate final func touch(_ row: Int, offset: Int64) {
        let last = lastContributions[row]
        if last < 0 {
            touched.append(row)
        } else if contributions[Int(last)].offset == offset {
            return
        }
        lastContributions[row] = Int32(contributions.count)
        contributions.append(RowContribution(offset: offset, previous: last))
    }

    /// Calls `body` with each record that added to a row, from the last to the first.
    package final func forEachContribution(
        toRow row: Int, _ body: (_ offset: Int64, _ measures: AddedMeasures) -> Void
    ) {
        contributions.withUnsafeBufferPointer { contributions in
            var index = lastContributions[row]
            while index >= 0 {
                let contribution = contributions[Int(index)]
                if contribution.measures != [] { body(contribution.offset, contribution.measures) }
                index = contribution.previous
            }
        }
    }

    /// Calls `body` with each row that the batch touches: its index and measures.
    package final func forEachRow(
        _ body: (_ row: Int, _ measures: UnsafeBufferPointer<Int64>) throws -> Void
    ) rethrows {
        for row in touched { try withMeasures(ofRow: row) { try body(row, $0) } }
    }

    package final func withMeasures<Result>(
        ofRow row: Int, _ body: (UnsafeBufferPointer<Int64>) throws -> Result
    ) rethrows -> Result {
        try sums.withUnsafeBufferPointer { sums in
            try body(
                UnsafeBufferPointer(rebasing: sums[row * measureCount..<(row + 1) * measureCount]))
        }
    }

    package func partitionHour(ofRow row: Int) -> (partition: Int32, hour: Hour) {
        preconditionFailure("a table of deltas knows its keys")
    }

    /// The first row of the generation with the key of this row, in any partition and hour.
    package func firstRow(likeRow row: Int) -> Int {
        preconditionFailure("a table of deltas knows its keys")
    }

    /// Calls `body` with the value of each of the table's columns, in order.
    package func forEachColumn(ofRow row: Int, _ body: (ColumnValue) -> Void) {
        preconditionFailure("a table of deltas knows its keys")
    }
}

/// The measures of a row to which a record added an amount other than 0, as bits in the order of the table.
package struct AddedMeasures: OptionSet, Hashable, Sendable {
    /// Whether an amount was negative.
    package static let negative = AddedMeasures(rawValue: 1 << 63)

    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// One measure, by its index in the table.
    @inline(__always)
    package init(measure: Int) { rawValue = 1 << UInt64(truncatingIfNeeded: measure) }
}

/// A record that touches a row.
private struct RowContribution {
    static let mostMeasures = 63

    let offset: Int64
    private(set) var measures: AddedMeasures = []
    /// The row's contribution before this one; negative for its first.
    let previous: Int32

    init(offset: Int64, previous: Int32) {
        self.offset = offset
        self.previous = previous
    }

    @inline(__always)
    mutating func add(_ measure: Int, isNegative: Bool) {
        measures.formUnion(AddedMeasures(measure: measure))
        if isNegative { measures.formUnion(.negative) }
    }
}

/// `Deltas` with the keys of one aggregate.
package final class DeltaTable<Key: RowKey>: Deltas {
    private struct Row {
        var partition: Int32
        var hour: Hour
        var key: Key
        /// The first row with this key.
        var first: Int32 = 0
    }

    private let ranges = Key.columns.ranges
    private var rows: [Row] = []
    private var slots = RowSlots()
    /// The slots of the first rows with their keys.
    private var firsts = RowSlots()

    package init() {
        super.init(Key.table)
    }

    /// The index of the record's row, for `add`; creates a missing row.
    @inline(__always)
    package func row(_ key: Key, at position: FoldPosition) -> Int {
        row(key, at: position, hour: position.hour)
    }

    /// The index of a row, for `add` of what the record at a position adds; creates a missing row.
    ///
    /// - Parameter hour: the time of the row; for a table of days, the first hour of the day.
    @inline(__always)
    package func row(_ key: Key, at position: FoldPosition, hour: Hour) -> Int {
        let row = index(key, partition: position.partition, hour: hour)
        touch(row, offset: position.offset)
        return row
    }

    @inline(__always)
    private func index(_ key: Key, partition: Int32, hour: Hour) -> Int {
        let hash = hash(key)
        var slot = slots.home(Self.hash(hash, partition, hour))
        while slots[slot] >= 0 {
            let row = slots[slot]
            if rows[row].hour == hour, rows[row].partition == partition, rows[row].key == key {
                return row
            }
            slot = slots.next(slot)
        }
        return insert(Row(partition: partition, hour: hour, key: key), hash: hash, slot: slot)
    }

    @inline(__always)
    package func add(_ amount: Int64, to measure: Key.Measure, row: Int) {
        add(amount, toMeasure: measure.rawValue, row: row)
    }

    @inline(__always)
    package func count(_ measure: Key.Measure, row: Int) {
        add(1, toMeasure: measure.rawValue, row: row)
    }

    @inline(__always)
    private func hash(_ key: Key) -> UInt64 {
        var hasher = RowHasher()
        withUnsafeBytes(of: key) { bytes in
            for range in ranges { hasher.combine(bytes, range) }
        }
        return hasher.value
    }

    @inline(__always)
    private static func hash(_ key: UInt64, _ partition: Int32, _ hour: Hour) -> UInt64 {
        var hasher = RowHasher()
        hasher.combine(key ^ UInt64(bitPattern: Int64(partition) << 40 ^ hour.hoursSince1970))
        return hasher.value
    }

    private func insert(_ row: Row, hash: UInt64, slot: Int) -> Int {
        let index = rows.count
        rows.append(row)
        lastContributions.append(-1)
        for _ in 0..<measureCount { sums.append(0) }
        slots.insert(index, at: slot) { row in
            Self.hash(self.hash(rows[row].key), rows[row].partition, rows[row].hour)
        }
        rows[index].first = Int32(first(index, hash: hash))
        return index
    }

    private func first(_ row: Int, hash: UInt64) -> Int {
        var slot = firsts.home(hash)
        while firsts[slot] >= 0 {
            if rows[firsts[slot]].key == rows[row].key { return firsts[slot] }
            slot = firsts.next(slot)
        }
        firsts.insert(row, at: slot) { self.hash(rows[$0].key) }
        return row
    }

    fileprivate override func forgetRows() {
        super.forgetRows()
        rows.removeAll()
        slots = RowSlots()
        firsts = RowSlots()
    }

    package override func partitionHour(ofRow row: Int) -> (partition: Int32, hour: Hour) {
        (rows[row].partition, rows[row].hour)
    }

    package override func firstRow(likeRow row: Int) -> Int { Int(rows[row].first) }

    package override func forEachColumn(ofRow row: Int, _ body: (ColumnValue) -> Void) {
        body(table.hasDays ? .day(rows[row].hour) : .hour(rows[row].hour))
        withUnsafeBytes(of: rows[row].key) { bytes in
            guard let start = bytes.baseAddress else { return }
            for field in Key.columns.all { body(field.value(start)) }
        }
    }
}

/// Indices of rows by hash, with open addressing.
private struct RowSlots {
    private var rows: [Int32] = Array(repeating: -1, count: 256)
    private var count = 0

    /// The slot where the search for a hash starts.
    @inline(__always)
    func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (rows.count - 1) }

    @inline(__always)
    func next(_ slot: Int) -> Int { (slot + 1) & (rows.count - 1) }

    /// The row in a slot; negative if the slot is free.
    @inline(__always)
    subscript(slot: Int) -> Int { Int(rows[slot]) }

    /// Puts a row in the free slot where the search for it ended.
    ///
    /// - Parameter hash: the hash of a row in this table.
    mutating func insert(_ row: Int, at slot: Int, hash: (Int) -> UInt64) {
        rows[slot] = Int32(row)
        count += 1
        guard count * 2 > rows.count else { return }
        let all = rows.filter { $0 >= 0 }
        rows = Array(repeating: -1, count: rows.count * 2)
        for row in all {
            var slot = home(hash(Int(row)))
            while rows[slot] >= 0 { slot = next(slot) }
            rows[slot] = row
        }
    }
}

/// Distinguishes a `DeltaTable`'s present rows from forgotten ones; compared by identity.
package final class RowGeneration: Sendable {}

/// Hashes keys for tables in memory. Each process has a random seed, so that clients cannot choose colliding keys.
/// Stored data never depends on the hash.
package struct RowHasher {
    private static let seed = UInt64.random(in: .min ... .max)
    private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15

    private var state = RowHasher.seed

    package init() {}

    @inline(__always)
    package var value: UInt64 { state ^ (state >> 32) }

    @inline(__always)
    package mutating func combine(_ word: UInt64) {
        let product = (state ^ word).multipliedFullWidth(by: Self.multiplier)
        state = (product.high ^ product.low) &+ 0xD6E8_FEB8_6659_FD93
    }

    @inline(__always)
    package mutating func combine(_ word: Int64) { combine(UInt64(bitPattern: word)) }

    @inline(__always)
    mutating func combine(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        var position = range.lowerBound
        while position + 8 <= range.upperBound {
            combine(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        var tail: UInt64 = 0
        while position < range.upperBound {
            tail = tail << 8 | UInt64(bytes[position])
            position += 1
        }
        combine(tail)
    }

    @inline(__always)
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = RowHasher()
        hasher.combine(UInt64(bytes.count))
        hasher.combine(bytes, 0..<bytes.count)
        return hasher.value
    }
}
