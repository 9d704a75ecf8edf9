import EventLog

/// Where and when a record counts.
package struct RecordPlace {
    /// Place of the record in the batch that is folded.
    package var index: Int
    /// The partition that it was read from.
    package var partition: Int32
    /// Its offset.
    package var offset: Int64
    /// Its timestamp in milliseconds since 1970; one from before counts as 0.
    package var timestampMilliseconds: Int64
    /// The hour of the timestamp.
    package var hour: Hour

    @inline(__always)
    init(_ record: RecordView, index: Int) {
        self.index = index
        partition = record.partition
        offset = record.offset
        timestampMilliseconds = max(record.timestampMilliseconds, 0)
        hour = Hour(containing: timestampMilliseconds)
    }
}
