import Synchronization

/// The keys of SKAdNetwork on one curve, each with the verdict that its signatures get.
///
/// The key that fitted last is tried first, since postbacks of one signer come together. That changes
/// no verdict: no key is here twice, and nobody can make one signature fit two given keys.
final class KeyRing<Key: Sendable>: Sendable {
    private let keys: [(key: Key, verdict: Verdict)]
    private let lastFit = Atomic<Int>(0)

    /// Keys by their SubjectPublicKeyInfo; one that is production and development is production.
    init(production: [(spki: [UInt8], key: Key)], development: [(spki: [UInt8], key: Key)]) {
        var seen: Set<[UInt8]> = []
        keys =
            production.filter { seen.insert($0.spki).inserted }.map { ($0.key, .valid) }
            + development.filter { seen.insert($0.spki).inserted }.map { ($0.key, .development) }
    }

    /// The verdict of the key that `fits`.
    func verdict(where fits: (Key) -> Bool) -> Verdict? {
        let likely = lastFit.load(ordering: .relaxed)
        if keys.indices.contains(likely), fits(keys[likely].key) { return keys[likely].verdict }
        for (index, entry) in keys.enumerated() where index != likely && fits(entry.key) {
            lastFit.store(index, ordering: .relaxed)
            return entry.verdict
        }
        return nil
    }
}
