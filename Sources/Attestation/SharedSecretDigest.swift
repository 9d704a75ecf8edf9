import COpenSSL

/// What a store may keep of a shared secret, to tell whether it has changed.
///
/// A store folded from the same log under the same configuration has to be the same, so the salt cannot
/// be random: it is the bundle id, which tells equal secrets of two apps apart. A secret that is short
/// could be guessed from a bare hash, so it goes through PBKDF2-HMAC-SHA-256, whose rounds make each
/// guess dear; Apple's own secrets, 128 random bits, are beyond guessing in any case.
package enum SharedSecretDigest {
    /// About a tenth of a second a secret, once at each start.
    private static let rounds: Int32 = 200_000

    /// The digest of a secret of a bundle: 64 hex digits; nil when there is no memory for it.
    package static func digest(_ secret: [UInt8], bundleID: String) -> String? {
        let salt = Array("weir shared secret \(bundleID)".utf8)
        var derived = [UInt8](repeating: 0, count: 32)
        let isDerived = secret.withUnsafeBufferPointer { secret in
            secret.withMemoryRebound(to: CChar.self) { password in
                PKCS5_PBKDF2_HMAC(
                    password.baseAddress, Int32(password.count), salt, Int32(salt.count), rounds,
                    EVP_sha256(), Int32(derived.count), &derived)
            }
        }
        guard isDerived == 1 else { return nil }
        return derived.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
