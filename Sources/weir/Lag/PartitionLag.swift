/// How far behind its log a partition of a store is.
struct PartitionLag: Equatable {
    /// Number of the partition.
    var partition: Int32
    /// Path of the store; nil for a partition that no store has.
    var store: String?
    /// The first record that is not folded.
    var nextOffset: Int64?
    /// The first offset that the log holds; nil when the log has no such partition.
    var earliestOffset: Int64?
    /// Offset that the log's next record will get.
    var endOffset: Int64?
    /// Whether the log does not answer for this partition now.
    var isUnanswered = false
    /// Records to be folded; nil when the store cannot go on, or the log does not answer.
    var lag: Int64?
    /// Age of the first of them; nil when it is not known.
    var lagSeconds: Int64?
    /// What the stream's consumer group has told the log.
    var committedOffset: Int64?
    /// What is wrong, and what to do.
    var note: String?
}
