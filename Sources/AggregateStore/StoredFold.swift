import EventLog
import Streams

/// A fold whose effects and memory a store knows how to keep.
public protocol StoredFold: StreamFold {
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
public struct PartitionState: Equatable, Sendable {
    /// Number of the partition.
    public var partition: Int32
    /// Offset at which folding began.
    public var firstOffset: Int64
    /// The first record that is not folded yet.
    public var nextOffset: Int64
    /// Largest record timestamp so far, in milliseconds since 1970.
    public var watermarkMilliseconds: Int64
    /// Number of records folded.
    public var records: Int64
    /// What comes of records below this offset was emitted by an earlier store.
    public var emitFrom: Int64
    /// Refused records below this offset are published.
    public var deadLettersNext: Int64
    /// Sequence that the next outbox row gets.
    public var outboxNext: Int64
    /// Outbox rows below this sequence are published.
    public var outboxEmitted: Int64
    /// What the last folded record was, as `RecordView.fingerprint` says it; empty when there was none.
    public var lastRecord: String
}
