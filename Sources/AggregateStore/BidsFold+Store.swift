import GRDB
import Streams

extension BidsFold: StoredFold {
    /// The tables of `bids.sqlite`.
    public static var schema: String { StoreSchema.bids }

    /// Reads the alive ids of a partition.
    public func restoreMemory(
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
    public func forgetMemory(of partition: Int32) {
        forget(partition: partition)
    }

    /// Bids have nothing for partners.
    public var hasOutbox: Bool { false }

    /// Number of ids that are held in memory.
    public func rememberedIDs(atMost bound: Int) -> Int {
        let held = windows.values.reduce(0) { $0 + $1.heldCount }
        return held <= bound ? held : windows.values.reduce(0) { $0 + $1.sweep() }
    }

    /// Writes the aggregates and the ids that the batch admitted.
    public func write(to transaction: StoreTransaction) throws {
        try transaction.add(bids, symbols: effects.symbols)
        try transaction.add(bidFaults, symbols: effects.symbols)
        try transaction.add(lossReasons, symbols: effects.symbols)
        for progress in effects.progress {
            guard let window = windows[progress.partition] else { continue }
            try DedupeBlock.append(
                window.admitted, progress: progress,
                horizonMilliseconds: window.horizonMilliseconds, to: transaction.db)
        }
    }

    /// The ids are in memory: there is nothing to do.
    public func noteCommitted() {}
}
