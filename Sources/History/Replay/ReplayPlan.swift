/// What a replay of a stream would read, and what of it is still there.
package struct ReplayPlan: Sendable {
    /// A partition.
    package struct Partition: Sendable {
        /// Its number.
        package var partition: Int32
        /// The offset at which the replay would go on: that of the first record, or where an earlier run
        /// has stopped.
        package var fromOffset: Int64
        /// The offset behind the last record.
        package var toOffset: Int64
        /// What the log holds.
        package var log: Range<Int64>
        /// What the archive holds; nil when that is nothing, or there is none.
        package var archive: Range<Int64>?
        /// What was asked for, or is in the live store, and lies neither in the log nor in the archive.
        package var gone: Range<Int64>?

        /// Describes a partition.
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

        /// Records to be folded; where the log has gaps there are fewer.
        package var records: Int64 { toOffset - fromOffset }
    }

    /// Name of the stream.
    package var stream: String
    /// Name of the topic.
    package var topic: String
    /// Under which configuration it would be folded.
    package var mode: ReplayMode
    /// Whether there was no store to take recorded configurations from.
    package var lacksStore: Bool
    /// In order of their numbers.
    package var partitions: [Partition]
    /// How fast a sample was folded; nil when there was nothing to be folded.
    package var recordsPerSecond: Double?

    /// Describes a stream.
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

    /// Records to be folded.
    package var records: Int64 { partitions.reduce(0) { $0 + $1.records } }

    /// About how long it would take, in seconds; nil when that is not known.
    package var seconds: Double? {
        if records == 0 { return 0 }
        return recordsPerSecond.map { Double(records) / $0 }
    }
}

/// The beginning of a partition that was asked for, and is in neither the log nor an archive any more: nothing
/// that is folded now counts it.
package struct LostHistory: Equatable, Sendable {
    /// Name of the topic.
    package var topic: String
    /// The partition's number.
    package var partition: Int32
    /// The offsets that were asked for and are gone. Where a time says what is asked for, some of them may lie
    /// before it.
    package var offsets: Range<Int64>
    /// The timestamp of the first record that is left, in milliseconds since 1970; nil for none.
    package var firstMilliseconds: Int64?
}
