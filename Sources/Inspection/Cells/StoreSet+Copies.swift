import AggregateStore

/// The partitions of a stream that are read from one store, in one consistent state.
package struct StreamCopy {
    /// Name of the stream.
    package let stream: String
    /// The state of the store.
    package let snapshot: StoreSnapshot
    /// The partitions to read here, in order of their numbers.
    package let partitions: [PartitionState]
}

extension StoreSet {
    /// Calls `body` with one consistent state of the stores of these streams: of each partition, the copy
    /// that is folded furthest. What `body` throws comes through as it is.
    ///
    /// - Throws: `noStore` when none of the streams has a store.
    package func withCopies<Value>(
        of streams: [String], _ body: ([StreamCopy]) throws -> Value
    ) throws -> Value {
        let answer: Result<Value, any Error> = try view(of: streams) { view in
            Result {
                try body(
                    view.copies.map { copy in
                        StreamCopy(
                            stream: copy.stream, snapshot: copy.snapshot,
                            partitions: copy.partitions)
                    })
            }
        }
        return try answer.get()
    }
}
