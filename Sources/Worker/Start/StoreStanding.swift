import EventLog

/// Where a store stands in its log: what a program looks at before it goes on with its store, and `weir check`
/// at any time.
package struct StoreStanding {
    /// Path of the store.
    package let store: String
    /// The topic that it is of.
    package let topic: String
    /// What told the log from others when it began.
    package let logIdentity: String
    /// How many partitions the topic had; nil where that makes no difference.
    package let partitionCount: Int32?

    /// What a store says of itself.
    package init(store: String, topic: String, logIdentity: String, partitionCount: Int32? = nil) {
        self.store = store
        self.topic = topic
        self.logIdentity = logIdentity
        self.partitionCount = partitionCount
    }

    /// Why the store cannot go on with a topic; nil when it can.
    ///
    /// - Parameter accepted: the number of partitions that an operator takes as it is.
    package func refusal(
        of reader: any LogReader, accepting accepted: Int32? = nil
    ) throws(LogError) -> WorkerError? {
        guard topic == reader.topic else {
            return .topicRenamed(store: store, folded: topic, configured: reader.topic)
        }
        guard logIdentity == (try reader.identity()) else {
            return .otherTopic(topic: topic, store: store)
        }
        guard let partitionCount else { return nil }
        let now = try reader.partitionCount()
        guard now != partitionCount, now != accepted else { return nil }
        return .partitionCountChanged(
            topic: topic, folded: partitionCount, now: now, store: store)
    }

    /// Why a partition that goes on at an offset cannot go on; nil when it can.
    package static func refusal(
        of place: TopicPartition, nextOffset: Int64, in bounds: PartitionBounds, store: String
    ) -> WorkerError? {
        if nextOffset < bounds.earliestOffset {
            return .logStartsLater(
                place, nextOffset: nextOffset, earliest: bounds.earliestOffset, store: store)
        }
        if nextOffset > bounds.endOffset {
            return .logEndsEarlier(
                place, nextOffset: nextOffset, end: bounds.endOffset, store: store)
        }
        return nil
    }

    /// Everything that keeps the store from going on with a topic: of the whole or, where that is well, of
    /// each partition.
    ///
    /// - Parameter nextOffsets: where its partitions go on.
    package func refusals(
        of reader: any LogReader, nextOffsets: [Int32: Int64]
    ) throws(LogError) -> [WorkerError] {
        if let refusal = try refusal(of: reader) { return [refusal] }
        let partitions = nextOffsets.keys.sorted()
        return try reader.bounds(of: partitions).compactMap { bounds in
            nextOffsets[bounds.partition].flatMap { nextOffset in
                Self.refusal(
                    of: TopicPartition(topic: topic, partition: bounds.partition),
                    nextOffset: nextOffset, in: bounds, store: store)
            }
        }
    }
}
