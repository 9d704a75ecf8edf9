import COpenSSL
import Crypto
import Foundation

/// Signs with ECDSA on P-256, and gives the same signature each time.
///
/// swift-crypto draws a random nonce for each signature. The records of the demo have to be the same in every run, so
/// their nonce follows from the signed bytes. It is one of a few, which are prepared once: that takes most of the time
/// of a signature. Two signatures with the same nonce show the key, so never do this with a key that protects something.
struct DemoSigner: Sendable {
    private let secret: Data
    /// SubjectPublicKeyInfo in base64.
    let publicKey: String

    /// - Parameter text: the key follows from it.
    init(_ text: String) throws {
        secret = Data(SHA256.hash(data: Data(text.utf8)))
        publicKey = try P256.Signing.PrivateKey(rawRepresentation: secret).publicKey
            .derRepresentation.base64EncodedString()
    }

    func signature(for bytes: Data) throws -> P256.Signing.ECDSASignature {
        let digest = Data(SHA256.hash(data: bytes))
        guard let group = Nonce.curve, !Nonce.all.isEmpty, let context = BN_CTX_new()
        else { throw DemoError.libcrypto }
        defer { BN_CTX_free(context) }
        let nonce = Nonce.all[Int(digest[0]) % Nonce.all.count]
        let order = EC_GROUP_get0_order(group)
        // s = (digest + r * secret) / nonce, modulo the order (FIPS 186-5, section 6.4.1).
        guard let e = Self.number(digest), let s = Self.number(secret)
        else { throw DemoError.libcrypto }
        defer { for number in [e, s] { BN_free(number) } }
        guard BN_mod_mul(s, s, nonce.r, order, context) == 1,
            BN_mod_add(s, s, e, order, context) == 1,
            BN_mod_mul(s, s, nonce.inverse, order, context) == 1
        else { throw DemoError.libcrypto }
        return try P256.Signing.ECDSASignature(
            rawRepresentation: try Self.bytes(nonce.r) + Self.bytes(s))
    }

    /// The parts of a signature that do not depend on key and bytes. They are created once, and only read.
    private struct Nonce: @unchecked Sendable {
        let r: OpaquePointer
        let inverse: OpaquePointer

        nonisolated(unsafe) static let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
        static let all = (0..<128).compactMap(Nonce.init)

        /// Nil if a function of libcrypto fails, for example because memory ran out.
        init?(_ index: Int) {
            let digest = Data(SHA256.hash(data: Data("nonce \(index)".utf8)))
            guard let group = Self.curve, let context = BN_CTX_new(),
                let k = DemoSigner.number(digest),
                let x = BN_new()
            else { return nil }
            defer { BN_CTX_free(context) }
            let point = EC_POINT_new(group)
            defer { EC_POINT_free(point) }
            let order = EC_GROUP_get0_order(group)
            guard EC_POINT_mul(group, point, k, nil, nil, context) == 1,
                EC_POINT_get_affine_coordinates(group, point, x, nil, context) == 1,
                BN_nnmod(x, x, order, context) == 1,
                BN_mod_inverse(k, k, order, context) != nil
            else { return nil }
            r = x
            inverse = k
        }
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
