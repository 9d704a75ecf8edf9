import Crypto
import GRDB
import JSON
import Streams

extension AggregateStore {
    /// The partitions in the store, in order of their numbers.
    package func partitionStates() throws(StoreError) -> [PartitionState] {
        try read { try StoreReader.partitionStates($0) }
    }

    /// Begins a partition, or resets one without folded records.
    ///
    /// - Parameters:
    ///   - firstOffset: where folding begins.
    ///   - logStart: offset of the log's oldest record; nil for `firstOffset`.
    ///   - emitFrom: documents and dead letters of records below this offset count as published.
    package func beginPartition(
        _ partition: Int32, at firstOffset: Int64, logStart: Int64? = nil, emitFrom: Int64
    ) throws(StoreError) {
        // Rows without a state are those of a snapshot whose restoration was killed.
        let hasState = try partitionStates().contains { $0.partition == partition }
        if !hasState { try clear(partition: partition) }
        try commit { db in
            for table in ["epochs", "partitions"] {
                try db.execute(
                    sql: """
                        DELETE FROM \(table) WHERE partition = ?1 AND 0 =
                          (SELECT records FROM partitions WHERE partition = ?1)
                        """, arguments: [partition])
            }
            try db.execute(
                sql: "INSERT INTO partitions VALUES (?, ?, ?, ?, 0, 0, ?, ?, 0, 0, '')",
                arguments: [
                    partition, firstOffset, logStart ?? firstOffset, firstOffset, emitFrom,
                    max(emitFrom, firstOffset),
                ])
            try endReplacement(of: partition, db)
        }
    }

    /// What the store has published of a partition before its rows were replaced is not published again.
    func endReplacement(of partition: Int32, _ db: Database) throws {
        guard let published = try RestoredPartitions.end(partition, db) else { return }
        try takeOverEmission(
            partition: partition, from: published.outbox, deadLetters: published.deadLetters, db)
    }

    /// From now on, records below an offset publish nothing: the group is past it. If the partition has no folded
    /// records, this replaces earlier values, because the topic may have been recreated.
    package func setEmission(partition: Int32, to offset: Int64) throws(StoreError) {
        try commit { try Self.raise(partition, emitFrom: offset, deadLetters: offset, $0) }
    }

