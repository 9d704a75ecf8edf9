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

    /// Adds two symbols as one word.
    @inline(__always)
    package mutating func combine(_ first: Symbol, _ second: Symbol) {
        combine(UInt64(first.number) << 32 | UInt64(second.number))
    }

    /// The hash of bytes.
    @inline(__always)
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = RowHasher()
        hasher.combine(UInt64(bytes.count))
        var position = 0
        while position + 8 <= bytes.count {
            hasher.combine(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        var tail: UInt64 = 0
        while position < bytes.count {
            tail = tail << 8 | UInt64(bytes[position])
            position += 1
        }
        hasher.combine(tail)
        return hasher.value
    }
}
