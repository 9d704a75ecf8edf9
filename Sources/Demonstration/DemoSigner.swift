import COpenSSL
import Crypto
import Foundation

/// Signs with ECDSA on P-256, and gives the same signature each time.
///
/// swift-crypto draws a random nonce for each signature. The records of the demo have to be the same in every run, so
/// their nonce follows from the key and the signed bytes. Never do this with a key that protects something.
struct DemoSigner: Sendable {
    private let secret: Data
    /// SubjectPublicKeyInfo in base64.
    let publicKey: String

    /// Created once, because its tables take longer than a signature. It is only read.
    nonisolated(unsafe) private static let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)

    /// - Parameter text: the key follows from it.
    init(_ text: String) throws {
        secret = Data(SHA256.hash(data: Data(text.utf8)))
        publicKey = try P256.Signing.PrivateKey(rawRepresentation: secret).publicKey
            .derRepresentation.base64EncodedString()
    }

    func signature(for bytes: Data) throws -> P256.Signing.ECDSASignature {
        let digest = Data(SHA256.hash(data: bytes))
        let nonce = Data(
            HMAC<SHA256>.authenticationCode(
                for: digest, using: SymmetricKey(data: secret)))
        guard let context = BN_CTX_new() else { throw DemoError.libcrypto }
        defer { BN_CTX_free(context) }
        guard let group = Self.curve else { throw DemoError.libcrypto }
        let point = EC_POINT_new(group)
        defer { EC_POINT_free(point) }
        BN_CTX_start(context)
        defer { BN_CTX_end(context) }
        let order = EC_GROUP_get0_order(group)
        let (x, r, s) = (BN_CTX_get(context), BN_CTX_get(context), BN_CTX_get(context))
        // s = (digest + r * secret) / nonce, modulo the order (FIPS 186-5, section 6.4.1).
        guard let k = Self.number(nonce), let e = Self.number(digest),
            let d = Self.number(secret)
        else { throw DemoError.libcrypto }
        defer { for number in [k, e, d] { BN_free(number) } }
        guard EC_POINT_mul(group, point, k, nil, nil, context) == 1,
            EC_POINT_get_affine_coordinates(group, point, x, nil, context) == 1,
            BN_nnmod(r, x, order, context) == 1,
            BN_mod_mul(s, r, d, order, context) == 1,
            BN_mod_add(s, s, e, order, context) == 1,
            BN_mod_inverse(k, k, order, context) != nil,
            BN_mod_mul(s, s, k, order, context) == 1
        else { throw DemoError.libcrypto }
        return try P256.Signing.ECDSASignature(
            rawRepresentation: try Self.bytes(r) + Self.bytes(s))
    }

    private static func number(_ bytes: Data) -> OpaquePointer? {
        bytes.withUnsafeBytes {
            BN_bin2bn($0.bindMemory(to: UInt8.self).baseAddress, Int32($0.count), nil)
        }
    }

    private static func bytes(_ number: OpaquePointer?) throws -> Data {
        var bytes = [UInt8](repeating: 0, count: 32)
        guard BN_bn2binpad(number, &bytes, 32) == 32 else { throw DemoError.libcrypto }
        return Data(bytes)
    }
}

enum DemoError: Error {
    /// A function of libcrypto failed, for example because memory ran out.
    case libcrypto
}
