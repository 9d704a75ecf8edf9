import GRDB
import Streams

extension StoreSnapshot {
    /// Calls `body` with what a partition has for partners of records below an offset, in order.
    package func forEachOutboxRow(
        of partition: Int32, below offset: Int64 = .max,
        _ body: (_ sequence: Int64, PartnerPostback) throws -> Void
    ) throws {
        guard try hasOutbox() else { return }
        let rows = try Row.fetchCursor(
            db, sql: Self.outboxRows + " AND origin_offset < ? ORDER BY sequence",
            arguments: [partition, offset])
        while let row = try rows.next() { try body(row["sequence"], PartnerPostback(outbox: row)) }
    }

    /// One thing that a partition has for partners.
    package func outboxRow(of partition: Int32, sequence: Int64) throws -> PartnerPostback? {
        try Row.fetchOne(
            db, sql: Self.outboxRows + " AND sequence = ?", arguments: [partition, sequence]
        ).map(PartnerPostback.init(outbox:))
    }

    /// The ids of what a partition has for partners of records from an offset on.
    package func outboxIDs(of partition: Int32, from offset: Int64) throws -> Set<String> {
        guard try hasOutbox() else { return [] }
        return try String.fetchSet(
            db, sql: "SELECT id FROM outbox WHERE partition = ? AND origin_offset >= ?",
            arguments: [partition, offset])
    }

    /// The offsets below which everything of a partition is published: what is for partners, and dead
    /// letters.
    package func publishedOffsets(
        of state: PartitionState
    ) throws -> (outbox: Int64, deadLetters: Int64) {
        var outbox: Int64?
        if try hasOutbox() {
            outbox = try Int64.fetchOne(
                db,
                sql: """
                    SELECT min(origin_offset) FROM outbox
                    WHERE partition = ? AND sequence >= ? AND origin_offset >= ?
                    """,
                arguments: [state.partition, state.outboxEmitted, state.emitFrom])
        }
        let letter = try Int64.fetchOne(
            db,
            sql: """
                SELECT min(offset) FROM refused
                WHERE partition = ? AND offset >= ? AND reason NOT IN ('conflict', 'untrusted')
                """,
            arguments: [state.partition, state.deadLettersNext])
        return (outbox ?? state.nextOffset, letter ?? state.nextOffset)
    }

    /// How many partitions the topic had.
    package func partitionCount() throws -> Int32 {
        try Int32.fetchOne(db, sql: "SELECT partition_count FROM store") ?? 0
    }

    private func hasOutbox() throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'outbox')") ?? false
    }

    private static let outboxRows = """
        SELECT *, CAST(ad_network_id AS BLOB) AS network FROM outbox WHERE partition = ?
        """
}

extension PartnerPostback {
    /// Reads a row of `outbox`, with the network's bytes as `network`.
    init(outbox row: Row) {
        self.init(
            partner: row["partner"], id: row["id"], revision: row["revision"],
            partition: row["partition"], originOffset: row["origin_offset"],
            adNetworkID: StoreSnapshot.text(row["network"]), campaign: row["campaign"],
            hasSourceIdentifier: row["has_source_identifier"],
            appID: row["app_id"], sourceAppID: row["source_app_id"], document: row["document"])
    }
}
