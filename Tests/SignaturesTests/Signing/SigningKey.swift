import COpenSSL
import Crypto
import Foundation

struct KeyFailure: Error {}

enum SigningKey {
    case p192(P192PrivateKey)
    case p256(P256.Signing.PrivateKey)

    static func p192() throws -> SigningKey { .p192(try P192PrivateKey()) }
    static func p256() -> SigningKey { .p256(P256.Signing.PrivateKey()) }

    /// SubjectPublicKeyInfo in base64.
    var publicKey: String {
        get throws {
            switch self {
            case .p192(let key): try Data(key.spki()).base64EncodedString()
            case .p256(let key): key.publicKey.derRepresentation.base64EncodedString()
            }
        }
    }

    /// DER in base64.
    func sign(_ text: [UInt8]) throws -> String {
        let digest = SHA256.hash(data: text)
        switch self {
        case .p192(let key): return try Data(key.sign(Array(digest))).base64EncodedString()
        case .p256(let key):
            return try key.signature(for: digest).derRepresentation.base64EncodedString()
        }
    }
}

/// A P-192 key pair, which swift-crypto cannot make.
final class P192PrivateKey {
    private let key: OpaquePointer

    init() throws {
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var made: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_group_name(context, "prime192v1") == 1,
            EVP_PKEY_generate(context, &made) == 1, let made
        else { throw KeyFailure() }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    func spki() throws -> [UInt8] {
        var start: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &start)
        guard count > 0, let start else { throw KeyFailure() }
        defer { CRYPTO_free(start, nil, 0) }
        return Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    func sign(_ digest: [UInt8]) throws -> [UInt8] {
        let context = EVP_PKEY_CTX_new(key, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: 128)
        var count = signature.count
        guard EVP_PKEY_sign_init(context) == 1,
            EVP_PKEY_sign(context, &signature, &count, digest, digest.count) == 1
        else { throw KeyFailure() }
        return Array(signature.prefix(count))
    }
}
