import Synchronization

/// How many connections or requests each address has at once.
final class AddressLimit: Sendable {
    private let maxCount: Int
    private let counts = Mutex<[String: Int]>([:])

    init(maxCount: Int) {
        self.maxCount = maxCount
    }

    /// Counts one more; says whether that is within the limit. Whoever enters leaves, be it or not.
    func enter(_ address: String) -> Bool {
        counts.withLock { counts in
            counts[address, default: 0] += 1
            return counts[address, default: 0] <= maxCount
        }
    }

    /// Counts one less.
    func leave(_ address: String) {
        counts.withLock { counts in
            guard let count = counts[address] else { return }
            counts[address] = count > 1 ? count - 1 : nil
        }
    }
}
