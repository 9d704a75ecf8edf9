import AggregateStore
import Streams

/// A batch that was folded and stored, and may still wait for the disk.
struct AwaitedBatch {
    /// What became of its records.
    var stored: StoredBatch
    /// How far its partitions are with it.
    var partitions: [PartitionProgress]
    /// How many records, or signatures in them, were verified.
    var verifications: Int
    /// When its fold began.
    var began: ContinuousClock.Instant
    /// When its fold ended.
    var folded: ContinuousClock.Instant
}
