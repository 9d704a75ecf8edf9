import GRDB
import Streams

/// An id of a partition as one number. Ids are hashes, so these numbers are evenly spread too.
struct IDKey: Comparable {
    var high: UInt64
    var low: UInt64

    init(_ id: RecordID, partition: Int32) {
        high = id.high &+ UInt64(truncatingIfNeeded: partition) &* 0x9E37_79B9_7F4A_7C15
        low = id.low
    }

    fileprivate init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    static func < (left: IDKey, right: IDKey) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

/// Finds the rows of permanently remembered ids, on disk and in bounded memory.
///
/// New ids are spread evenly, so an index in their order would write a page for each of them. Here they are first
/// appended, in the order of their records, and stay in memory. From there they move to buckets, each for a part of
/// all ids. A bucket is a few sorted runs of blocks, the older the longer. Moving to a bucket writes one run and merges
/// it with earlier ones of up to twice its length. So each id is written about as often as its bucket's length can be
/// halved. Each commit moves a few buckets, so none has to move much.
///
/// Changes become part of the transaction that stores the rows. An id that is not found in the index has no row. Used
/// from the thread of its store.
final class IDIndex {
    struct Entry {
        var key: IDKey
        /// Of the record that the row is about, and part of the row's key.
        var offset: Int64

        static let byteCount = 24
    }

    private struct Run {
        var number: Int64
        var count: Int
        /// The upper half of the first id of each block.
        var firsts: [UInt64]
    }

    private static let bucketCount = 256
    /// A block fills a page of a store.
    static let entriesPerBlock = 336
    /// Ids that are added until each bucket has moved once.
    private let sweepLength: Int

    /// Added ids that have not moved, in their order, by bucket.
    private var recent = [[Entry]](repeating: [], count: bucketCount)
    /// The oldest first.
    private var runs = [[Run]](repeating: [], count: bucketCount)
    /// Ids of the open transaction.
    private var added: [Entry] = []
    private var nextBucket = 0
    /// Parts of moves that are due, in ids times buckets.
    private var due = 0
    private var nextNumber: Int64 = 0
    /// Appended ids below this number have moved once `nextBucket` is back at the first one.
    private var sweepStart: Int64 = 0
    /// The number of ids with rows.
    private(set) var count = 0

    private let runsTable: String
    private let recentTable: String

    /// - Parameter sweepLength: the most ids that are held in memory, about.
    init(of table: MemoryTable, sweepLength: Int = 262_144) {
        self.sweepLength = sweepLength
        runsTable = Self.runsTable(of: table)
        recentTable = Self.recentTable(of: table)
    }

    static func runsTable(of table: MemoryTable) -> String { "\(table.name)_runs" }

    static func recentTable(of table: MemoryTable) -> String { "\(table.name)_recent" }

    static func schema(of table: MemoryTable) -> String {
        """
        CREATE TABLE \(recentTable(of: table)) (
          -- Index of \(table.name): ids of the last commits, in order.
          number INTEGER PRIMARY KEY,
          ids INTEGER NOT NULL, -- number of all ids so far
          entries BLOB NOT NULL -- for each: id with its partition (16 bytes), offset (8); little endian
        ) STRICT;

        CREATE TABLE \(runsTable(of: table)) (
          -- Index of \(table.name): earlier ids, in sorted runs of blocks.
          block INTEGER PRIMARY KEY, -- bucket of ids << 55 | run << 28 | number
          entries BLOB NOT NULL -- as in \(recentTable(of: table))
        ) STRICT;

        """
    }

    static func isInFile(of table: MemoryTable, _ db: Database) throws -> Bool {
        try db.tableExists(runsTable(of: table))
    }

    // MARK: Reading

    /// The number of ids in the file.
    func storedCount(_ db: Database) throws -> Int {
        try Int.fetchOne(
            db, sql: "SELECT ids FROM \(recentTable) ORDER BY number DESC LIMIT 1") ?? 0
    }

