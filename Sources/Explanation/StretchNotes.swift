import AggregateStore
import Streams

/// What a stretch of a partition is folded again with.
public struct StretchNotes: Sendable {
    /// What memory answered about its records.
    public var recollections: [Recollection]
    /// The offsets of records that were rejected because a sum would have overflowed.
    public var overflows: Set<Int64>

    /// Takes notes; by default there are none.
    public init(recollections: [Recollection] = [], overflows: Set<Int64> = []) {
        self.recollections = recollections
        self.overflows = overflows
    }

    /// Reads what a store noted of a stretch.
    public init(_ snapshot: StoreSnapshot, partition: Int32, offsets: Range<Int64>) throws {
        recollections = try snapshot.recollections(partition: partition, offsets: offsets)
        overflows = try snapshot.overflows(partition: partition, offsets: offsets)
    }
}
