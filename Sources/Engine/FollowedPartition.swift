import EventLog
import Store

/// All that is known of a partition that is followed.
package struct FollowedPartition {
    /// The first record that is not stored; nil for a partition that is not taken.
    package internal(set) var nextOffset: Int64?
    /// Where the log ended when the partition was taken.
    package internal(set) var end: Int64 = 0
    /// Where the next record is expected in the log.
    var readOffset: Int64?
    /// Timestamp of the newest record, in milliseconds since 1970.
    var newestMilliseconds: Int64?
    /// `PartitionState.oldestExpected` of a partition of which nothing is folded, until its first record is read; 0
    /// where the log may start anywhere.
    var oldestExpected: Int64?
    /// The last record that is stored, of a partition that was just taken: it is read again, and must still be what it
    /// was.
    var lastStored: RecordFingerprint?
    /// What the group is told. A store that is being rebuilt repeats the offset that another store committed.
    var groupOffset: GroupOffset?
    /// Whether nothing is folded yet.
    var isUnfolded = false
    /// Whether something was not published before a stop: the group is not told, so that the next start publishes it.
    var isUnpublished = false
    /// Until where an older copy of a store takes over again what it once had.
    package var repeatedUntil: Int64?
    /// Added to the note of each offset that the group is told.
    package var groupNote = ""
    /// Stored records: the last one as of the look before, and the last one of each batch since. What is stored later
    /// may be of another log. They are kept when the partition is dropped: they tell what the store has of it.
    var marks: [RecordFingerprint] = []
    /// Whether the hours that the store has were compared since the partition was taken.
    var isCompared = false
    /// Whether the log is looked at before anything else of it is stored.
    var isDoubted = false

    /// So many marks are kept at most; of more, every second one is.
    private static let marksKept = 4096

    /// Begins where a store of aggregates is.
    mutating func begin(at state: PartitionState, _ committed: GroupOffset?) {
        groupOffset = committed
        newestMilliseconds = state.watermarkMilliseconds
        if state.records == 0 {
            isUnfolded = true
            oldestExpected = state.oldestExpected ?? 0
        }
    }

    mutating func add(_ mark: RecordFingerprint) {
        if marks.count >= Self.marksKept {
            marks = marks.enumerated().filter { $0.offset.isMultiple(of: 2) }
                .map(\.element)
        }
        marks.append(mark)
    }
}
