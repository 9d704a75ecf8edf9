import COpenSSL
import Crypto
import JSON
import Synchronization

/// A public key for verifying signatures.
package enum VerificationKey: Sendable {
    case p192(P192PublicKey)
    case p256(P256PublicKey)

    /// An X.509 SubjectPublicKeyInfo in DER; nil for other curves.
    package init?(spki: [UInt8]) {
        if let key = try? P256.Signing.PublicKey(derRepresentation: spki) {
            self = .p256(P256PublicKey(key))
        } else if let key = P192PublicKey(spki: spki) {
            self = .p192(key)
        } else {
            return nil
        }
    }

    /// A SubjectPublicKeyInfo in base64, as in Apple's documentation and in configuration.
    package init?(base64 text: String) {
        var spki: [UInt8] = []
        let decoded = Array(text.utf8).withUnsafeBytes {
            Base64.standard.decode($0, into: &spki)
        }
        guard decoded != nil else { return nil }
        self.init(spki: spki)
    }

    /// Whether `der` is the DER form of an ECDSA signature by this key of the SHA-256 of `text`; false for anything
    /// else.
    package func isValidSignature(
        _ der: UnsafeRawBufferPointer,
        over text: UnsafeRawBufferPointer
    ) -> Bool {
        let digest = SHA256.hash(data: text)
        switch self {
        case .p192(let key):
            return digest.withUnsafeBytes { key.isValidSignature(der, for: $0) }
        case .p256(let key):
            guard let signature = P256.Signing.ECDSASignature(boundedDER: der) else { return false }
            return key.isValidSignature(signature, for: digest)
        }
    }
}

extension P256.Signing.ECDSASignature {
    /// Longest DER form of a P-256 signature.
    private static let maximumDERBytes = 72

    /// Nil for anything that is not a signature. Rejects longer input, which the sender controls, before parsing.
    init?(boundedDER der: UnsafeRawBufferPointer) {
        guard der.count <= Self.maximumDERBytes else { return nil }
        try? self.init(derRepresentation: der)
    }
}

/// A P-192 public key, parsed once by libcrypto. BoringSSL has no P-192.
///
/// `@unchecked Sendable`: the key does not change after `init`, libcrypto's reference counts and caches are
/// thread-safe, and every verification creates its own context (1% of its time).
package final class P192PublicKey: @unchecked Sendable {
    private let key: OpaquePointer

    /// An X.509 SubjectPublicKeyInfo in DER; nil for anything else.
    init?(spki: [UInt8]) {
        let parsed = spki.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard var cursor = buffer.baseAddress else { return nil }
            let end = cursor + buffer.count
            let key = withUnsafeMutablePointer(to: &cursor) { pointer in
                pointer.withMemoryRebound(to: UnsafePointer<UInt8>?.self, capacity: 1) {
                    d2i_PUBKEY(nil, $0, buffer.count)
                }
            }
            guard cursor == end, let key, Self.isP192(key) else {
                EVP_PKEY_free(key)
                return nil
            }
            return key
        }
        ERR_clear_error()
        guard let parsed else { return nil }
        key = parsed
    }

    deinit { EVP_PKEY_free(key) }

    /// Whether `der` is a signature by this key of `digest`, a SHA-256; false for anything else.
    func isValidSignature(
        _ der: UnsafeRawBufferPointer,
        for digest: UnsafeRawBufferPointer
    ) -> Bool {
        guard !der.isEmpty, let context = EVP_PKEY_CTX_new(key, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        let signature = der.bindMemory(to: UInt8.self)
        let hash = digest.bindMemory(to: UInt8.self)
        guard EVP_PKEY_verify_init(context) == 1,
            EVP_PKEY_verify(
                context,
                signature.baseAddress,
                signature.count,
                hash.baseAddress,
                hash.count
            ) == 1
        else {
            ERR_clear_error()
            return false
        }
        return true
    }

    private static func isP192(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 32)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return false }
        return name.prefix(length).elementsEqual(
            "prime192v1".utf8.lazy.map(CChar.init(bitPattern:))
        )
    }
}

/// The digest of a shared secret that a store keeps, to detect a change of the secret.
///
/// Stores folded from the same log under the same configuration must be equal, so the salt is not random. It is the
/// bundle id, which distinguishes equal secrets of two apps. A plain hash would let an attacker guess a short secret,
/// so the digest is PBKDF2-HMAC-SHA-256, which makes each guess expensive. Apple's own secrets, 128 random bits,
/// cannot be guessed.
package enum SharedSecretDigest {
    /// About a tenth of a second for each secret, once in each process.
    private static let rounds: Int32 = 200_000

    private struct SaltedSecret: Hashable {
        let secret: [UInt8]
        let salt: [UInt8]
    }

    /// Every explanation reads the configuration again, and with it the same secrets.
    private static let derived = Mutex<[SaltedSecret: String]>([:])
    private static let mostDerived = 256

    /// 64 hex digits; nil if memory is exhausted.
    package static func digest(_ secret: [UInt8], bundleID: String) -> String? {
        let salted = SaltedSecret(
            secret: secret, salt: Array("weir shared secret \(bundleID)".utf8))
        if let digest = derived.withLock({ $0[salted] }) { return digest }
        guard let digest = derive(salted) else { return nil }
        derived.withLock { derived in
            if derived.count == mostDerived { derived = [:] }
            derived[salted] = digest
        }
        return digest
    }

    private static func derive(_ salted: SaltedSecret) -> String? {
        var digest = [UInt8](repeating: 0, count: 32)
        let isDerived = salted.secret.withUnsafeBufferPointer { secret in
            secret.withMemoryRebound(to: CChar.self) { password in
                PKCS5_PBKDF2_HMAC(
                    password.baseAddress, Int32(password.count), salted.salt,
                    Int32(salted.salt.count), rounds, EVP_sha256(), Int32(digest.count), &digest)
            }
        }
        guard isDerived == 1 else { return nil }
        return digest.hexDigits
    }
}
