import Crypto
import Dispatch
import Synchronization

/// P-256 signature verification only, which limits the workers that verify.
struct BareVerification {
    let key: P256.Signing.PublicKey
    let signatures: [(P256.Signing.ECDSASignature, SHA256Digest)]

    /// Verifies the signatures on this many threads, each with its own part and its own copy of the key; returns the
    /// number of valid ones.
    func validCount(on cores: Int) throws -> Int {
        let spki = key.derRepresentation
        let keys = try (0..<cores).map { _ in
            try P256.Signing.PublicKey(derRepresentation: spki)
        }
        let share = (signatures.count + cores - 1) / cores
        let parts = (0..<cores).map { Array(signatures.dropFirst($0 * share).prefix(share)) }
        let sum = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: cores) { core in
            let key = keys[core]
            let count = parts[core].reduce(0) { count, entry in
                key.isValidSignature(entry.0, for: entry.1) ? count + 1 : count
            }
            sum.withLock { $0 += count }
        }
        return sum.withLock { $0 }
    }
}
