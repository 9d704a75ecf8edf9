/// The folds of a stream within one process. Each partition belongs to one of them, which alone is given its
/// records, so that several can fold a batch at the same time. The number of folds does not change the result of a
/// batch.
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

    /// The fold that a partition belongs to.
    package subscript(partition partition: Int32) -> Fold { folds[lane(of: partition)] }

    /// How far the partitions of the batch have come.
    package var progress: [PartitionProgress] { folds.flatMap { $0.effects.progress } }

    /// The records that are kept instead of counted, those of a partition in order of their offsets.
    package var refused: [RefusedRecord] { folds.flatMap { $0.effects.refused } }

    /// Whether the batch has something to be published.
    package var hasEmissions: Bool {
        folds.contains { !$0.effects.refused.isEmpty || !$0.outbox.isEmpty }
    }

    /// True when a sum of the batch alone no longer fits 64 bits.
    package var hasOverflowed: Bool { folds.contains { $0.hasOverflowed } }

    /// Clears the effects of what was folded so far.
    package func clear() {
        for fold in folds { fold.clear() }
    }
}

extension StreamFold {
    /// Makes the folds of lanes: at most as many as there are partitions, and one for a stream that remembers
    /// for ever, which reads its memory from the store.
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