    /// Reads the stored index, and calls `body` with each id.
    func load(_ db: Database, _ body: (IDKey) -> Void) throws {
        recent = [[Entry]](repeating: [], count: Self.bucketCount)
        runs = [[Run]](repeating: [], count: Self.bucketCount)
        added = []
        (nextBucket, due, nextNumber) = (0, 0, 0)
        count = try storedCount(db)
        let blocks = StatementRow(
            try db.cachedStatement(sql: "SELECT block, entries FROM \(runsTable) ORDER BY block"))
        blocks.begin()
        while try blocks.next() {
            let (bucket, number) = Self.place(ofBlock: blocks.integer(0))
            blocks.withBlob(1) { bytes in
                let entries = Entries(bytes)
                guard entries.count > 0 else { return }
                if runs[bucket].last?.number != number {
                    runs[bucket].append(Run(number: number, count: 0, firsts: []))
                }
                let last = runs[bucket].count - 1
                runs[bucket][last].count += entries.count
                runs[bucket][last].firsts.append(entries.key(0).high)
                for index in 0..<entries.count { body(entries.key(index)) }
            }
        }
        let appended = StatementRow(
            try db.cachedStatement(
                sql: "SELECT number, entries FROM \(recentTable) ORDER BY number"))
        appended.begin()
        while try appended.next() {
            nextNumber = appended.integer(0) + 1
            appended.withBlob(1) { bytes in
                let entries = Entries(bytes)
                for index in 0..<entries.count {
                    let entry = entries[index]
                    recent[Self.bucket(entry.key)].append(entry)
                    body(entry.key)
                }
            }
        }
        sweepStart = nextNumber
    }

    /// The offset of the last row that was added with an id; nil without one.
    func offset(of key: IDKey, _ db: Database) throws -> Int64? {
        let bucket = Self.bucket(key)
        if let entry = recent[bucket].last(where: { $0.key == key }) { return entry.offset }
        for run in runs[bucket].reversed() {
            // Blocks that begin with this half, and the one before them.
            var block = run.firsts.partitioningIndex { $0 > key.high } - 1
            while block >= 0 {
                if let offset = try offset(of: key, inBlock: block, of: run, bucket, db) {
                    return offset
                }
                guard run.firsts[block] == key.high else { break }
                block -= 1
            }
        }
        return nil
    }

    private func offset(
        of key: IDKey, inBlock block: Int, of run: Run, _ bucket: Int, _ db: Database
    ) throws -> Int64? {
        let row = StatementRow(
            try db.cachedStatement(sql: "SELECT entries FROM \(runsTable) WHERE block = ?"))
        row.begin()
        row.bind(Self.block(block, ofRun: run.number, bucket))
        defer { row.begin() }
        guard try row.next() else { return nil }
        return row.withBlob(0) { bytes in
            let entries = Entries(bytes)
            let index = (0..<entries.count).partitioningIndex { entries.key($0) >= key }
            guard index < entries.count, entries.key(index) == key else { return nil }
            return entries[index].offset
        }
    }

    // MARK: Writing

    /// Adds the row of an id within a transaction, which `write` has to end.
    ///
    /// - Parameter isNew: whether the id had no row.
    func add(_ key: IDKey, offset: Int64, isNew: Bool) {
        let entry = Entry(key: key, offset: offset)
        added.append(entry)
        recent[Self.bucket(key)].append(entry)
        if isNew { count += 1 }
    }

    /// The number of rows that the open transaction has added.
    var addedCount: Int { added.count }

    /// Takes back the last rows of the open transaction, so that it has added `count` rows, of `ids` new ids.
    func takeBack(toCount addedCount: Int, ids: Int) {
        while added.count > addedCount, let entry = added.popLast() {
            recent[Self.bucket(entry.key)].removeLast()
        }
        count = ids
    }

    /// Writes the changes of the open transaction. If this throws, or the transaction fails after it, the index has to
    /// be loaded again.
    func write(_ db: Database) throws {
        guard !added.isEmpty else { return }
        let insertion = StatementRow(
            try db.cachedStatement(sql: "INSERT INTO \(recentTable) VALUES (?, ?, ?)"))
        insertion.begin()
        insertion.bind(nextNumber)
        insertion.bind(Int64(count))
        insertion.bind(copyOf: Entries.encode(added[...]))
        try insertion.step()
        nextNumber += 1
        due += added.count * Self.bucketCount
        added.removeAll(keepingCapacity: true)
        while due >= sweepLength {
            due -= sweepLength
            try moveRecent(of: nextBucket, db)
            nextBucket += 1
            guard nextBucket == Self.bucketCount else { continue }
            nextBucket = 0
            // The last commit's row stays, because it has the number of ids.
            try db.cachedStatement(sql: "DELETE FROM \(recentTable) WHERE number < ?")
                .execute(arguments: [min(sweepStart, nextNumber - 1)])
            sweepStart = nextNumber
        }
    }

