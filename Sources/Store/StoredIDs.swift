import Foundation
import GRDB
import Streams

/// The permanently remembered ids of a table: on disk, with a small filter in memory that recognises nearly all new
/// ids.
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

    private(set) var count = 0

    /// Adds an id to the filter while it is being stored.
    func insert(_ id: RecordID, partition: Int32) {
        filter.insert(id, partition: partition)
    }

    /// Counts newly stored ids, and enlarges the filter once it is too full to be useful. Not to be called within a
    /// commit.
    func countStored(_ newIDs: Int) throws(StoreError) {
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

/// A blocked Bloom filter: 16 bits per id, all bits of an id in one 64-bit word.
struct IDFilter {
    private var words: [UInt64]
    private let capacity: Int
    private(set) var count = 0

    /// Room for `capacity` ids, and for at least 65,536.
    init(capacity: Int) {
        self.capacity = max(capacity, 65_536)
        words = Array(repeating: 0, count: self.capacity / 4)
    }

    /// True if it holds more ids than its capacity.
    var isFull: Bool { count > capacity }

    func mayContain(_ id: RecordID, partition: Int32) -> Bool {
        let (word, bits) = slot(id, partition)
        return words[word] & bits == bits
    }

    mutating func insert(_ id: RecordID, partition: Int32) {
        let (word, bits) = slot(id, partition)
        if words[word] & bits != bits { count += 1 }
        words[word] |= bits
    }

    private func slot(_ id: RecordID, _ partition: Int32) -> (word: Int, bits: UInt64) {
        let mixed = id.high &+ UInt64(truncatingIfNeeded: partition) &* 0x9E37_79B9_7F4A_7C15
        let word = Int(mixed.multipliedFullWidth(by: UInt64(words.count)).high)
        var bits: UInt64 = 0
        for shift: UInt64 in [0, 6, 12, 18] { bits |= 1 << (id.low >> shift & 63) }
        return (word, bits)
    }
}

extension RecordID {
    /// The 16 stored bytes of an id.
    func write(to bytes: UnsafeMutableRawBufferPointer, at start: Int = 0) {
        bytes.storeBytes(of: high.bigEndian, toByteOffset: start, as: UInt64.self)
        bytes.storeBytes(of: low.bigEndian, toByteOffset: start + 8, as: UInt64.self)
    }

    /// Reads what `write` wrote.
    init(_ bytes: UnsafeRawBufferPointer, at start: Int = 0) {
        func word(_ offset: Int) -> UInt64 {
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        self.init(high: word(start), low: word(start + 8))
    }

    var bytes: Data {
        var bytes = Data(count: 16)
        bytes.withUnsafeMutableBytes { write(to: $0) }
        return bytes
    }

    /// Zeros for bytes that are not an id.
    init(bytes: Data) {
        self = bytes.withUnsafeBytes { $0.count >= 16 ? RecordID($0) : RecordID(high: 0, low: 0) }
    }
}
