import AggregateStore
import EventLog

/// Why a worker stops before it is told to: what, where, and what to do about it.
package enum WorkerError: Error, CustomStringConvertible {
    /// The log failed.
    case log(LogError)
    /// The store failed.
    case store(StoreError)
    /// The log no longer holds records that the store has not folded.
    case logStartsLater(TopicPartition, nextOffset: Int64, earliest: Int64, store: String)
    /// The log ends before what the store has folded.
    case logEndsEarlier(TopicPartition, nextOffset: Int64, end: Int64, store: String)
    /// The topic was deleted and created again since the store began.
    case otherTopic(topic: String, store: String)
    /// The store folds another topic than the pipeline names.
    case topicRenamed(store: String, folded: String, configured: String)
    /// The configuration changes what is already folded.
    case historyChanged(detail: String, store: String)
    /// The dedupe memory holds as many ids as it may.
    case dedupeMemoryFull(ids: Int, bound: Int, stream: String)
    /// A partition was asked for that the topic does not have.
    case unknownPartition(Int32, topic: String)
    /// The record that was folded last is not the one that stands in its place now.
    case otherRecords(TopicPartition, offset: Int64, store: String)
    /// The log gave an offset that was read before.
    case offsetsAgain(TopicPartition, offset: Int64, expected: Int64)
    /// The topic has another number of partitions than the store has folded.
    case partitionCountChanged(topic: String, folded: Int32, now: Int32, store: String)
    /// Anything that should not happen.
    case unexpected(String)

    /// One line: what, where, and what to do.
    package var description: String {
        switch self {
        case .log(let error): error.description
        case .store(let error): error.description
        case .logStartsLater(let partition, let next, let earliest, let store):
            "\(partition) now starts at offset \(earliest), and \(store) has folded up to \(next): the records between are gone; give --archive a copy that has them, or fold what is left into a fresh --data directory"
        case .logEndsEarlier(let partition, let next, let end, let store):
            "\(partition) ends at offset \(end), before \(next) that \(store) has folded: the log was truncated or is another one; give the right --log, or fold into a fresh --data directory"
        case .otherTopic(let topic, let store):
            "topic '\(topic)' was created anew, or lies in another cluster, since \(store) began: its offsets mean other records; fold it into a fresh --data directory"
        case .topicRenamed(let store, let folded, let configured):
            "\(store) folds topic '\(folded)', and the pipeline names '\(configured)': name the old topic, or fold into a fresh --data directory"
        case .historyChanged(let detail, let store):
            "\(detail), and \(store) has folded records under the old text: take the change back, or replay (weir replay --into DIR --configuration present) and promote what that gives (weir promote DIR)"
        case .dedupeMemoryFull(let ids, let bound, let stream):
            "the dedupe memory of \(stream) holds \(ids) ids and dedupe_max_ids is \(bound): raise it in the pipeline's file (32 bytes of memory an id), then start again: nothing is lost"
        case .unknownPartition(let partition, let topic):
            "--partitions names \(partition), which topic '\(topic)' does not have: see weir topics list"
        case .otherRecords(let partition, let offset, let store):
            "\(partition) holds another record at offset \(offset) than \(store) has folded: the topic was created anew, or its log lost its end and was written on; nothing more is folded. Give --log the one that was folded, or move the store away and fold again (ops/runbooks/topic-made-anew.md)"
        case .offsetsAgain(let partition, let offset, let expected):
            "\(partition) gave offset \(offset) where \(expected) was to come: nothing of it was folded; see weir lag and the cluster, then start again"
        case .partitionCountChanged(let topic, let folded, let now, let store):
            "topic '\(topic)' has \(now) partitions, and had \(folded) when \(store) folded it: the same key may now land in another partition, where its duplicates are not known. Nothing is lost. Start with --accept-partition-count \(now) to go on so (ids seen before the change are then not recognised in their new partition), or fold into a fresh --data directory"
        case .unexpected(let detail): detail
        }
    }
}
