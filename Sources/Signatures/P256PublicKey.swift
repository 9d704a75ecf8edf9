import COpenSSL
import Crypto
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A P-256 public key.
///
/// A few keys of Apple make most signatures, and half the time of a verification multiplies the key. So the multiples
/// of a frequently used key are computed once, and libcrypto then adds them up. Both ways have the same result for
/// every signature.
package final class P256PublicKey: Sendable {
    /// Computing the multiples takes about as long as they save in this number of verifications.
    private static let usesBeforeMultiples = 1000

    private let key: P256.Signing.PublicKey
    private let uses = Atomic<Int>(0)
    private let multiples = AtomicLazyReference<KeyMultiples>()

    package init(_ key: P256.Signing.PublicKey) {
        self.key = key
    }

    /// Whether `signature` is a signature of `digest` by this key.
    func isValidSignature(
        _ signature: P256.Signing.ECDSASignature, for digest: some Digest
    ) -> Bool {
        if let multiples = multiples.load(),
            let isValid = multiples.isValidSignature(signature.rawRepresentation, for: digest)
        {
            return isValid
        }
        // One thread computes them, and the others do not wait.
        if uses.add(1, ordering: .relaxed).oldValue == Self.usesBeforeMultiples {
            precomputeMultiples()
        }
        return key.isValidSignature(signature, for: digest)
    }

    var hasMultiples: Bool { multiples.load() != nil }

    /// Computes the multiples now.
    ///
    /// - Returns: false if libcrypto cannot; signatures are then verified without them.
    @discardableResult
    func precomputeMultiples() -> Bool {
        guard let computed = KeyMultiples(x963Point: key.x963Representation) else { return false }
        _ = multiples.storeIfNil(computed)
        return true
    }
}

/// Multiples of a point of P-256, and the verification of ECDSA signatures with them (FIPS 186-5, section 6.4.2).
///
/// libcrypto computes multiples of a group's generator only. So there is a second group, equal except that its
/// generator is the key. About 150 KB.
///
/// `@unchecked Sendable`: the groups do not change after `init`, and each verification creates its other state.
private final class KeyMultiples: @unchecked Sendable {
    private let curve: OpaquePointer
    private let keyGroup: OpaquePointer

    init?(x963Point: Data) {
        guard let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else { return nil }
        guard let keyGroup = EC_GROUP_dup(curve) else {
            EC_GROUP_free(curve)
            return nil
        }
        self.curve = curve
        self.keyGroup = keyGroup
        let point = EC_POINT_new(curve)
        defer {
            EC_POINT_free(point)
            ERR_clear_error()
        }
        let isRead = x963Point.withUnsafeBytes {
            EC_POINT_oct2point(
                curve, point, $0.bindMemory(to: UInt8.self).baseAddress, $0.count, nil)
        }
        guard isRead == 1,
            EC_GROUP_set_generator(
                keyGroup, point, EC_GROUP_get0_order(curve), EC_GROUP_get0_cofactor(curve)) == 1,
            EC_GROUP_precompute_mult(keyGroup, nil) == 1
        else { return nil }
    }

    deinit {
        EC_GROUP_free(keyGroup)
        EC_GROUP_free(curve)
    }

    /// - Parameter signature: `r` and `s`, 32 bytes each.
    /// - Returns: nil if libcrypto could not compute it.
    func isValidSignature(_ signature: Data, for digest: some Digest) -> Bool? {
        guard signature.count == 64, let context = BN_CTX_new() else { return nil }
        BN_CTX_start(context)
        let sum = EC_POINT_new(curve)
        let keyMultiple = EC_POINT_new(keyGroup)
        defer {
            EC_POINT_free(keyMultiple)
            EC_POINT_free(sum)
            BN_CTX_end(context)
            BN_CTX_free(context)
            ERR_clear_error()
        }
        let order = EC_GROUP_get0_order(curve)
        let (r, s) = (BN_CTX_get(context), BN_CTX_get(context))
        let (e, w) = (BN_CTX_get(context), BN_CTX_get(context))
        // The last is nil if any of them is.
        guard let x = BN_CTX_get(context) else { return nil }
        let isRead = signature.withUnsafeBytes { bytes in
            let bytes = bytes.bindMemory(to: UInt8.self).baseAddress
            return BN_bin2bn(bytes, 32, r) != nil && BN_bin2bn(bytes.map { $0 + 32 }, 32, s) != nil
        }
        let isHashed = digest.withUnsafeBytes {
            $0.count == 32 && BN_bin2bn($0.bindMemory(to: UInt8.self).baseAddress, 32, e) != nil
        }
        guard isRead, isHashed else { return nil }
        for number in [r, s] where BN_is_zero(number) == 1 || BN_cmp(number, order) >= 0 {
            return false
        }
        // u1 = e / s and u2 = r / s; the point u1 * generator + u2 * key has x = r.
        guard BN_mod_inverse(w, s, order, context) != nil,
            BN_mod_mul(e, e, w, order, context) == 1, BN_mod_mul(w, r, w, order, context) == 1,
            EC_POINT_mul(curve, sum, e, nil, nil, context) == 1,
            EC_POINT_mul(keyGroup, keyMultiple, w, nil, nil, context) == 1,
            EC_POINT_add(curve, sum, sum, keyMultiple, context) == 1
        else { return nil }
        guard EC_POINT_is_at_infinity(curve, sum) == 0 else { return false }
        guard EC_POINT_get_affine_coordinates(curve, sum, x, nil, context) == 1,
            BN_nnmod(x, x, order, context) == 1
        else { return nil }
        return BN_cmp(x, r) == 0
    }
}
