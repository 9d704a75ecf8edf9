import Foundation
import GRDB
import Streams

/// The blocks of 24-byte entries that a dedupe memory is stored in: one for each large batch, while
/// small batches share one.
enum DedupeBlock {
    /// A block below this size takes the next batch's entries too.
    private static let sharedBytes = 16_384
    private static let entryBytes = 24

    static func append(
        _ entries: [DedupeWindow.Entry], progress: PartitionProgress, horizonMilliseconds: Int64,
        to db: Database
    ) throws {
        try db.cachedStatement(
            sql: "DELETE FROM dedupe WHERE partition = ? AND max_timestamp_ms < ?"
        ).execute(arguments: [progress.partition, horizonMilliseconds])
        guard let newest = entries.map(\.timestampMilliseconds).max() else { return }
        let (bytes, partition) = (MemoryValue.bytes(encode(entries)), Int64(progress.partition))
        try StatementRow(
            db.cachedStatement(
                sql: """
                    UPDATE dedupe SET entries = CAST(entries || ? AS BLOB),
                      max_timestamp_ms = max(max_timestamp_ms, ?)
                    WHERE partition = ?3 AND length(entries) < \(sharedBytes) AND first_offset =
                      (SELECT max(first_offset) FROM dedupe WHERE partition = ?3)
                    """)
        ).run([bytes, .integer(newest), .integer(partition)])
        guard db.changesCount == 0 else { return }
        try StatementRow(db.cachedStatement(sql: "INSERT INTO dedupe VALUES (?, ?, ?, ?)")).run([
            .integer(partition), .integer(progress.nextOffset - progress.records),
            .integer(newest), bytes,
        ])
    }

    /// When a configuration with another window begins, drops what was dead under the old one: blocks
    /// hold dead entries for a while, which must not come alive again.
    static func keepAlive(
        partition: Int32, under configuration: FoldConfiguration, in db: Database
    ) throws {
        guard let window = configuration.dedupeWindowMilliseconds,
            let last = try StoreReader.epochs(db, partition: partition).last,
            let oldWindow = last.configuration.dedupeWindowMilliseconds, oldWindow != window,
            let state = try StoreReader.partitionStates(db).first(where: {
                $0.partition == partition
            })
        else { return }
        let oldest = state.watermarkMilliseconds - oldWindow
        let alive = try entries(of: partition, in: db).filter {
            $0.timestampMilliseconds >= oldest
        }
        try db.execute(sql: "DELETE FROM dedupe WHERE partition = ?", arguments: [partition])
        guard let newest = alive.map(\.timestampMilliseconds).max() else { return }
        try db.execute(
            sql: "INSERT INTO dedupe VALUES (?, ?, ?, ?)",
            arguments: [partition, state.nextOffset - 1, newest, Data(encode(alive))])
    }

    static func entries(of partition: Int32, in db: Database) throws -> [DedupeWindow.Entry] {
        try Row.fetchAll(
            db, sql: "SELECT entries FROM dedupe WHERE partition = ? ORDER BY first_offset",
            arguments: [partition]
        ).flatMap { row in entries([UInt8](row[0] as Data)) }
    }

    private static func entries(_ block: [UInt8]) -> [DedupeWindow.Entry] {
        block.withUnsafeBytes { bytes in
            stride(from: 0, through: bytes.count - entryBytes, by: entryBytes).map { start in
                DedupeWindow.Entry(
                    id: RecordID(bytes, at: start),
                    timestampMilliseconds: Int64(
                        littleEndian: bytes.loadUnaligned(
                            fromByteOffset: start + 16, as: Int64.self)))
            }
        }
    }

    private static func encode(_ entries: [DedupeWindow.Entry]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: entries.count * entryBytes) { bytes, count in
            let bytes = UnsafeMutableRawBufferPointer(bytes)
            for entry in entries {
                entry.id.write(to: bytes, at: count)
                bytes.storeBytes(
                    of: entry.timestampMilliseconds.littleEndian, toByteOffset: count + 16,
                    as: Int64.self)
                count += entryBytes
            }
        }
    }
}

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
    /// The 16 bytes that ids are stored as.
    func write(to bytes: UnsafeMutableRawBufferPointer, at start: Int = 0) {
        bytes.storeBytes(of: high.bigEndian, toByteOffset: start, as: UInt64.self)
        bytes.storeBytes(of: low.bigEndian, toByteOffset: start + 8, as: UInt64.self)
    }

    /// Reads what `write` wrote.
    init(_ bytes: UnsafeRawBufferPointer, at start: Int = 0) {
        func word(_ place: Int) -> UInt64 {
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        }
        self.init(high: word(start), low: word(start + 8))
    }

    var bytes: Data {
        var bytes = Data(count: 16)
        bytes.withUnsafeMutableBytes { write(to: $0) }
        return bytes
    }

    /// Zeros for what is no id.
    init(bytes: Data) {
        self = bytes.withUnsafeBytes { $0.count >= 16 ? RecordID($0) : RecordID(high: 0, low: 0) }
    }
}
