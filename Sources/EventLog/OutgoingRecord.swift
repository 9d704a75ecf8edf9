/// A record to be appended to a log.
public struct OutgoingRecord: Sendable {
    /// A header: a name with bytes, or with null.
    public struct Header: Sendable, Equatable {
        /// Name of the header.
        public var name: String
        /// Bytes of the value; nil for a null value.
        public var value: [UInt8]?

        /// Makes a header of bytes.
        public init(name: String, value: [UInt8]?) {
            self.name = name
            self.value = value
        }

        /// Makes a header of text.
        public init(_ name: String, _ text: String) {
            self.init(name: name, value: Array(text.utf8))
        }
    }

    /// Name of the topic.
    public var topic: String
    /// The partition to append to; nil lets the writer choose by murmur2 of the key.
    public var partition: Int32?
    /// Milliseconds since 1970 (UTC); nil lets the log stamp the record as it is appended.
    public var timestampMilliseconds: Int64?
    /// The key; nil for none.
    public var key: [UInt8]?
    /// The headers, in order.
    public var headers: [Header]
    /// The value; nil for a tombstone.
    public var value: [UInt8]?

    /// Makes a record to be appended.
    public init(
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
