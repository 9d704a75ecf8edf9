import EventLog
import GRDB
import Streams

/// A fold whose effects and memory a store knows how to keep.
package protocol StoredFold: StreamFold {
    /// The tables of its memory, as SQL.
    static var memorySchema: String { get }

    /// Gives the fold the memory of a partition from the store.
    func restoreMemory(of partition: PartitionState, from store: AggregateStore) throws(StoreError)
    /// Drops the memory of a partition.
    func forgetMemory(of partition: Int32)
    /// True when the batch has something for partners.
    var hasOutbox: Bool { get }
    /// Number of ids that are remembered; dead ones are dropped first when there are more than `bound`.
    func rememberedIDs(atMost bound: Int) -> Int
    /// Writes the stream's own memory.
    func writeMemory(to transaction: StoreTransaction) throws
    /// Called once what was written is committed, so many ids never seen before among it; outside any
    /// transaction.
    func noteCommitted(newIDs: Int) throws(StoreError)
}

extension StoredFold {
    /// Writes the stream's own aggregates and memory.
    ///
    /// A sum may not have left 64 bits between two records of the batch either. What it was between
    /// them lies between it and all that is taken back, and it and all that is added: where both of
    /// these fit, everything did, and else the batch is folded record by record.
    func write(to transaction: StoreTransaction) throws {
        for (index, table) in deltas.enumerated()
        where deltas[..<index].contains(where: { $0.table.name == table.table.name }) {
            try transaction.requireRoom(for: table, symbols: effects.symbols)
        }
        for table in deltas { try transaction.add(table, symbols: effects.symbols) }
        try writeMemory(to: transaction)
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

/// A fold with a dedupe window: its ids are stored in blocks.
package protocol WindowedStoredFold: StoredFold, WindowedFold {}

extension BidsFold: WindowedStoredFold {}
extension ConversionUpdatesFold: WindowedStoredFold {}
extension ImpressionsFold: WindowedStoredFold {}
extension OverlayClicksFold: WindowedStoredFold {}

extension WindowedStoredFold {
    package static var memorySchema: String { StoreSchema.dedupe }

    /// Reads the alive ids of a partition.
    package func restoreMemory(
        of partition: PartitionState, from store: AggregateStore
    ) throws(StoreError) {
        let blocks = try store.read { db in
            try [[UInt8]].init(
                Row.fetchCursor(
                    db, sql: "SELECT entries FROM dedupe WHERE partition = ? ORDER BY first_offset",
                    arguments: [partition.partition]
                ).map { row in try row.withUnsafeData(atIndex: 0) { [UInt8]($0 ?? .init()) } })
        }
        restore(
            partition: partition.partition,
            watermarkMilliseconds: partition.watermarkMilliseconds,
            entries: blocks.flatMap(DedupeBlock.entries))
    }

    /// Drops the ids of a partition.
    package func forgetMemory(of partition: Int32) {
        forget(partition: partition)
    }

    /// Only postbacks have something for partners.
    package var hasOutbox: Bool { false }

    /// Number of ids that are held in memory.
    package func rememberedIDs(atMost bound: Int) -> Int {
        let held = windows.values.reduce(0) { $0 + $1.heldCount }
        return held <= bound ? held : windows.values.reduce(0) { $0 + $1.sweep() }
    }

    /// Writes the ids that the batch admitted.
    package func writeMemory(to transaction: StoreTransaction) throws {
        for progress in effects.progress {
            guard let window = windows[progress.partition] else { continue }
            try DedupeBlock.append(
                window.admitted, progress: progress,
                horizonMilliseconds: window.horizonMilliseconds, to: transaction.db)
        }
    }

    /// The ids are in memory: there is nothing to do.
    package func noteCommitted(newIDs: Int) {}
}
