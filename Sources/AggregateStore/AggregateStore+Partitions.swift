import Crypto
import GRDB
import Streams

extension AggregateStore {
    /// The partitions that the store knows, in order of their numbers.
    package func partitionStates() throws(StoreError) -> [PartitionState] {
        try read { try StoreReader.partitionStates($0) }
    }

    /// Begins a partition at its oldest record. What comes of records below `emitFrom` counts as
    /// emitted.
    package func beginPartition(
        _ partition: Int32, at firstOffset: Int64, emitFrom: Int64
    ) throws(StoreError) {
        try commit { db in
            try db.execute(
                sql: "INSERT INTO partitions VALUES (?, ?, ?, 0, 0, ?, ?, 0, 0, '')",
                arguments: [
                    partition, firstOffset, firstOffset, emitFrom, max(emitFrom, firstOffset),
                ])
        }
    }

    /// Nothing that comes of records below an offset is emitted any more: the group has it behind it.
    package func raiseEmission(partition: Int32, to offset: Int64) throws(StoreError) {
        try commit { db in
            try db.execute(
                sql: """
                    UPDATE partitions SET emit_from = max(emit_from, ?1),
                      dead_letters_next = max(dead_letters_next, ?1)
                    WHERE partition = ?2
                    """,
                arguments: [offset, partition])
        }
    }

    /// Takes over from another store of the same records: what comes of those below an offset was published
    /// by that one.
    ///
    /// - Parameters:
    ///   - offset: of what is for partners.
    ///   - deadLetters: of records that were rejected.
    package func takeOverEmission(
        partition: Int32, from offset: Int64, deadLetters: Int64
    ) throws(StoreError) {
        try commit { db in
            try db.execute(
                sql: """
                    UPDATE partitions SET emit_from = max(emit_from, ?1),
                      dead_letters_next = max(dead_letters_next, ?2)
                    WHERE partition = ?3
                    """,
                arguments: [offset, deadLetters, partition])
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
    }

    /// The configurations that were in force, by offset.
    package func epochs(of partition: Int32) throws(StoreError) -> [Epoch] {
        try read { try StoreReader.epochs($0, partition: partition) }
    }

    /// Records which configuration is in force from the partition's next offset on, when it is not the
    /// one that is.
    package func recordEpoch(
        partition: Int32, configuration: FoldConfiguration
    ) throws(StoreError) {
        try commit { db in
            // An epoch in which nothing was folded never was: its window neither.
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

    /// Notes that refused records below an offset, and outbox rows below a sequence, are published.
    package func noteEmitted(
        partition: Int32, deadLettersNext: Int64, outboxEmitted: Int64
    ) throws(StoreError) {
        try commit { db in
            try db.execute(
                sql: """
                    UPDATE partitions SET dead_letters_next = ?, outbox_emitted = ?
                    WHERE partition = ?
                    """,
                arguments: [deadLettersNext, outboxEmitted, partition])
        }
    }
}

/// How far a partition is folded.
package struct PartitionState: Equatable, Sendable {
    /// Number of the partition.
    package var partition: Int32
    /// Offset at which folding began.
    package var firstOffset: Int64
    /// The first record that is not folded yet.
    package var nextOffset: Int64
    /// Largest record timestamp so far, in milliseconds since 1970.
    package var watermarkMilliseconds: Int64
    /// Number of records folded.
    package var records: Int64
    /// What comes of records below this offset was emitted by an earlier store.
    package var emitFrom: Int64
    /// Refused records below this offset are published.
    package var deadLettersNext: Int64
    /// Sequence that the next outbox row gets.
    package var outboxNext: Int64
    /// Outbox rows below this sequence are published.
    package var outboxEmitted: Int64
    /// What the last folded record was, as `RecordView.fingerprint` says it; empty when there was none.
    package var lastRecord: String
}

/// All that a fold depends on, besides the log.
package struct FoldConfiguration: Equatable, Sendable {
    /// SHA-256 of the text, in hex.
    package var hash: String
    /// The configuration as JSON, the same for the same configuration.
    package var text: String
    /// How long an id is remembered, in milliseconds of event time; nil for ever.
    package var dedupeWindowMilliseconds: Int64?

    /// Takes the text, and hashes it.
    package init(text: String, dedupeWindowMilliseconds: Int64?) {
        self.text = text
        self.dedupeWindowMilliseconds = dedupeWindowMilliseconds
        hash = SHA256.hash(data: Array(text.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

/// A configuration that was in force from an offset on.
package struct Epoch: Equatable, Sendable {
    /// The first offset that was folded under it.
    package var fromOffset: Int64
    /// The configuration.
    package var configuration: FoldConfiguration

    /// Describes an epoch.
    package init(fromOffset: Int64, configuration: FoldConfiguration) {
        self.fromOffset = fromOffset
        self.configuration = configuration
    }
}
