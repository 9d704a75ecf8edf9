/// The stores that took a partition over, one after the other, and from which offset on each did: the note of the group's
/// offset. A store that is an older copy sees by it what it once had.
struct PartitionOwners: Equatable {
    private struct Taker: Equatable {
        let store: String
        let from: Int64
    }

    /// Brokers take no note of more than 4096 bytes.
    static let mostTakers = 70
    private static let longestName = 32
    private static let tag = "weir-deliveries"
    private var takers: [Taker]

    /// Of a note of another program, or of none, nobody is known.
    init(note: String) {
        let words = note.split(separator: " ")
        let start = words.firstIndex { $0 == Self.tag }.map { $0 + 1 } ?? words.endIndex
        takers = words[start...].compactMap {
            word in
            let parts = word.split(separator: ":", maxSplits: 1)
            guard let store = parts.first, store.utf8.count <= Self.longestName else { return nil }
            // Earlier versions named the last store alone.
            return Taker(store: String(store), from: parts.count > 1 ? Int64(parts[1]) ?? 0 : 0)
        }
    }

    var note: String {
        ([Self.tag] + takers.map { "\($0.store):\($0.from)" }).joined(separator: " ")
    }

    /// A store has everything from an offset on.
    mutating func begin(_ store: String, at offset: Int64) {
        takers.removeAll { $0.from >= offset }
        if takers.last?.store != store { takers.append(Taker(store: store, from: offset)) }
        takers.removeFirst(max(0, takers.count - Self.mostTakers))
    }

    /// The first record that a store took over and does not have; nil when it has all of its own.
    ///
    /// - Parameters:
    ///   - next: where the store is now.
    ///   - end: where the group is.
    func lostStart(of store: String, at next: Int64, before end: Int64) -> Int64? {
        for (place, taker) in takers.enumerated() where taker.store == store {
            let until = takers.dropFirst(place + 1).first?.from ?? end
            guard max(next, taker.from) < min(until, end) else { continue }
            // Who took over what lies before the first that is known cannot be told.
            return next < takers[0].from ? next : max(next, taker.from)
        }
        return nil
    }
}
