/// What a batch adds to the rows of one aggregate, folded in memory before it is written.
///
/// A row stays known when the batch is forgotten, with sums of 0: most batches touch the rows of the one
/// before. The rows are bounded: when there are too many, all are forgotten and counted anew.
package struct DeltaTable<Key: RowKey> {
    private struct Row {
        var key: Key
        var isTouched: Bool
    }

    private static var bound: Int { 65_536 }

    private let measureCount: Int
    private var rows: [Row] = []
    /// The measures of all rows, one row behind the other.
    private var sums: [Int64] = []
    private var slots: [Int32] = Array(repeating: -1, count: 256)
    /// The rows that the batch touches.
    private var touched: [Int] = []

    /// Under one generation, a row's index stands for the same key.
    package private(set) var generation = RowGeneration()

    /// True once a sum of this batch no longer fits 64 bits; its value is then meaningless.
    package private(set) var hasOverflowed = false

    /// Makes an empty table.
    package init() {
        measureCount = Key.table.measures.count
    }

    /// Number of rows that the batch touches.
    package var count: Int { touched.count }

    /// Forgets the batch, and the rows too unless the symbols in their keys stay valid.
    package mutating func removeAll(keepingRows: Bool) {
        hasOverflowed = false
        guard keepingRows, rows.count < Self.bound else { return forgetRows() }
        for row in touched {
            rows[row].isTouched = false
            for place in row * measureCount..<(row + 1) * measureCount { sums[place] = 0 }
        }
        touched.removeAll(keepingCapacity: true)
    }

    private mutating func forgetRows() {
        touched.removeAll()
        rows.removeAll()
        sums.removeAll()
        slots = Array(repeating: -1, count: 256)
        generation = RowGeneration()
    }

    /// The index of a key's row, for `add`; the row is made when it is not there.
    @inline(__always)
    package mutating func row(_ key: Key) -> Int {
        var slot = home(key)
        while slots[slot] >= 0 {
            let row = Int(slots[slot])
            if rows[row].key == key {
                if !rows[row].isTouched { touch(row) }
                return row
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return insert(key, slot: slot)
    }

    /// Adds to a measure of a row that the batch touches.
    @inline(__always)
    package mutating func add(_ amount: Int64, to measure: Int, row: Int) {
        let place = row * measureCount + measure
        let (sum, overflow) = sums[place].addingReportingOverflow(amount)
        sums[place] = sum
        if overflow { hasOverflowed = true }
    }

    /// Calls `body` with each row that the batch touches: its index, key and measures. The rows come in
    /// the order in which they became known, which is the order in which a new store numbers them.
    package func forEachRow(
        _ body: (_ row: Int, _ key: Key, _ measures: UnsafeBufferPointer<Int64>) throws -> Void
    ) rethrows {
        // Where a batch touches much of what is known, looking at each row is cheaper than sorting.
        let looksAtEach = touched.count * 16 > rows.count
        let ordered = looksAtEach ? [] : touched.sorted()
        try sums.withUnsafeBufferPointer { sums in
            for place in 0..<(looksAtEach ? rows.count : ordered.count) {
                let row = looksAtEach ? place : ordered[place]
                guard rows[row].isTouched else { continue }
                let range = row * measureCount..<(row + 1) * measureCount
                try body(row, rows[row].key, UnsafeBufferPointer(rebasing: sums[range]))
            }
        }
    }

    /// The slot where the search for a key begins.
    @inline(__always)
    private func home(_ key: Key) -> Int {
        var hasher = RowHasher()
        key.combine(into: &hasher)
        return Int(truncatingIfNeeded: hasher.value) & (slots.count - 1)
    }

    private mutating func touch(_ row: Int) {
        rows[row].isTouched = true
        touched.append(row)
    }

    private mutating func insert(_ key: Key, slot: Int) -> Int {
        let row = rows.count
        rows.append(Row(key: key, isTouched: true))
        touched.append(row)
        for _ in 0..<measureCount { sums.append(0) }
        slots[slot] = Int32(row)
        if rows.count * 2 > slots.count { grow() }
        return row
    }

    private mutating func grow() {
        slots = Array(repeating: -1, count: slots.count * 2)
        for row in rows.indices {
            var slot = home(rows[row].key)
            while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = Int32(row)
        }
    }
}

/// Tells the rows that a `DeltaTable` knows from those that it knew before it forgot them; compared by
/// identity.
package final class RowGeneration: Sendable {
    /// Begins a generation.
    package init() {}
}
