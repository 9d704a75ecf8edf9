import EventLog
import Wording

/// A store's record of the log that it has folded. A program compares it with the log before it continues its store,
/// and `weir check` does so at any time.
package struct FoldedLog {
    /// Path of the store.
    package let store: String
    package let topic: String
    /// The log's identity when the store began; empty for a reset store.
    package let logIdentity: String
    /// The number of partitions of the topic; nil if irrelevant.
    package let partitionCount: Int32?

    package init(store: String, topic: String, logIdentity: String, partitionCount: Int32? = nil) {
        self.store = store
        self.topic = topic
        self.logIdentity = logIdentity
        self.partitionCount = partitionCount
    }

    /// Why the store cannot continue with a topic; nil if it can.
    ///
    /// - Parameter accepted: the number of partitions that an operator accepts as it is.
    package func refusal(
        of reader: any LogReader, accepting accepted: Int32? = nil
    ) throws(LogError) -> LogChange? {
        guard topic == reader.topic else {
            return .topicRenamed(store: store, folded: topic, configured: reader.topic)
        }
        let identity = try reader.identity()
        guard logIdentity.isEmpty || logIdentity == identity else {
            return .otherTopic(topic: topic, store: store)
        }
        guard let partitionCount else { return nil }
        let now = try reader.partitionCount()
        guard now != partitionCount, now != accepted else { return nil }
        return .partitionCountChanged(
            topic: topic, folded: partitionCount, now: now, store: store)
    }

    /// Why a partition cannot continue at an offset; nil if it can.
    package static func refusal(
        of topicPartition: TopicPartition, nextOffset: Int64, in bounds: PartitionBounds,
        store: String
    ) -> LogChange? {
        if nextOffset < bounds.earliestOffset {
            return .logStartsLater(
                topicPartition, nextOffset: nextOffset, earliest: bounds.earliestOffset,
                store: store)
        }
        if nextOffset > bounds.endOffset {
            return .logEndsEarlier(
                topicPartition, nextOffset: nextOffset, end: bounds.endOffset, store: store)
        }
        return nil
    }

    /// All reasons why the store cannot continue with a topic: those of the whole, or otherwise those of each
    /// partition.
    ///
    /// - Parameters:
    ///   - nextOffsets: where its partitions continue.
    ///   - oldestExpected: for partitions without folded records, the lowest offset at which their log can start. If
    ///     it starts
    ///     earlier, the worker resets the partition.
    package func refusals(
        of reader: any LogReader, nextOffsets: [Int32: Int64],
        oldestExpected: [Int32: Int64] = [:]
    ) throws(LogError) -> [LogChange] {
        if let refusal = try refusal(of: reader) { return [refusal] }
        let partitions = nextOffsets.keys.sorted()
        return try reader.bounds(of: partitions).compactMap { bounds in
            nextOffsets[bounds.partition].flatMap { nextOffset in
                bounds.logStart < oldestExpected[bounds.partition] ?? 0
                    ? nil
                    : Self.refusal(
                        of: TopicPartition(topic: topic, partition: bounds.partition),
                        nextOffset: nextOffset, in: bounds, store: store)
            }
        }
    }
}

