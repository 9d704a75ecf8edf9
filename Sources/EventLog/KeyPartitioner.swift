/// Chooses the partition of a record as Kafka's Java client does: by murmur2 of its key.
package enum KeyPartitioner {
    /// The partition of a record with this key; without a key that of its value, and 0 without both.
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
    package static func murmur2(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
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
