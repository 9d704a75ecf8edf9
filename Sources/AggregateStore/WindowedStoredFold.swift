import GRDB
import Streams

/// A fold with a dedupe window: its ids are stored in blocks.
package protocol WindowedStoredFold: StoredFold, WindowedFold {
    /// Writes what the batch adds to the stream's own aggregates.
    func writeAggregates(to transaction: StoreTransaction) throws
}

extension WindowedStoredFold {
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

    /// Writes the aggregates and the ids that the batch admitted.
    package func write(to transaction: StoreTransaction) throws {
        try writeAggregates(to: transaction)
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
