/// A record to be appended to a log.
package struct OutgoingRecord: Sendable {
    /// A header: a name with bytes, or with null.
    package struct Header: Sendable, Equatable {
        /// Name of the header.
        package var name: String
        /// Bytes of the value; nil for a null value.
        package var value: [UInt8]?

        /// Makes a header of bytes.
        package init(name: String, value: [UInt8]?) {
            self.name = name
            self.value = value
        }

        /// Makes a header of text.
        package init(_ name: String, _ text: String) {
            self.init(name: name, value: Array(text.utf8))
        }
    }

    /// Name of the topic.
    package var topic: String
    /// The partition to append to; nil lets the writer choose by murmur2 of the key.
    package var partition: Int32?
    /// Milliseconds since 1970 (UTC); nil lets the log stamp the record as it is appended.
    package var timestampMilliseconds: Int64?
    /// The key; nil for none.
    package var key: [UInt8]?
    /// The headers, in order.
    package var headers: [Header]
    /// The value; nil for a tombstone.
    package var value: [UInt8]?

    /// Makes a record to be appended.
    package init(
        topic: String,
        partition: Int32? = nil,
        timestampMilliseconds: Int64? = nil,
        key: [UInt8]?,
        headers: [Header] = [],
        value: [UInt8]?
    ) {
        self.topic = topic
        self.partition = partition
        self.timestampMilliseconds = timestampMilliseconds
        self.key = key
        self.headers = headers
        self.value = value
    }
}
