import AggregateStore
import Streams

/// One consistent state of some stores: of each partition, the copy that is folded furthest.
struct StoreView {
    /// The partitions of a stream that are read from one store.
    struct Copy {
        let stream: String
        let snapshot: StoreSnapshot
        /// The partitions to read here, in order of their numbers.
        let partitions: [PartitionState]
        /// Only records with a timestamp below it count, in milliseconds since 1970; nil for all.
        var asOfMilliseconds: Int64?
        /// What those of its hour added, unless it is a whole one.
        var partialHour: PartialHour?

        var numbers: Set<Int32> { Set(partitions.map(\.partition)) }
    }

    /// The copies to read, streams in bytewise order.
    let copies: [Copy]

    init(copies: [Copy]) {
        self.copies = copies
    }

    init(_ snapshots: [(stream: String, snapshot: StoreSnapshot)]) throws {
        let states = try snapshots.map { try $0.snapshot.partitionStates() }
        copies = snapshots.indices.map { index in
            Copy(
                stream: snapshots[index].stream,
                snapshot: snapshots[index].snapshot,
                partitions: states[index].filter { state in
                    Self.isFurthest(state, at: index, snapshots.map(\.stream), states)
                })
        }
    }

    /// The streams of the view, each once.
    var streams: Set<String> { Set(copies.map(\.stream)) }

    /// Whether no other store has the partition further, or as far and comes first.
    private static func isFurthest(
        _ state: PartitionState, at index: Int, _ streams: [String], _ states: [[PartitionState]]
    ) -> Bool {
        streams.indices.allSatisfy { other in
            guard other != index, streams[other] == streams[index],
                let copy = states[other].first(where: { $0.partition == state.partition })
            else { return true }
            return copy.nextOffset < state.nextOffset
                || (copy.nextOffset == state.nextOffset && index < other)
        }
    }
}
