/// What a batch adds to the rows of one aggregate, folded in memory before it is written.
public struct DeltaTable<Key: RowKey> {
    private let measureCount: Int
    private var keys: [Key] = []
    private var hashes: [UInt64] = []
    private var sums: [Int64] = []
    private var slots: [Int32] = Array(repeating: -1, count: 256)

    /// True once a sum of this batch no longer fits 64 bits; its value is then meaningless.
    public private(set) var hasOverflowed = false

    /// Makes an empty table.
    public init() {
        measureCount = Key.table.measures.count
    }

    /// Number of rows that the batch touches.
    public var count: Int { keys.count }

    /// Forgets all rows.
    public mutating func removeAll() {
        guard !keys.isEmpty else { return }
        keys.removeAll(keepingCapacity: true)
        hashes.removeAll(keepingCapacity: true)
        sums.removeAll(keepingCapacity: true)
        for index in slots.indices { slots[index] = -1 }
        hasOverflowed = false
    }

    /// The number of a key's row, for `add`; the row is made when it is not there.
    @inline(__always)
    public mutating func row(_ key: Key) -> Int {
        var hasher = RowHasher()
        key.combine(into: &hasher)
        let hash = hasher.value
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] >= 0 {
            let row = Int(slots[slot])
            if hashes[row] == hash, keys[row] == key { return row }
            slot = (slot + 1) & (slots.count - 1)
        }
        return insert(key, hash: hash, slot: slot)
    }

    /// Adds to a measure of a row.
    @inline(__always)
    public mutating func add(_ amount: Int64, to measure: Int, row: Int) {
        let place = row * measureCount + measure
        let (sum, overflow) = sums[place].addingReportingOverflow(amount)
        sums[place] = sum
        if overflow { hasOverflowed = true }
    }

    /// Calls `body` with each row's key and measures, in the order in which rows were first touched.
    public func forEachRow(
        _ body: (_ key: Key, _ measures: UnsafeBufferPointer<Int64>) throws -> Void
    ) rethrows {
        try sums.withUnsafeBufferPointer { sums in
            for (row, key) in keys.enumerated() {
                let range = row * measureCount..<(row + 1) * measureCount
                try body(key, UnsafeBufferPointer(rebasing: sums[range]))
            }
        }
    }

    private mutating func insert(_ key: Key, hash: UInt64, slot: Int) -> Int {
        let row = keys.count
        keys.append(key)
        hashes.append(hash)
        for _ in 0..<measureCount { sums.append(0) }
        slots[slot] = Int32(row)
        if keys.count * 2 > slots.count { grow() }
        return row
    }

    private mutating func grow() {
        slots = Array(repeating: -1, count: slots.count * 2)
        for row in keys.indices {
            var slot = Int(truncatingIfNeeded: hashes[row]) & (slots.count - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = Int32(row)
        }
    }
}
