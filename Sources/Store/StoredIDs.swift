import Foundation
import GRDB
import Streams

/// The permanently remembered ids of a table: on disk, with a small filter in memory that recognises nearly all new
/// ids.
final class StoredIDs {
    private unowned let store: AggregateStore
    private let table: MemoryTable
    private var filter = IDFilter(capacity: 0)
    /// Finds the rows of ids; nil for a file of an earlier version, where rows are in the order of their ids.
    private let index: IDIndex?
    /// Whether a transaction that has changed the index has failed.
    private var isStale = false
    private var hasWritten = false
    private var countBefore = 0
    private var storedCount = 0

    init(store: AggregateStore, table: MemoryTable) throws(StoreError) {
        self.store = store
        self.table = table
        index = try store.read { try IDIndex.isInFile(of: table, $0) } ? IDIndex(of: table) : nil
        try store.read { try fill($0) }
    }

    var isIndexed: Bool { index != nil }

    /// The number of ids.
    var count: Int { index?.count ?? storedCount }

    /// False for an id that is certainly not in the table.
    func mayContain(_ id: RecordID, partition: Int32) -> Bool {
        isStale || filter.mayContain(IDKey(id, partition: partition))
    }

    /// The offset in the row of an id; nil without a row. Requires an index.
    func offset(of id: RecordID, partition: Int32, _ db: Database) throws -> Int64? {
        if isStale { try fill(db) }
        return try index?.offset(of: IDKey(id, partition: partition), db)
    }

    /// Begins a transaction. Only one is open at a time.
    func begin(_ db: Database) throws {
        if isStale { try fill(db) }
        hasWritten = false
        countBefore = count
    }

    /// Adds an id while its row is being stored.
    func add(_ id: RecordID, partition: Int32, offset: Int64, isNew: Bool) {
        let key = IDKey(id, partition: partition)
        filter.insert(key)
        index?.add(key, offset: offset, isNew: isNew)
        if index == nil, isNew { storedCount += 1 }
    }

    /// The state of the open transaction, to return to.
    var mark: (rows: Int, ids: Int) { (index?.addedCount ?? 0, count) }

    func takeBack(to mark: (rows: Int, ids: Int)) {
        index?.takeBack(toCount: mark.rows, ids: mark.ids)
        storedCount = mark.ids
    }

    /// Writes the index of the rows of the open transaction, as its last change.
    func write(_ db: Database) throws {
        hasWritten = true
        try index?.write(db)
    }

    /// The open or last transaction has failed.
    func rollBack() {
        if hasWritten, isIndexed { isStale = true } else { takeBack(to: (0, countBefore)) }
    }

    /// Whether the filter is too full to be useful.
    var needsRoom: Bool { filter.isFull }

    /// Enlarges the filter. Not to be called within a commit.
    func makeRoom() throws(StoreError) {
        try store.read { try fill($0) }
    }

    private func fill(_ db: Database) throws {
        // Frees the memory of the present filter before the larger one takes its own.
        filter = IDFilter(capacity: 0)
        isStale = true
        if let index {
            var filter = IDFilter(capacity: try index.storedCount(db) * 2)
            try index.load(db) { filter.insert($0) }
            self.filter = filter
        } else {
            storedCount = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table.name)") ?? 0
            var filter = IDFilter(capacity: storedCount * 2)
            let rows = try Row.fetchCursor(db, sql: "SELECT partition, id FROM \(table.name)")
            while let row = try rows.next() {
                let bytes: Data = row[1]
                filter.insert(IDKey(RecordID(bytes: bytes), partition: row[0]))
            }
            self.filter = filter
        }
        isStale = false
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

    func mayContain(_ key: IDKey) -> Bool {
        let (word, bits) = slot(key)
        return words[word] & bits == bits
    }

    mutating func insert(_ key: IDKey) {
        let (word, bits) = slot(key)
        if words[word] & bits != bits { count += 1 }
        words[word] |= bits
    }

    private func slot(_ key: IDKey) -> (word: Int, bits: UInt64) {
        let word = Int(key.high.multipliedFullWidth(by: UInt64(words.count)).high)
        // One after the other: an array of the four would be an allocation.
        let (one, low) = (UInt64(1), key.low)
        var bits = one << (low & 63)
        bits |= one << (low >> 6 & 63)
        bits |= one << (low >> 12 & 63)
        bits |= one << (low >> 18 & 63)
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
