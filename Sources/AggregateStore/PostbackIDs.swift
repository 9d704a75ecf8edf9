import ConversionModels
import Foundation
import GRDB
import Streams

/// Every postback ever accepted.
package final class PostbackIDs: PostbackMemory {
    private let store: AggregateStore
    /// What is stored.
    let ids: StoredIDs

    /// Reads the ids of a store.
    package init(store: AggregateStore) throws(StoreError) {
        self.store = store
        ids = try StoredIDs(store: store, table: "postback_ids")
    }

    /// The best copy of a postback that was stored.
    package func known(_ id: RecordID, partition: Int32) throws -> KnownPostback? {
        guard ids.mayContain(id, partition: partition) else { return nil }
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
