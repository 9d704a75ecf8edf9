/// The amounts that a batch adds to the rows of one aggregate, folded in memory before they are written.
///
/// Rows stay known after the batch, with sums of 0, because most batches touch the rows of the previous one. The number
/// of rows is bounded: beyond the bound all are forgotten. Stores use this class; `DeltaTable` knows the keys.
package class Deltas {
    package let table: AggregateTable
    fileprivate let measureCount: Int
    /// The measures of all rows, row after row.
    fileprivate final var sums: [Int64] = []
    /// The last contribution to each row.
    fileprivate final var standings: [RowStanding] = []
    fileprivate final var touched: [Int] = []
    private final var contributions: [RowContribution] = []
    /// The measures of contributions, each once.
    private final var measureSets: [AddedMeasures] = [[]]
    /// The row of the last `row` or `add`, and the measures to which the record has added so far.
    private final var openRow = -1
    private final var openMeasures: AddedMeasures = []
    /// Whether the open contribution may go on with the row's previous one.
    private final var mayGoOn = false
    /// The partition of the last record, and the first offset of the batch in it.
    private final var partition: Int32 = -1
    private final var firstOffset: Int64 = 0
    private final var firstOffsets: [Int32: Int64] = [:]
    /// False if the offsets of the batch are too far apart to note them.
    package private(set) final var hasContributions = true

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

    /// The number of runs of records that added to rows.
    package final var contributionCount: Int { contributions.count }

    /// Forgets the batch, and the rows unless the symbols in their keys stay valid.
    package final func removeAll(keepingRows: Bool) {
        hasOverflowed = false
        contributions.removeAll(keepingCapacity: true)
        measureSets.removeSubrange(1...)
        (openRow, openMeasures) = (-1, [])
        partition = -1
        firstOffsets.removeAll(keepingCapacity: true)
        hasContributions = true
        guard keepingRows, standings.count < 32_768 else { return forgetRows() }
        for row in touched {
            standings[row] = RowStanding()
            for index in row * measureCount..<(row + 1) * measureCount { sums[index] = 0 }
        }
        touched.removeAll(keepingCapacity: true)
    }

    fileprivate func forgetRows() {
        touched.removeAll()
        standings.removeAll()
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
            if row != openRow { reopen(row) }
            openMeasures.formUnion(AddedMeasures(measure: measure))
            if amount < 0 { openMeasures.formUnion(.negative) }
        }
    }

    /// Notes that a record touches a row.
    @inline(__always)
    fileprivate final func touch(_ row: Int, at position: FoldPosition) {
        if position.partition != partition { begin(position) }
        let offset = self.offset(of: position)
        if openRow >= 0 {
            if openRow == row, contributions[Int(standings[row].last)].first == offset { return }
            close()
        }
        let standing = standings[row]
        if standing.last < 0 {
            touched.append(row)
        } else if standing.end == offset &+ 1 {
            // The record has touched another row since.
            return reopen(row)
        }
        append(RowContribution(first: offset, previous: standing.last), toRow: row)
        mayGoOn = standing.last >= 0 && standing.end == offset
    }

    /// The offset of a record, from the partition's first one.
    @inline(__always)
    private final func offset(of position: FoldPosition) -> UInt32 {
        let offset = position.offset - firstOffset
        if offset < 0 || offset >= Int64(UInt32.max) { hasContributions = false }
        return UInt32(truncatingIfNeeded: offset)
    }

    @inline(__always)
    private final func append(_ contribution: RowContribution, toRow row: Int) {
        standings[row] = RowStanding(
            last: Int32(contributions.count), end: contribution.end)
        contributions.append(contribution)
        openRow = row
        openMeasures = []
        mayGoOn = true
    }

    private final func begin(_ position: FoldPosition) {
        partition = position.partition
        firstOffset = firstOffsets[partition] ?? position.offset
        firstOffsets[partition] = firstOffset
    }

    /// Ends what the record adds to the open row. A run goes on if the record before has added to the same measures.
    @inline(__always)
    private final func close() {
        let last = Int(standings[openRow].last)
        let measures = number(of: openMeasures)
        contributions[last].measures = measures
        let previous = Int(contributions[last].previous)
        if mayGoOn, previous >= 0, contributions[previous].measures == measures,
            contributions[previous].end == contributions[last].first,
            contributions[previous].count < .max, last == contributions.count - 1
        {
            contributions[previous].count += 1
            contributions.removeLast()
            standings[openRow].last = Int32(previous)
        }
        openRow = -1
    }

    @inline(__always)
    private final func number(of measures: AddedMeasures) -> UInt16 {
        if let number = measureSets.firstIndex(of: measures) { return UInt16(number) }
        guard measureSets.count < UInt16.max else {
            hasContributions = false
            return 0
        }
        measureSets.append(measures)
        return UInt16(measureSets.count - 1)
    }

    /// Goes on with what the last record of a row adds to it.
    private final func reopen(_ row: Int) {
        if openRow >= 0 { close() }
        let last = Int(standings[row].last)
        let measures = measureSets[Int(contributions[last].measures)]
        if contributions[last].count > 1 {
            contributions[last].count -= 1
            append(
                RowContribution(first: contributions[last].end, previous: Int32(last)), toRow: row)
        }
        openRow = row
        openMeasures = measures
        mayGoOn = true
    }

    /// Calls `body` with each run of records that added to a row, from the last to the first: the offsets of records, one
    /// after the other, and the measures to which each has added.
    package final func forEachContribution(
        toRow row: Int, _ body: (_ first: Int64, _ count: Int, _ measures: AddedMeasures) -> Void
    ) {
        if openRow >= 0 { close() }
        let first = firstOffsets[partitionHour(ofRow: row).partition] ?? 0
        contributions.withUnsafeBufferPointer { contributions in
            var index = standings[row].last
            while index >= 0 {
                let contribution = contributions[Int(index)]
                if contribution.measures != 0 {
                    body(
                        first + Int64(contribution.first), Int(contribution.count),
                        measureSets[Int(contribution.measures)])
                }
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

/// The last contribution to a row in a batch.
private struct RowStanding {
    /// The index of the row's last contribution; negative for a row that the batch does not touch.
    var last: Int32 = -1
    /// The end of that contribution.
    var end: UInt32 = 0
}

/// Consecutive records that touch a row in the same measures.
private struct RowContribution {
    static let mostMeasures = 63

    /// Offsets from the partition's first one.
    let first: UInt32
    /// The row's contribution before this one; negative for its first.
    let previous: Int32
    /// The number of a set of measures.
    var measures: UInt16 = 0
    var count: UInt16 = 1

    init(first: UInt32, previous: Int32) {
        self.first = first
        self.previous = previous
    }

    /// The offset after the last record.
    var end: UInt32 { first &+ UInt32(count) }
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
        touch(row, at: position)
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
        standings.append(RowStanding())
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
