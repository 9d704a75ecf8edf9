/// The records that a replay of a stream would read, and those that still exist.
package struct ReplayPlan: Sendable {
    package struct Partition: Sendable {
        package var partition: Int32
        /// The offset at which the replay would begin, or where an earlier run has stopped.
        package var fromOffset: Int64
        /// The end of the range; excluded.
        package var toOffset: Int64
        /// The offsets in the log.
        package var log: Range<Int64>
        /// The offsets in the archive; nil without an archive or if it is empty.
        package var archive: Range<Int64>?
        /// Offsets that were requested, or are in the live store, but are missing in both the log and the archive.
        package var gone: Range<Int64>?

        package init(
            partition: Int32, fromOffset: Int64, toOffset: Int64, log: Range<Int64>,
            archive: Range<Int64>?, gone: Range<Int64>?
        ) {
            self.partition = partition
            self.fromOffset = fromOffset
            self.toOffset = toOffset
            self.log = log
            self.archive = archive
            self.gone = gone
        }

        /// Records to fold; fewer if the log has gaps.
        package var records: Int64 { toOffset - fromOffset }
    }

    package var stream: String
    package var topic: String
    /// The configuration for folding.
    package var mode: ReplayMode
    /// Whether no store with recorded configurations exists.
    package var lacksStore: Bool
    /// In order of their numbers.
    package var partitions: [Partition]
    /// The speed of folding a sample; nil without records to fold.
    package var recordsPerSecond: Double?

    package init(
        stream: String, topic: String, mode: ReplayMode, lacksStore: Bool,
        partitions: [Partition], recordsPerSecond: Double?
    ) {
        self.stream = stream
        self.topic = topic
        self.mode = mode
        self.lacksStore = lacksStore
        self.partitions = partitions
        self.recordsPerSecond = recordsPerSecond
    }

    package var records: Int64 { partitions.reduce(0) { $0 + $1.records } }

    /// The estimated time in seconds; nil if unknown.
    package var seconds: Double? {
        if records == 0 { return 0 }
        return recordsPerSecond.map { Double(records) / $0 }
    }
}

/// The requested beginning of a partition that is gone from both the log and the archive: new stores do not count it.
package struct LostHistory: Equatable, Sendable {
    package var topic: String
    package var partition: Int32
    /// The requested offsets that are gone. If a time defines the range, some of them may be earlier than that time.
    package var offsets: Range<Int64>
    /// The timestamp of the first remaining record, in milliseconds since 1970; nil for none.
    package var firstMilliseconds: Int64?
}