/// Why a store cannot continue with a log: the log is not, or no longer, the one that was folded.
package enum LogChange: OperatorError {
    /// The log no longer holds records that the store has not folded.
    case logStartsLater(TopicPartition, nextOffset: Int64, earliest: Int64, store: String)
    /// The group has folded the partition, the log has lost its beginning, and the store has nothing of it.
    case beginningIsGone(TopicPartition, earliest: Int64, group: String, store: String)
    /// The log no longer holds documents for partners that were not ingested yet.
    case documentsGone(TopicPartition, nextOffset: Int64, earliest: Int64)
    /// The log ends before the ingested documents for partners.
    case documentsEndEarlier(TopicPartition, nextOffset: Int64, end: Int64, store: String)
    /// The topic of documents for partners was recreated since the store began.
    case documentsOfOtherTopic(topic: String, store: String)
    /// An ingested document differs from the one at its offset now.
    case otherDocuments(TopicPartition, offset: Int64, store: String)
    /// The log starts at a lower offset than when the store began the partition, and nothing is folded yet.
    case logStartsEarlier(TopicPartition, expected: Int64, earliest: Int64, store: String)
    /// The group has an offset beyond the log's end.
    case groupBeyondEnd(TopicPartition, offset: Int64, end: Int64)
    /// The group's offset belongs to a worker that had read a different record than the log has.
    case groupOfOther(TopicPartition, offset: Int64, record: Int64)
    /// The log ends before the store's progress.
    case logEndsEarlier(TopicPartition, nextOffset: Int64, end: Int64, store: String)
    /// The topic was recreated since the store began.
    case otherTopic(topic: String, store: String)
    /// The store folds another topic than the pipeline names.
    case topicRenamed(store: String, folded: String, configured: String)
    /// The requested partition is missing in the topic.
    case unknownPartition(Int32, topic: String)
    /// The last folded record differs from the one at its offset now.
    case otherRecords(TopicPartition, offset: Int64, store: String)
    /// The topic's number of partitions differs from the store's.
    case partitionCountChanged(topic: String, folded: Int32, now: Int32, store: String)

    /// The same for a store of deliveries, which cannot be recreated from a log.
    package var ofDocuments: LogChange {
        switch self {
        case .logStartsLater(let topicPartition, let next, let earliest, _):
            .documentsGone(topicPartition, nextOffset: next, earliest: earliest)
        case .logEndsEarlier(let topicPartition, let next, let end, let store):
            .documentsEndEarlier(topicPartition, nextOffset: next, end: end, store: store)
        case .otherTopic(let topic, let store): .documentsOfOtherTopic(topic: topic, store: store)
        case .otherRecords(let topicPartition, let offset, let store):
            .otherDocuments(topicPartition, offset: offset, store: store)
        default: self
        }
    }

    private static let wayOutOfOldOffset =
        "the topic was recreated, or its log lost its end, and records below the offset would be skipped. Stop the workers of the topic, delete the group's offsets for it (or, if the log lost records, set them to its new end), then start the workers (ops/runbooks/topic-recreated.md)"

    private static let wayOutOfOtherDocuments =
        "documents would not be sent. Stop all instances, reset each store with weir deliveries reset, which keeps its content, then start the instances (ops/runbooks/topic-recreated.md)"

    package var description: String {
        switch self {
        case .logStartsLater(let partition, let next, let earliest, let store):
            "\(partition) now starts at offset \(earliest), but \(store) has folded up to \(next): the records between were deleted; give --archive a copy that contains them, or fold the remaining records into a new --data directory with --accept-missing-records"
        case .beginningIsGone(let partition, let earliest, let group, let store):
            "\(partition) now starts at offset \(earliest), and \(store) has nothing of it, although workers of the group \(group) have folded it: its numbers could lack records. Restore the partition from a snapshot, weir handoff or a backup, or give --archive a copy of these records. To count only from there, start once with --accept-missing-records (ops/runbooks/log-starts-later.md)"
        case .documentsGone(let partition, let next, let earliest):
            "\(partition) now starts at offset \(earliest), but documents were ingested only up to \(next): the documents between were deleted from the log and never sent. To continue without them, stop all instances, set the group's offset of the partition to \(earliest), and start the instances; keep deliveries.sqlite"
        case .documentsEndEarlier(let partition, let next, let end, let store):
            "\(partition) ends at offset \(end), but \(store) has ingested documents up to \(next): the topic was recreated, or its log lost its end; \(Self.wayOutOfOtherDocuments)"
        case .documentsOfOtherTopic(let topic, let store):
            "topic '\(topic)' was recreated or is in another cluster since \(store) was created: \(Self.wayOutOfOtherDocuments)"
        case .otherDocuments(let partition, let offset, let store):
            "\(partition) contains another document at offset \(offset) than \(store) has ingested: the topic was recreated, or its log lost its end and was overwritten; \(Self.wayOutOfOtherDocuments)"
        case .logStartsEarlier(let partition, let expected, let earliest, let store):
            "\(partition) starts at offset \(earliest), but started at \(expected) when \(store) was created: the topic was recreated. No record of the partition is folded yet. Restart the worker to fold it from its new beginning"
        case .groupBeyondEnd(let partition, let offset, let end):
            "\(partition) ends at offset \(end), but the group's offset is \(offset): \(Self.wayOutOfOldOffset)"
        case .groupOfOther(let partition, let offset, let record):
            "\(partition) contains another record at offset \(record) than the one read by the worker that committed the group's offset \(offset): \(Self.wayOutOfOldOffset)"
        case .logEndsEarlier(let partition, let next, let end, let store):
            "\(partition) ends at offset \(end), but \(store) has folded up to \(next): the log was truncated or is another log; give the right --log, or fold into a new --data directory"
        case .otherTopic(let topic, let store):
            "topic '\(topic)' was recreated or is in another cluster since \(store) was created, so its offsets refer to other records: fold it into a new --data directory"
        case .topicRenamed(let store, let folded, let configured):
            "\(store) folds topic '\(folded)', but the pipeline names '\(configured)': name the old topic, or fold into a new --data directory"
        case .unknownPartition(let partition, let topic):
            "--partitions names \(partition), but topic '\(topic)' does not have it: check weir topics list"
        case .otherRecords(let partition, let offset, let store):
            "\(partition) contains another record at offset \(offset) than \(store) has folded: the topic was recreated, or its log lost its end and was overwritten. The worker stops. Give --log the log that was folded, or move the store away and fold again (ops/runbooks/topic-recreated.md)"
        case .partitionCountChanged(let topic, let folded, let now, let store):
            "topic '\(topic)' has \(counted(now, "partition")), but had \(folded) when \(store) folded it: a key may now belong to another partition, which does not know its earlier ids. Nothing is lost. Start with --accept-partition-count \(now) to continue (ids from before the change are not recognised in their new partition), or fold into a new --data directory"
        }
    }
}

extension LogError: OperatorError {
    package var isUsage: Bool { if case .badAddress = self { true } else { false } }
}
