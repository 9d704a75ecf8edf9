/// Hashes keys for tables in memory. Seeded anew in each process, so that nobody can choose keys
/// that collide; what is stored never depends on it.
package struct RowHasher {
    private static let seed = UInt64.random(in: .min ... .max)
    private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15

    private var state = RowHasher.seed

    /// Starts a hash.
    package init() {}

    /// The hash of all that was combined.
    @inline(__always)
    package var value: UInt64 { state ^ (state >> 32) }

    /// Adds a word.
    @inline(__always)
    package mutating func combine(_ word: UInt64) {
        let product = (state ^ word).multipliedFullWidth(by: Self.multiplier)
        state = (product.high ^ product.low) &+ 0xD6E8_FEB8_6659_FD93
    }

    /// Adds a signed word.
    @inline(__always)
    package mutating func combine(_ word: Int64) { combine(UInt64(bitPattern: word)) }

    /// Adds a range of bytes.
    @inline(__always)
    mutating func combine(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        var position = range.lowerBound
        while position + 8 <= range.upperBound {
            combine(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        var tail: UInt64 = 0
        while position < range.upperBound {
            tail = tail << 8 | UInt64(bytes[position])
            position += 1
        }
        combine(tail)
    }

    /// The hash of bytes.
    @inline(__always)
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = RowHasher()
        hasher.combine(UInt64(bytes.count))
        hasher.combine(bytes, 0..<bytes.count)
        return hasher.value
    }
}
