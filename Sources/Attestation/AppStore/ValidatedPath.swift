import Crypto
import X509

/// A path from a leaf to pinned roots of which everything holds but the time, which the JWS decides.
struct ValidatedPath: Sendable {
    /// The leaf's key.
    let key: P256.Signing.PublicKey
    /// When leaf, intermediate and root are valid, for each root that issued the intermediate, in the
    /// order of configuration; at least one.
    private let validities: [Validity]

    /// Judges leaf <- intermediate <- root.
    ///
    /// The library's own verifier is asynchronous, and it searches. Here the path is given and the
    /// callers are plain threads that may not wait for the cooperative pool; what is left of it are
    /// three issuers, three validities and the extensions.
    init(_ path: AppStorePath, roots: [PinnedRoot]) throws(AppStoreFault) {
        guard let leaf = try? Certificate(derEncoded: path.leaf),
            let intermediate = try? Certificate(derEncoded: path.intermediate),
            leaf.hasOnlyKnownCriticalExtensions, intermediate.hasOnlyKnownCriticalExtensions
        else { throw .badCertificate }
        guard let key = P256.Signing.PublicKey(leaf.publicKey) else { throw .notECLeaf }
        guard leaf.has(Certificate.leafMark) else { throw .missingLeafOID }
        guard intermediate.has(Certificate.intermediateMark) else { throw .missingIntermediateOID }
        guard leaf.maySign, intermediate.mayIssue(intermediatesBelow: 0) else { throw .wrongUse }
        guard leaf.isIssued(by: intermediate) else { throw .brokenChain }
        let ownValidity = Validity(leaf).intersection(Validity(intermediate))
        self.key = key
        validities = roots.filter { $0.issued(intermediate) }
            .map { ownValidity.intersection($0.validity) }
        guard !validities.isEmpty else { throw .untrustedRoot }
    }

    /// What is wrong with the path at an instant, in milliseconds since 1970; nil when one of its
    /// roots makes it hold then.
    func fault(atMilliseconds instant: Int64) -> AppStoreFault? {
        var first: AppStoreFault?
        for validity in validities {
            guard let fault = validity.fault(atMilliseconds: instant) else { return nil }
            first = first ?? fault
        }
        return first
    }
}
