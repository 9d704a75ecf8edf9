import Streams

/// A blocked Bloom filter: 16 bits an id, all of an id's bits in one word of 64.
struct IDFilter {
    private var words: [UInt64]
    private let capacity: Int
    private(set) var count = 0

    /// Room for so many ids, and for at least 65,536.
    init(capacity: Int) {
        self.capacity = max(capacity, 65_536)
        words = Array(repeating: 0, count: self.capacity / 4)
    }

    /// True when it holds more ids than it was made for.
    var isFull: Bool { count > capacity }

    func mayContain(_ id: RecordID, partition: Int32) -> Bool {
        let (word, bits) = place(id, partition)
        return words[word] & bits == bits
    }

    mutating func insert(_ id: RecordID, partition: Int32) {
        let (word, bits) = place(id, partition)
        if words[word] & bits != bits { count += 1 }
        words[word] |= bits
    }

    private func place(_ id: RecordID, _ partition: Int32) -> (word: Int, bits: UInt64) {
        let mixed = id.high &+ UInt64(truncatingIfNeeded: partition) &* 0x9E37_79B9_7F4A_7C15
        let word = Int(mixed.multipliedFullWidth(by: UInt64(words.count)).high)
        let bits = (0..<4).reduce(UInt64(0)) { $0 | 1 << (id.low >> (UInt64($1) * 6) & 63) }
        return (word, bits)
    }
}
