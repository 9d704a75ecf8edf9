/// The stores that ingested a partition, in order, each with its first offset: the note of the group's offset. It
/// shows a store that is an older copy which records it once had.
struct PartitionOwners: Equatable {
    private struct Taker: Equatable {
        let store: String
        let from: Int64
    }

    /// Limits the note to 4096 bytes, the brokers' maximum.
    static let mostTakers = 70
    private static let longestName = 32
    private static let tag = "weir-deliveries"
    private var takers: [Taker]

    /// Empty if the note is missing or was written by another program.
    init(metadata: String) {
        let words = metadata.split(separator: " ")
        let start = words.firstIndex { $0 == Self.tag }.map { $0 + 1 } ?? words.endIndex
        takers = words[start...].compactMap {
            word in
            let parts = word.split(separator: ":", maxSplits: 1)
            guard let store = parts.first, store.utf8.count <= Self.longestName else { return nil }
            // Earlier versions named only the last store.
            return Taker(store: String(store), from: parts.count > 1 ? Int64(parts[1]) ?? 0 : 0)
        }
    }

    var metadata: String {
        ([Self.tag] + takers.map { "\($0.store):\($0.from)" }).joined(separator: " ")
    }

    /// Notes that a store ingests everything from an offset on.
    mutating func begin(_ store: String, at offset: Int64) {
        takers.removeAll { $0.from >= offset }
        if takers.last?.store != store { takers.append(Taker(store: store, from: offset)) }
        takers.removeFirst(max(0, takers.count - Self.mostTakers))
    }

    /// The first record that a store once ingested and now lacks; nil if it has all of its own.
    ///
    /// - Parameters:
    ///   - next: the store's offset.
    ///   - end: the group's offset.
    func lostStart(of store: String, at next: Int64, before end: Int64) -> Int64? {
        for (index, taker) in takers.enumerated() where taker.store == store {
            let until = takers.dropFirst(index + 1).first?.from ?? end
            guard max(next, taker.from) < min(until, end) else { continue }
            // The owner of records before the first known one is unknown.
            return next < takers[0].from ? next : max(next, taker.from)
        }
        return nil
    }
}
