import AggregateStore
import Streams

/// What a stretch of a partition is folded again with.
package struct StretchNotes: Sendable {
    /// What memory answered about its records.
    package var recollections: [Recollection]
    /// The offsets of records that were rejected because a sum would have overflowed.
    package var overflows: Set<Int64>

    /// Takes notes; by default there are none.
    package init(recollections: [Recollection] = [], overflows: Set<Int64> = []) {
        self.recollections = recollections
        self.overflows = overflows
    }

    /// Reads what a store noted of a stretch.
    package init(_ snapshot: StoreSnapshot, partition: Int32, offsets: Range<Int64>) throws {
        recollections = try snapshot.recollections(partition: partition, offsets: offsets)
        overflows = try snapshot.overflows(partition: partition, offsets: offsets)
    }
}
