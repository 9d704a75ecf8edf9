import Synchronization

/// How many bytes the bodies of all requests have that are being received or answered: of all addresses, and
/// of each, so that none of them takes what the others need.
final class BodyTotal: Sendable {
    private struct Counts {
        var all = 0
        var byAddress: [String: Int] = [:]
    }

    private let maxCount: Int
    private let maxCountOfAddress: Int
    private let counts = Mutex(Counts())

    /// An address may hold a quarter of it all, and in any case one body of the greatest length.
    init(_ limits: CollectorLimits) {
        maxCount = limits.maxBodyBytesInFlight
        maxCountOfAddress = max(maxCount / 4, limits.maxBodyBytes, limits.maxBatchBytes)
    }

    /// Adds to the sums unless one of them would be more than is allowed.
    func add(_ count: Int, of address: String) -> Bool {
        counts.withLock { counts in
            let ofAddress = counts.byAddress[address, default: 0] + count
            guard counts.all + count <= maxCount, ofAddress <= maxCountOfAddress else {
                return false
            }
            counts.all += count
            counts.byAddress[address] = ofAddress
            return true
        }
    }

    /// Takes away from the sums.
    func subtract(_ count: Int, of address: String) {
        guard count > 0 else { return }
        counts.withLock { counts in
            counts.all -= count
            let rest = counts.byAddress[address, default: 0] - count
            counts.byAddress[address] = rest > 0 ? rest : nil
        }
    }
}
