/// One record of a log, its bytes borrowed.
///
/// The buffers belong to the `RecordBatch` that the view came from and are valid until that batch is
/// filled again or freed. Whoever needs bytes for longer copies them.
package struct RecordView {
    /// Number of the partition, from 0.
    package var partition: Int32
    /// Place in the partition, from 0; offsets grow, and may have gaps.
    package var offset: Int64
    /// Milliseconds since 1970 (UTC), as the log gives them; -1 when the log has none.
    package var timestampMilliseconds: Int64
    /// The key, or nil when the record has none.
    package var key: UnsafeRawBufferPointer?
    /// The headers.
    package var headers: RecordHeaders
    /// The value, or nil for a tombstone.
    package var value: UnsafeRawBufferPointer?

    /// Makes a view of bytes that outlive it.
    package init(
        partition: Int32, offset: Int64, timestampMilliseconds: Int64,
        key: UnsafeRawBufferPointer?, headers: RecordHeaders, value: UnsafeRawBufferPointer?
    ) {
        self.partition = partition
        self.offset = offset
        self.timestampMilliseconds = timestampMilliseconds
        self.key = key
        self.headers = headers
        self.value = value
    }
}
