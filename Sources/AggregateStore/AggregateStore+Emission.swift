import GRDB
import Streams

extension AggregateStore {
    /// Outbox rows of a partition from a sequence on, in order; at most `limit` of them.
    package func outbox(
        partition: Int32, from sequence: Int64, limit: Int
    ) throws(StoreError) -> [(sequence: Int64, postback: PartnerPostback)] {
        guard emits else { return [] }
        return try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT *, CAST(ad_network_id AS BLOB) AS network FROM outbox WHERE partition = ? AND sequence >= ?
                    ORDER BY sequence LIMIT ?
                    """,
                arguments: [partition, sequence, limit]
            ).map { row in (row["sequence"], PartnerPostback(outbox: row)) }
        }
    }

    /// Number of outbox rows of a partition that are not published yet, and whose origin lies below an
    /// offset.
    package func dueCount(partition: Int32, below offset: Int64) throws(StoreError) -> Int64 {
        guard emits else { return 0 }
        return try read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM outbox JOIN partitions USING (partition)
                    WHERE partition = ? AND sequence >= outbox_emitted
                      AND origin_offset >= emit_from AND origin_offset < ?
                    """,
                arguments: [partition, offset])
        } ?? 0
    }

    /// Number of outbox rows and rejected records that are not published yet.
    package func unpublishedCount() throws(StoreError) -> Int64 {
        try read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT coalesce(sum(outbox_next - outbox_emitted + (
                      SELECT count(*) FROM refused WHERE refused.partition = partitions.partition
                        AND offset >= dead_letters_next AND reason NOT IN ('conflict', 'untrusted')
                    )), 0) FROM partitions
                    """)
        } ?? 0
    }

    /// Refused records of a partition from an offset on, in order; at most `limit` of them.
    package func refused(
        partition: Int32, from offset: Int64, limit: Int
    ) throws(StoreError) -> [StoredRefusal] {
        try read {
            try StoredRefusal.fetch(
                $0, partition: partition, from: offset, limit: limit, withBytes: true)
        }
    }
}
