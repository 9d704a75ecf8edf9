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
    ///
    /// - Parameter inverse: that of the signature, if it is known.
    func isValidSignature(
        _ signature: P256.Signing.ECDSASignature, for digest: some Digest,
        inverse: P256Inverse? = nil
    ) -> Bool {
        if let multiples = multiples.load(),
            let isValid = multiples.isValidSignature(
                signature.rawRepresentation, for: digest, inverse: inverse)
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

    /// - Parameters:
    ///   - signature: `r` and `s`, 32 bytes each.
    ///   - inverse: that of `s`; nil if it is not known.
    /// - Returns: nil if libcrypto could not compute it.
    func isValidSignature(
        _ signature: Data, for digest: some Digest, inverse: P256Inverse?
    ) -> Bool? {
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
        let (x, z) = (BN_CTX_get(context), BN_CTX_get(context))
        // The last is nil if any of them is.
        guard let candidate = BN_CTX_get(context) else { return nil }
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
        let isInverted =
            inverse?.read(into: w) ?? (BN_mod_inverse(w, s, order, context) != nil)
        guard isInverted,
            BN_mod_mul(e, e, w, order, context) == 1, BN_mod_mul(w, r, w, order, context) == 1,
            EC_POINT_mul(curve, sum, e, nil, nil, context) == 1,
            EC_POINT_mul(keyGroup, keyMultiple, w, nil, nil, context) == 1,
            EC_POINT_add(curve, sum, sum, keyMultiple, context) == 1
        else { return nil }
        guard EC_POINT_is_at_infinity(curve, sum) == 0 else { return false }
        // The point is (x / z^2, y / z^3). Multiplying r is cheaper than dividing x.
        guard EC_POINT_get_Jprojective_coordinates_GFp(curve, sum, x, nil, z, context) == 1,
            let prime = EC_GROUP_get0_field(curve), BN_mod_sqr(z, z, prime, context) == 1
        else { return nil }
        // x of the point modulo the order is r, so x is r or, if that is below the prime, r + order.
        guard BN_copy(candidate, r) != nil else { return nil }
        while BN_cmp(candidate, prime) < 0 {
            guard BN_mod_mul(e, candidate, z, prime, context) == 1 else { return nil }
            if BN_cmp(e, x) == 0 { return true }
            guard BN_add(candidate, candidate, order) == 1 else { return nil }
        }
        return false
    }
}

/// `1 / s` modulo the order of P-256, where `s` is the second number of a signature. It does not depend on the key.
struct P256Inverse: Sendable {
    private let bytes: InlineArray<32, UInt8>

    fileprivate func read(into number: OpaquePointer?) -> Bool {
        bytes.span.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, 32, number) != nil }
    }
}

extension P256Inverse {
    /// The inverses of several signatures, which need one division for all of them: of three signatures,
    /// 1 / s3 = s1 * s2 * 1 / (s1 * s2 * s3), and so on with the rest.
    ///
    /// - Returns: nil for a missing signature and for one without an inverse; all nil if libcrypto cannot compute them.
    static func all(of signatures: [P256.Signing.ECDSASignature?]) -> [P256Inverse?] {
        let none = [P256Inverse?](repeating: nil, count: signatures.count)
        guard let context = BN_CTX_new() else { return none }
        BN_CTX_start(context)
        defer {
            BN_CTX_end(context)
            BN_CTX_free(context)
            ERR_clear_error()
        }
        guard let curve = P256Order.curve, let order = EC_GROUP_get0_order(curve),
            let product = BN_CTX_get(context), let inverse = BN_CTX_get(context)
        else { return none }
        // Each invertible s, with the product of those before it.
        var factors: [(index: Int, s: OpaquePointer, before: OpaquePointer)] = []
        factors.reserveCapacity(signatures.count)
        guard BN_set_word(product, 1) == 1 else { return none }
        for (index, signature) in signatures.enumerated() {
            guard let raw = signature?.rawRepresentation, raw.count == 64 else { continue }
            guard let s = BN_CTX_get(context), let before = BN_CTX_get(context) else { return none }
            let isRead = raw.withUnsafeBytes { bytes in
                let bytes = bytes.bindMemory(to: UInt8.self).baseAddress
                return BN_bin2bn(bytes.map { $0 + 32 }, 32, s) != nil
            }
            guard isRead else { return none }
            if BN_is_zero(s) == 1 || BN_cmp(s, order) >= 0 { continue }
            guard BN_copy(before, product) != nil,
                BN_mod_mul(product, product, s, order, context) == 1
            else { return none }
            factors.append((index, s, before))
        }
        guard !factors.isEmpty else { return none }
        guard BN_mod_inverse(product, product, order, context) != nil else { return none }
        var inverses = none
        for factor in factors.reversed() {
            guard BN_mod_mul(inverse, product, factor.before, order, context) == 1,
                BN_mod_mul(product, product, factor.s, order, context) == 1,
                let read = P256Inverse(inverse)
            else { return none }
            inverses[factor.index] = read
        }
        return inverses
    }

    private init?(_ number: OpaquePointer) {
        var bytes = InlineArray<32, UInt8>(repeating: 0)
        var span = bytes.mutableSpan
        let isWritten = span.withUnsafeMutableBufferPointer {
            BN_bn2binpad(number, $0.baseAddress, 32) == 32
        }
        guard isWritten else { return nil }
        self.bytes = bytes
    }
}

/// The group of the curve, which does not change.
private enum P256Order {
    nonisolated(unsafe) static let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
}
