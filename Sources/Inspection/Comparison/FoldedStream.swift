import AggregateStore

/// How far the partitions of a stream are folded in a set of stores.
struct FoldedStream {
    let stream: String
    let topic: String
    let logIdentity: String
    /// In order of their numbers.
    let partitions: [PartitionState]
    /// The configurations that were in force, by partition, with the offset from which each was.
    let epochs: [Int32: [Epoch]]

    /// Whether both are of one log and topic, so that their offsets mean the same records.
    func isOfSameLog(as other: FoldedStream) -> Bool {
        topic == other.topic && logIdentity == other.logIdentity
    }

    /// Where the partitions of two sets begin or end at different offsets: for each a text.
    func differencesInReach(from other: FoldedStream) -> [String] {
        let numbers = Set((partitions + other.partitions).map(\.partition)).sorted()
        return numbers.compactMap { number in
            let own = partitions.first { $0.partition == number }
            let others = other.partitions.first { $0.partition == number }
            guard own?.nextOffset != others?.nextOffset || own?.firstOffset != others?.firstOffset
            else { return nil }
            return
                "partition \(number) holds \(Self.reach(own)) in A and \(Self.reach(others)) in B"
        }
    }

    /// Whether some offset that both have folded was folded under different configurations.
    func differsInConfiguration(from other: FoldedStream) -> Bool {
        partitions.contains { state in
            guard let others = other.partitions.first(where: { $0.partition == state.partition })
            else { return false }
            let first = max(state.firstOffset, others.firstOffset)
            let next = min(state.nextOffset, others.nextOffset)
            guard first < next else { return false }
            return boundaries(of: state.partition, in: first..<next)
                != other.boundaries(of: state.partition, in: first..<next)
        }
    }

    private func boundaries(of partition: Int32, in offsets: Range<Int64>) -> [Boundary] {
        let epochs = epochs[partition] ?? []
        return epochs.indices.compactMap { index in
            let next = index + 1 < epochs.count ? epochs[index + 1].fromOffset : Int64.max
            guard epochs[index].fromOffset < offsets.upperBound, next > offsets.lowerBound else {
                return nil
            }
            return Boundary(
                fromOffset: max(epochs[index].fromOffset, offsets.lowerBound),
                hash: epochs[index].configuration.hash)
        }
    }

    private static func reach(_ state: PartitionState?) -> String {
        guard let state else { return "nothing" }
        return "offsets \(state.firstOffset) to \(state.nextOffset - 1)"
    }
}

private struct Boundary: Equatable {
    let fromOffset: Int64
    let hash: String
}

extension StoreView {
    /// How far each stream of the view is folded.
    func foldedStreams() throws -> [FoldedStream] {
        try streams.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.compactMap { stream in
            let copies = copies.filter { $0.stream == stream }
            guard let first = copies.first else { return nil }
            var epochs: [Int32: [Epoch]] = [:]
            for copy in copies {
                for state in copy.partitions {
                    epochs[state.partition] = try copy.snapshot.epochs(of: state.partition)
                }
            }
            return FoldedStream(
                stream: stream, topic: first.snapshot.topic,
                logIdentity: first.snapshot.logIdentity,
                partitions: copies.flatMap(\.partitions).sorted { $0.partition < $1.partition },
                epochs: epochs)
        }
    }
}
