/// A record with bytes of its own, to be compared with another.
struct RecordCopy: Equatable {
    var partition: Int32
    var offset: Int64
    var timestampMilliseconds: Int64
    var key: [UInt8]?
    /// In the form of `RecordHeaders`.
    var headers: [UInt8]
    var value: [UInt8]?
}

extension RecordCopy {
    /// Copies a record.
    init(_ record: RecordView) {
        self.init(
            partition: record.partition, offset: record.offset,
            timestampMilliseconds: record.timestampMilliseconds,
            key: record.key.map { Array($0) }, headers: record.headers.encodedBytes(),
            value: record.value.map { Array($0) })
    }
}
