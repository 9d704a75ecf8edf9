import EventLog
import Store

/// The state of a followed partition.
package struct FollowedPartition {
    /// The first record that is not stored; nil for an unassigned partition.
    package internal(set) var nextOffset: Int64?
    /// The end of the log when the partition was assigned.
    package internal(set) var end: Int64 = 0
    /// The expected offset of the next record in the log.
    var readOffset: Int64?
    /// The newest record's timestamp, in milliseconds since 1970.
    var newestMilliseconds: Int64?
    /// `PartitionState.oldestExpected` of a partition without folded records, until its first record is read; 0 if the
    /// log may start anywhere.
    var oldestExpected: Int64?
    /// The last stored record of a newly assigned partition: it is read again, and must be unchanged.
    var lastStored: RecordFingerprint?
    /// The offset to commit to the group. A store that is being rebuilt repeats the offset that another store
    /// committed.
    var groupOffset: GroupOffset?
    /// Whether no record is folded yet.
    var isUnfolded = false
    /// Whether a stop left records unpublished. Their offset is not committed, so that the next start publishes them.
    var isUnpublished = false
    /// An older copy of a store ingests its lost records again up to this offset.
    package var repeatedUntil: Int64?
    /// Added to the metadata of each committed offset.
    package var groupMetadata = ""
    /// Stored records: the last one at the previous check, and the last one of each batch since then. Records stored
    /// later may belong to another log. The marks outlive the assignment, because they describe the content of the
    /// store.
    var marks: [RecordFingerprint] = []
    /// Whether the store's hours were compared since the assignment.
    var isCompared = false
    /// Whether the log must be checked before more of it is stored.
    var isDoubted = false

    /// The maximum number of marks; beyond it, every second one is dropped.
    private static let marksKept = 4096

    /// Begins at the position of a store of aggregates.
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
