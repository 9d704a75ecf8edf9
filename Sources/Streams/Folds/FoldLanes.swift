/// The folds of a stream in one process. Each partition belongs to exactly one of them, so that several can fold a
/// batch in parallel. The number of folds does not change the result of a batch.
package struct FoldLanes<Fold: StreamFold> {
    /// At least one.
    package let folds: [Fold]

    package init(_ folds: [Fold]) {
        precondition(!folds.isEmpty, "there is a lane")
        self.folds = folds
    }

    /// The lane of a partition, from 0.
    @inline(__always)
    package func lane(of partition: Int32) -> Int { Int(partition) % folds.count }

    /// The fold of a partition.
    package subscript(partition partition: Int32) -> Fold { folds[lane(of: partition)] }

    /// The progress of the batch in each of its partitions.
    package var progress: [PartitionProgress] { folds.flatMap { $0.effects.progress } }

    /// The records that are kept instead of counted, in order of their offsets within a partition.
    package var refused: [RefusedRecord] { folds.flatMap { $0.effects.refused } }

    /// Whether the batch has records or documents to publish.
    package var hasEmissions: Bool {
        folds.contains { !$0.effects.refused.isEmpty || !$0.outbox.isEmpty }
    }

    /// The number of runs of records that added to rows.
    package var contributionCount: Int {
        folds.reduce(0) { count, fold in
            fold.deltas.reduce(count + fold.effects.outcomes.contributionCount) {
                $0 + $1.contributionCount
            }
        }
    }

    /// True if a sum of the batch alone exceeds 64 bits.
    package var hasOverflowed: Bool { folds.contains { $0.hasOverflowed } }

    /// Clears the effects of the folded records.
    package func clear() {
        for fold in folds { fold.clear() }
    }

    /// Gives the windows of ids to folds without effects, one for each, which go on with the next record. These folds
    /// keep their effects, to be stored.
    package func handOver(to next: FoldLanes) {
        for (fold, next) in zip(folds, next.folds) {
            // Lasting memory is in the store.
            guard let state = fold.state as? WindowedState,
                let nextState = next.state as? WindowedState
            else { continue }
            state.handOver(to: nextState)
        }
    }
}

extension StreamFold {
    /// Creates a second set of lanes' folds, to go on with while the effects of the first are stored; nil for a stream
    /// with lasting memory.
    package static func makeOtherLanes(
        _ lanes: [Self], _ rules: Rules, topic: String, memory: any FoldMemory
    ) throws -> [Self]? {
        guard hasWindow else { return nil }
        return try lanes.map { _ in try make(rules, topic: topic, memory: memory, threadCount: 1) }
    }

    /// Creates the folds of lanes: at most one for each partition, and only one for a stream with lasting memory, which
    /// reads its memory from the store.
    package static func makeLanes(
        _ count: Int, _ rules: Rules, topic: String, partitionCount: Int32,
        memory: any FoldMemory, threadCount: Int
    ) throws -> [Self] {
        let count = hasWindow ? max(1, min(count, Int(partitionCount))) : 1
        return try (0..<count).map { _ in
            try make(rules, topic: topic, memory: memory, threadCount: threadCount)
        }
    }
}
