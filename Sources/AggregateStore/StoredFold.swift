import EventLog
import Streams

/// A fold whose effects and memory a store knows how to keep.
package protocol StoredFold: StreamFold {
    /// The tables of the stream's store.
    static var schema: String { get }

    /// Gives the fold the memory of a partition from the store.
    func restoreMemory(of partition: PartitionState, from store: AggregateStore) throws(StoreError)
    /// Drops the memory of a partition.
    func forgetMemory(of partition: Int32)
    /// True when the batch has something for partners.
    var hasOutbox: Bool { get }
    /// Number of ids that are remembered; dead ones are dropped first when there are more than `bound`.
    func rememberedIDs(atMost bound: Int) -> Int
    /// Writes the stream's own aggregates and memory.
    func write(to transaction: StoreTransaction) throws
    /// Called once what was written is committed, so many ids never seen before among it; outside any
    /// transaction.
    func noteCommitted(newIDs: Int) throws(StoreError)
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
