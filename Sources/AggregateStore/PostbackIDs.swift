import ConversionModels
import Foundation
import GRDB
import Streams

/// Every postback ever accepted, on disk behind a small filter: a new id is told by the filter alone.
public final class PostbackIDs: PostbackMemory {
    private let store: AggregateStore
    private var filter = IDFilter(capacity: 0)

    /// Reads the ids of a store.
    public init(store: AggregateStore) throws(StoreError) {
        self.store = store
        try fillFilter()
    }

    /// The best copy of a postback that was stored.
    public func known(_ id: RecordID, partition: Int32) throws -> KnownPostback? {
        guard filter.mayContain(id, partition: partition) else { return nil }
        return try store.queue.unsafeReentrantRead { db in
            try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT *, CAST(country AS BLOB) AS country_bytes FROM postback_ids
                        WHERE partition = ? AND id = ?
                        """),
                arguments: [partition, id.bytes]
            ).map(KnownPostback.init)
        }
    }

    /// Number of ids that were stored, as far as the filter can tell them apart.
    public var count: Int { filter.count }

    /// Takes note of ids that are being stored.
    func insert(_ id: RecordID, partition: Int32) {
        filter.insert(id, partition: partition)
    }

    /// Makes the filter larger when it has become too full to tell. Not to be called within a commit.
    func growIfNeeded() throws(StoreError) {
        if filter.isFull { try fillFilter() }
    }

    private func fillFilter() throws(StoreError) {
        filter = try store.read { db in
            let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM postback_ids") ?? 0
            var filter = IDFilter(capacity: count * 2)
            let rows = try Row.fetchCursor(db, sql: "SELECT partition, id FROM postback_ids")
            while let row = try rows.next() {
                let bytes: Data = row[1]
                filter.insert(RecordID(bytes: bytes), partition: row[0])
            }
            return filter
        }
    }
}

/// A blocked Bloom filter: 16 bits an id, all of an id's bits in one word of 64.
struct IDFilter {
    private var words: [UInt64]
    private let capacity: Int
    private(set) var count = 0

    /// Room for so many ids, and for at least 65,536.
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
    /// The 16 bytes of the id.
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

extension KnownPostback {
    /// Reads a row of `postback_ids`.
    init(_ row: Row) {
        let coarse: String? = row["coarse_value"]
        let published: String? = row["published"]
        self.init(
            rank: row["rank"], offset: row["offset"],
            values: UnsignedValues(
                fineValue: row["conversion_value"], coarseValue: coarse.flatMap(CoarseValue.init),
                country: (row["country_bytes"] as Data?).map(StoreSnapshot.text) ?? "",
                interaction: row["interaction"] ?? ""),
            published: Self.published(published ?? ""))
    }

    /// Reads `acme=1,other=2`; names of partners hold neither sign.
    private static func published(_ text: String) -> [String: Int64] {
        var published: [String: Int64] = [:]
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: "=")
            if parts.count == 2 { published[String(parts[0])] = Int64(parts[1]) }
        }
        return published
    }

    /// Writes what `published` reads; nil for none.
    var publishedText: String? {
        published.isEmpty
            ? nil
            : published.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                .joined(separator: ",")
    }
}
