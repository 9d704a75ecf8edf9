import CPageChecksums

/// The checksum of a record in a log.
package enum RecordSum {
    /// Over the offset, the time and all bytes; what is not there counts as another thing than what is
    /// empty.
    @inlinable
    package static func of(
        offset: Int64, timestampMilliseconds: Int64, key: UnsafeRawBufferPointer?,
        headers: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?
    ) -> Int64 {
        var record = weir_record(
            offset: offset, timestamp: timestampMilliseconds, key: key?.baseAddress,
            key_count: key?.count ?? 0, headers: headers?.baseAddress,
            headers_count: headers?.count ?? 0, value: value?.baseAddress,
            value_count: value?.count ?? 0, has_key: key != nil, has_value: value != nil)
        return weir_record_sum(&record)
    }
}