    private func moveRecent(of bucket: Int, _ db: Database) throws {
        guard !recent[bucket].isEmpty else { return }
        var merged = Self.sorted(recent[bucket])
        recent[bucket].removeAll(keepingCapacity: true)
        while let last = runs[bucket].last, last.count <= 2 * merged.count {
            merged = Self.merge(try entries(of: last, bucket, db), merged)
            let blocks = Self.block(0, ofRun: last.number, bucket)
            try db.cachedStatement(sql: "DELETE FROM \(runsTable) WHERE block BETWEEN ? AND ?")
                .execute(arguments: [blocks, blocks + Int64(last.firsts.count) - 1])
            runs[bucket].removeLast()
        }
        var run = Run(
            number: (runs[bucket].last?.number ?? 0) + 1, count: merged.count, firsts: [])
        let insertion = StatementRow(
            try db.cachedStatement(sql: "INSERT INTO \(runsTable) VALUES (?, ?)"))
        for start in stride(from: 0, to: merged.count, by: Self.entriesPerBlock) {
            let end = min(start + Self.entriesPerBlock, merged.count)
            insertion.begin()
            insertion.bind(Self.block(run.firsts.count, ofRun: run.number, bucket))
            insertion.bind(copyOf: Entries.encode(merged[start..<end]))
            try insertion.step()
            run.firsts.append(merged[start].key.high)
        }
        runs[bucket].append(run)
    }

    private func entries(of run: Run, _ bucket: Int, _ db: Database) throws -> [Entry] {
        var all: [Entry] = []
        all.reserveCapacity(run.count)
        let blocks = StatementRow(
            try db.cachedStatement(
                sql: """
                    SELECT entries FROM \(runsTable) WHERE block BETWEEN ? AND ? ORDER BY block
                    """))
        blocks.begin()
        let first = Self.block(0, ofRun: run.number, bucket)
        blocks.bind(first)
        blocks.bind(first + Int64(run.firsts.count) - 1)
        while try blocks.next() { blocks.withBlob(0) { Entries($0).append(to: &all) } }
        return all
    }

    /// The last entry of each id.
    private static func sorted(_ entries: [Entry]) -> [Entry] {
        var order = entries.indices.map { (key: entries[$0].key, index: $0) }
        order.sort { ($0.key, $0.index) < ($1.key, $1.index) }
        var sorted: [Entry] = []
        sorted.reserveCapacity(order.count)
        for (key, index) in order {
            if sorted.last?.key == key { sorted.removeLast() }
            sorted.append(entries[index])
        }
        return sorted
    }

    /// Merges two sorted runs. Of an id in both, the newer entry stays.
    private static func merge(_ older: [Entry], _ newer: [Entry]) -> [Entry] {
        var merged: [Entry] = []
        merged.reserveCapacity(older.count + newer.count)
        var next = 0
        for entry in newer {
            while next < older.count, older[next].key < entry.key {
                merged.append(older[next])
                next += 1
            }
            if next < older.count, older[next].key == entry.key { next += 1 }
            merged.append(entry)
        }
        merged.append(contentsOf: older[next...])
        return merged
    }

    private static func bucket(_ key: IDKey) -> Int { Int(key.high >> 56) }

    private static func block(_ number: Int, ofRun run: Int64, _ bucket: Int) -> Int64 {
        Int64(bucket) << 55 | run << 28 | Int64(number)
    }

    private static func place(ofBlock block: Int64) -> (bucket: Int, run: Int64) {
        (Int(block >> 55), block >> 28 & 0x7FF_FFFF)
    }
}

/// The stored form of entries.
private struct Entries {
    private let bytes: UnsafeRawBufferPointer
    let count: Int

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        count = bytes.count / IDIndex.Entry.byteCount
    }

    func key(_ index: Int) -> IDKey {
        let start = index * IDIndex.Entry.byteCount
        return IDKey(high: word(start), low: word(start + 8))
    }

    subscript(index: Int) -> IDIndex.Entry {
        IDIndex.Entry(
            key: key(index),
            offset: Int64(bitPattern: word(index * IDIndex.Entry.byteCount + 16)))
    }

    func append(to entries: inout [IDIndex.Entry]) {
        for index in 0..<count { entries.append(self[index]) }
    }

    static func encode(_ entries: ArraySlice<IDIndex.Entry>) -> [UInt8] {
        let size = entries.count * IDIndex.Entry.byteCount
        return [UInt8](unsafeUninitializedCapacity: size) { bytes, count in
            let bytes = UnsafeMutableRawBufferPointer(bytes)
            for entry in entries {
                func store(_ word: UInt64) {
                    bytes.storeBytes(of: word.littleEndian, toByteOffset: count, as: UInt64.self)
                    count += 8
                }
                store(entry.key.high)
                store(entry.key.low)
                store(UInt64(bitPattern: entry.offset))
            }
        }
    }

    private func word(_ start: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
    }
}

extension RandomAccessCollection {
    /// The first index from which on `belongs` holds; it holds for no earlier one.
    fileprivate func partitioningIndex(where belongs: (Element) -> Bool) -> Index {
        var (low, count) = (startIndex, count)
        while count > 0 {
            let half = count / 2
            let middle = index(low, offsetBy: half)
            if belongs(self[middle]) {
                count = half
            } else {
                low = index(after: middle)
                count -= half + 1
            }
        }
        return low
    }
}
