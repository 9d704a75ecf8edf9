package struct RecordPosition: Equatable, Sendable {
    package var partition: Int32
    package var offset: Int64

    package init(partition: Int32, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }
}

/// Appends records from one thread.
package protocol LogWriter: AnyObject {
    /// Appends records in order. Returns their positions in the same order once all are durable. After an error no
    /// record was appended, or on Kafka an unknown part of them.
    ///
    /// A record without a partition goes to murmur2(key) modulo the number of partitions, as with Kafka's clients.
    /// Without a key, murmur2(value) replaces murmur2(key). A tombstone without a key goes to partition 0.
    ///
    /// - Parameter isWanted: called several times a second while the append waits for brokers. If it returns false,
    ///   the append stops and throws `unavailable`.
    @discardableResult
    func append(
        _ records: [OutgoingRecord], while isWanted: () -> Bool
    ) throws(LogError) -> [RecordPosition]
}

extension LogWriter {
    /// Waits for brokers as long as the log allows.
    @discardableResult
    package func append(_ records: [OutgoingRecord]) throws(LogError) -> [RecordPosition] {
        try append(records, while: { true })
    }
}

package struct OutgoingRecord: Sendable {
    package struct Header: Sendable, Equatable {
        package var name: String
        /// Nil for a null value.
        package var value: [UInt8]?

        package init(name: String, value: [UInt8]?) {
            self.name = name
            self.value = value
        }

        package init(_ name: String, _ text: String) {
            self.init(name: name, value: Array(text.utf8))
        }
    }

    package var topic: String
    /// Nil lets the writer choose by murmur2 of the key.
    package var partition: Int32?
    /// Milliseconds since 1970 (UTC); nil lets the log set the time of the append.
    package var timestampMilliseconds: Int64?
    package var key: [UInt8]?
    package var headers: [Header]
    /// Nil for a tombstone.
    package var value: [UInt8]?

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

/// Chooses the partition of a record as Kafka's Java client does, by murmur2.
package enum KeyPartitioner {
    /// The partition by the key, or by the value if the key is nil; 0 without both.
    ///
    /// - Parameter partitionCount: at least 1.
    package static func partition(
        key: [UInt8]?,
        value: [UInt8]?,
        partitionCount: Int32
    ) -> Int32 {
        guard let chosen = key ?? value, partitionCount > 1 else { return 0 }
        let positive = chosen.withUnsafeBytes { murmur2($0) } & 0x7fff_ffff
        return Int32(truncatingIfNeeded: positive % UInt32(partitionCount))
    }

    /// 32-bit MurmurHash2 with Kafka's seed.
    static func murmur2(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        let multiplier: UInt32 = 0x5bd1_e995
        var hash = 0x9747_b28c ^ UInt32(truncatingIfNeeded: bytes.count)
        let wholeWords = bytes.count & ~3
        for position in stride(from: 0, to: wholeWords, by: 4) {
            var word = UInt32(
                littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)
            )
            word &*= multiplier
            word ^= word >> 24
            word &*= multiplier
            hash &*= multiplier
            hash ^= word
        }
        if wholeWords < bytes.count {
            for position in wholeWords..<bytes.count {
                hash ^= UInt32(bytes[position]) << UInt32(8 * (position - wholeWords))
            }
            hash &*= multiplier
        }
        hash ^= hash >> 13
        hash &*= multiplier
        hash ^= hash >> 15
        return hash
    }
}
