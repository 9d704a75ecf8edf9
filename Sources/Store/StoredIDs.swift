import Foundation
import GRDB
import Streams

/// The ids of a table that are remembered for ever: on disk, with a small filter in memory that recognises
/// nearly all new ids.
final class StoredIDs {
    private unowned let store: AggregateStore
    private let table: MemoryTable
    private var filter = IDFilter(capacity: 0)

    init(store: AggregateStore, table: MemoryTable) throws(StoreError) {
        self.store = store
        self.table = table
        try fillFilter()
    }

    /// False for an id that is certainly not in the table.
    func mayContain(_ id: RecordID, partition: Int32) -> Bool {
        filter.mayContain(id, partition: partition)
    }

    /// Number of ids that are stored.
    private(set) var count = 0

    /// Adds an id that is being stored to the filter.
    func insert(_ id: RecordID, partition: Int32) {
        filter.insert(id, partition: partition)
    }

    /// Counts ids that were stored and had not been there before, and makes the filter larger when it has
    /// become too full to be of use. Not to be called within a commit.
    func noteStored(_ newIDs: Int) throws(StoreError) {
        count += newIDs
        if filter.isFull { try fillFilter() }
    }

    private func fillFilter() throws(StoreError) {
        (count, filter) = try store.read { db in
            let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table.name)") ?? 0
            var filter = IDFilter(capacity: count * 2)
            let rows = try Row.fetchCursor(db, sql: "SELECT partition, id FROM \(table.name)")
            while let row = try rows.next() {
                let bytes: Data = row[1]
                filter.insert(RecordID(bytes: bytes), partition: row[0])
            }
            return (count, filter)
        }
    }
}

/// A blocked Bloom filter: 16 bits an id, all of an id's bits in one word of 64.
struct IDFilter {
    private var words: [UInt64]
    private let capacity: Int
    private(set) var count = 0

    /// Room for `capacity` ids, and for at least 65,536.
    init(capacity: Int) {
        self.capacity = max(capacity, 65_536)
        words = Array(repeating: 0, count: self.capacity / 4)
    }

    /// True when it holds more ids than it was made for.
    var isFull: Bool { count > capacity }

    func mayContain(_ id: RecordID, partition: Int32) -> Bool {
        let (word, bits) = place(id, partition)
        return words[word] & bits == bits
    }

    mutating func insert(_ id: RecordID, partition: Int32) {
        let (word, bits) = place(id, partition)
        if words[word] & bits != bits { count += 1 }
        words[word] |= bits
    }

    private func place(_ id: RecordID, _ partition: Int32) -> (word: Int, bits: UInt64) {
        let mixed = id.high &+ UInt64(truncatingIfNeeded: partition) &* 0x9E37_79B9_7F4A_7C15
        let word = Int(mixed.multipliedFullWidth(by: UInt64(words.count)).high)
        let bits = (0..<4).reduce(UInt64(0)) { $0 | 1 << (id.low >> (UInt64($1) * 6) & 63) }
        return (word, bits)
    }
}

extension RecordID {
    var bytes: Data {
        var bytes = Data(capacity: 16)
        withUnsafeBytes(of: high.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: low.bigEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// Reads what `bytes` wrote.
    init(bytes: Data) {
        let words = bytes.withUnsafeBytes { bytes in
            (0..<2).map { word in
                bytes.count >= 16
                    ? UInt64(
                        bigEndian: bytes.loadUnaligned(
                            fromByteOffset: word * 8, as: UInt64.self)) : 0
            }
        }
        self.init(high: words[0], low: words[1])
    }
}