    private static func raise(
        _ partition: Int32, emitFrom offset: Int64, deadLetters: Int64, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                UPDATE partitions SET emit_from = max(iif(records = 0, 0, emit_from), ?1),
                  dead_letters_next = max(iif(records = 0, first_offset, dead_letters_next), ?2)
                WHERE partition = ?3
                """,
            arguments: [offset, deadLetters, partition])
    }

    /// Marks everything as published that another store of the same records has published: documents of records below
    /// `offset`, and dead letters below `deadLetters`.
    package func takeOverEmission(
        partition: Int32, from offset: Int64, deadLetters: Int64
    ) throws(StoreError) {
        try commit {
            try takeOverEmission(partition: partition, from: offset, deadLetters: deadLetters, $0)
        }
    }

    private func takeOverEmission(
        partition: Int32, from offset: Int64, deadLetters: Int64, _ db: Database
    ) throws {
        try Self.raise(partition, emitFrom: offset, deadLetters: deadLetters, db)
        guard emits else { return }
        try db.execute(
            sql: """
                UPDATE partitions SET outbox_emitted = max(outbox_emitted, coalesce(
                  (SELECT min(sequence) FROM outbox
                   WHERE outbox.partition = ?1 AND origin_offset >= ?2), outbox_next))
                WHERE partition = ?1
                """,
            arguments: [partition, offset])
    }

    package func epochs(of partition: Int32) throws(StoreError) -> [Epoch] {
        try read { try StoreReader.epochs($0, partition: partition) }
    }

    /// Records the configuration in force from the partition's next offset on, unless it already is.
    package func recordEpoch(
        partition: Int32, configuration: FoldConfiguration
    ) throws(StoreError) {
        try commit { db in
            // An epoch without folded records does not count, and its window does not either.
            try db.execute(
                sql: """
                    DELETE FROM epochs WHERE partition = ?1 AND from_offset =
                      (SELECT next_offset FROM partitions WHERE partition = ?1)
                    """,
                arguments: [partition])
            try DedupeBlock.keepAlive(partition: partition, under: configuration, in: db)
            try db.execute(
                sql: """
                    INSERT INTO epochs SELECT partition, next_offset, ?2, ?3, ?4 FROM partitions
                    WHERE partition = ?1 AND ?2 IS NOT
                      (SELECT configuration_hash FROM epochs WHERE partition = ?1
                       ORDER BY from_offset DESC LIMIT 1)
                    """,
                arguments: [
                    partition, configuration.hash, configuration.text,
                    configuration.dedupeWindowMilliseconds,
                ])
        }
    }

    /// Notes that rejected records below an offset, and outbox rows below a sequence, are published.
    package func markEmitted(
        partition: Int32, deadLettersNext: Int64, outboxEmitted: Int64
    ) throws(StoreError) {
        try commit { db in
            try db.cachedStatement(
                sql: """
                    UPDATE partitions SET dead_letters_next = ?, outbox_emitted = ?
                    WHERE partition = ?
                    """
            ).execute(arguments: [deadLettersNext, outboxEmitted, partition])
        }
    }
}

/// The progress of folding a partition.
package struct PartitionState: Equatable, Sendable {
    package var partition: Int32
    /// Offset at which folding began.
    package var firstOffset: Int64
    /// Offset of the log's oldest record at that time.
    package var logStart: Int64
    /// The first record that is not folded yet.
    package var nextOffset: Int64
    /// Largest record timestamp so far, in milliseconds since 1970.
    package var watermarkMilliseconds: Int64
    package var records: Int64
    /// An earlier store published the documents and dead letters of records below this offset.
    package var emitFrom: Int64
    /// Rejected records below this offset are published.
    package var deadLettersNext: Int64
    /// Sequence of the next outbox row.
    package var outboxNext: Int64
    /// Outbox rows below this sequence are published.
    package var outboxEmitted: Int64
    /// `RecordView.fingerprint` of the last folded record; otherwise empty.
    package var lastRecord: String

    /// The lowest offset at which this partition's log can start. Nil once something is folded, because fingerprints
    /// then identify the log, and for a replay that chose its start. The start of a log never decreases, so a lower
    /// one belongs to another topic.
    package var oldestExpected: Int64? {
        records == 0 && firstOffset <= logStart ? logStart : nil
    }

    /// The progress of this copy of the partition compared with others. A copy without folded records ranks below all
    /// that have some: it may have begun late, with an earlier topic of the name.
    package var extent: Int64 { records == 0 ? -1 : nextOffset }
}

// MARK: Data to publish

extension AggregateStore {
    /// Outbox rows of a partition from a sequence on, in order; at most `limit` of them.
    package func outbox(
        partition: Int32, from sequence: Int64, limit: Int
    ) throws(StoreError) -> [(sequence: Int64, postback: PartnerPostback)] {
        guard emits else { return [] }
        return try read { db in
            try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT *, CAST(ad_network_id AS BLOB) AS network FROM outbox
                        WHERE partition = ? AND sequence >= ? ORDER BY sequence LIMIT ?
                        """),
                arguments: [partition, sequence, limit]
            ).map { row in (row["sequence"], PartnerPostback(outbox: row)) }
        }
    }

    /// Number of unpublished outbox rows of a partition with an origin below an offset.
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

    /// Whether a group has published documents that this store has not.
    ///
    /// - Parameters:
    ///   - published: the group's offsets.
    ///   - partitions: those that the store is going to fold, and may not have yet.
    package func isOlderCopy(
        than published: [Int32: Int64], taking partitions: [Int32]
    ) throws(StoreError) -> Bool {
        var new = Set(partitions)
        for state in try partitionStates() {
            new.remove(state.partition)
            guard let offset = published[state.partition] else { continue }
            if offset > state.nextOffset { return true }
            if try dueCount(partition: state.partition, below: offset) > 0 { return true }
        }
        return new.contains { published[$0] ?? 0 > 0 }
    }

    /// Number of unpublished outbox rows and rejected records of these partitions. Other workers publish those of the
    /// others.
    package func unpublishedCount(
        of partitions: some Sequence<Int32>
    ) throws(StoreError) -> Int64 {
        let list = partitions.map(String.init).joined(separator: ", ")
        return try read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT coalesce(sum(outbox_next - outbox_emitted + (
                      SELECT count(*) FROM refused WHERE refused.partition = partitions.partition
                        AND offset >= dead_letters_next AND reason NOT IN (\(StoreSchema.otherReasons))
                    )), 0) FROM partitions WHERE partition IN (\(list))
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

extension [PartitionState] {
    /// The first record of each partition that is not folded.
    package var nextOffsets: [Int32: Int64] {
        reduce(into: [:]) { $0[$1.partition] = $1.nextOffset }
    }

    package var oldestExpected: [Int32: Int64] {
        reduce(into: [:]) { $0[$1.partition] = $1.oldestExpected }
    }
}
