import COpenSSL
import Crypto
import Foundation
import Testing

@testable import Signatures

/// A key with its multiples and the same without give one verdict, that of swift-crypto, for whatever is signed.
@Suite("P-256 keys with multiples")
struct P256PublicKeyTests {
    @Test("Signatures hold, and altered ones do not, with multiples as without")
    func randomSignatures() throws {
        var holds = 0
        for _ in 0..<20 {
            let signer = P256.Signing.PrivateKey()
            let key = P256PublicKey(signer.publicKey)
            #expect(key.precomputeMultiples())
            for number in 0..<20 {
                let digest = SHA256.hash(data: Data("\(number)".utf8))
                let signature = try signer.signature(for: digest)
                #expect(key.isValidSignature(signature, for: digest))
                holds += 1
                var bytes = [UInt8](signature.rawRepresentation)
                bytes[Int.random(in: 0..<64)] ^= UInt8.random(in: 1...255)
                try expectSameVerdict(bytes, digest, signer.publicKey, key)
                #expect(
                    !key.isValidSignature(signature, for: SHA256.hash(data: Data("other".utf8))))
            }
        }
        #expect(holds == 400)
    }

    @Test("A key of somebody else does not fit")
    func otherKey() throws {
        let digest = SHA256.hash(data: Data("text".utf8))
        let signature = try P256.Signing.PrivateKey().signature(for: digest)
        let key = P256PublicKey(P256.Signing.PrivateKey().publicKey)
        #expect(key.precomputeMultiples())
        #expect(!key.isValidSignature(signature, for: digest))
    }

    @Test("Numbers at the edges of the group are judged as without multiples")
    func edges() throws {
        let signer = P256.Signing.PrivateKey()
        let key = P256PublicKey(signer.publicKey)
        #expect(key.precomputeMultiples())
        let order = Number.order
        let zero = Number(0)
        let one = Number(1)
        let most = Number(bytes: [UInt8](repeating: 0xFF, count: 32))
        let edges = [
            zero, one, Number(2), order, order.minus(one), order.plus(one), most, Number.prime,
            Number.prime.minus(order), Number.prime.minus(one),
        ]
        let digests = edges.map { FixedDigest(bytes: $0.bytes) }
        for r in edges {
            for s in edges {
                for digest in digests {
                    try expectSameVerdict(r.bytes + s.bytes, digest, signer.publicKey, key)
                }
            }
        }
    }

    @Test("Both multiples may be one point, and may cancel out")
    func equalAndOppositeMultiples() throws {
        for _ in 0..<20 {
            let signer = P256.Signing.PrivateKey()
            let key = P256PublicKey(signer.publicKey)
            #expect(key.precomputeMultiples())
            let d = Number(bytes: [UInt8](signer.rawRepresentation))
            let one = P256.Signing.PrivateKey()
            let k = Number(bytes: [UInt8](one.rawRepresentation))
            let x = Number(bytes: Array(one.publicKey.rawRepresentation.prefix(32)))
            let r = x.times(Number(1))
            // With e = r * d, u1 times the generator is u2 times the key.
            let e = r.times(d)
            let s = e.times(Number(2)).times(k.inverse())
            let signature = try P256.Signing.ECDSASignature(
                rawRepresentation: r.bytes + s.bytes)
            let digest = FixedDigest(bytes: e.bytes)
            #expect(signer.publicKey.isValidSignature(signature, for: digest))
            #expect(key.isValidSignature(signature, for: digest))
            // The negative signature holds too; with the negative digest the sum is no point at all.
            let negative = Number.order.minus(s)
            try expectSameVerdict(r.bytes + negative.bytes, digest, signer.publicKey, key)
            let opposite = FixedDigest(bytes: Number.order.minus(e).bytes)
            #expect(!key.isValidSignature(signature, for: opposite))
            try expectSameVerdict(r.bytes + s.bytes, opposite, signer.publicKey, key)
        }
    }

    @Test("Signatures whose inverses were computed together are judged as single ones")
    func inversesOfManySignatures() throws {
        let signer = P256.Signing.PrivateKey()
        let key = P256PublicKey(signer.publicKey)
        #expect(key.precomputeMultiples())
        let digests = (0..<40).map { SHA256.hash(data: Data("\($0)".utf8)) }
        let edges = [Number(0), Number.order, Number.order.minus(Number(1))]
        let signatures = try digests.enumerated().map { index, digest in
            switch index % 5 {
            case 0: P256.Signing.ECDSASignature?.none
            case 1:
                try P256.Signing.ECDSASignature(
                    rawRepresentation: Number(1).bytes + edges[index % 3].bytes)
            default: try signer.signature(for: digest)
            }
        }
        let inverses = P256Inverse.all(of: signatures)
        #expect(inverses.count == signatures.count)
        for (index, signature) in signatures.enumerated() {
            guard let signature else {
                #expect(inverses[index] == nil)
                continue
            }
            for digest in digests {
                let isValid = key.isValidSignature(
                    signature, for: digest, inverse: inverses[index])
                #expect(isValid == signer.publicKey.isValidSignature(signature, for: digest))
                #expect(isValid == (index % 5 > 1 && digest == digests[index]))
            }
        }
        #expect(P256Inverse.all(of: []).isEmpty)
    }

    @Test("The x of a signature may be above the order")
    func abscissaAboveOrder() throws {
        let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
        let point = EC_POINT_new(curve)
        defer {
            EC_POINT_free(point)
            EC_GROUP_free(curve)
            ERR_clear_error()
        }
        // The first point from there on; half of all numbers are the x of one.
        let r = try #require(
            (1...200).map { Number($0) }.first { r in
                r.plus(.order).withNumber {
                    EC_POINT_set_compressed_coordinates(curve, point, $0, 0, nil) == 1
                }
            })
        let (s, e) = (Number(7), Number(5))
        // The key for which this is the point of the signature: (s * point - e * generator) / r.
        let key = EC_POINT_new(curve)
        defer { EC_POINT_free(key) }
        let isComputed = Number.order.minus(e.times(r.inverse())).withNumber { generators in
            s.times(r.inverse()).withNumber { points in
                EC_POINT_mul(curve, key, generators, point, points, nil) == 1
            }
        }
        #expect(isComputed)
        var x963 = [UInt8](repeating: 0, count: 65)
        #expect(
            EC_POINT_point2oct(curve, key, POINT_CONVERSION_UNCOMPRESSED, &x963, 65, nil) == 65)
        let plain = try P256.Signing.PublicKey(x963Representation: x963)
        let multiplied = P256PublicKey(plain)
        #expect(multiplied.precomputeMultiples())
        let digest = FixedDigest(bytes: e.bytes)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: r.bytes + s.bytes)
        #expect(plain.isValidSignature(signature, for: digest))
        try expectSameVerdict(r.bytes + s.bytes, digest, plain, multiplied)
    }

    @Test("A key that is used often computes its multiples by itself, on several threads too")
    func manyUses() throws {
        let signer = P256.Signing.PrivateKey()
        let key = P256PublicKey(signer.publicKey)
        let digest = SHA256.hash(data: Data("text".utf8))
        let signature = try signer.signature(for: digest)
        let other = try P256.Signing.PrivateKey().signature(for: digest)
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<600 {
                #expect(key.isValidSignature(signature, for: digest))
                #expect(!key.isValidSignature(other, for: digest))
            }
        }
        #expect(key.hasMultiples)
    }

    private func expectSameVerdict(
        _ signature: [UInt8], _ digest: some Digest, _ plain: P256.Signing.PublicKey,
        _ key: P256PublicKey
    ) throws {
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: signature)
        let verdict = plain.isValidSignature(signature, for: digest)
        #expect(key.isValidSignature(signature, for: digest) == verdict)
        let inverse = P256Inverse.all(of: [signature])[0]
        #expect(key.isValidSignature(signature, for: digest, inverse: inverse) == verdict)
    }
}

/// A digest of given bytes, which no text need have.
private struct FixedDigest: Digest {
    static let byteCount = 32
    let bytes: [UInt8]

    var description: String { "\(bytes)" }

    func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }

    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes(body)
    }
}

/// A number of 256 bits; products and inverses are modulo the order of P-256.
private struct Number {
    let bytes: [UInt8]

    static let order = Number(
        hex: "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551")
    /// Of the field.
    static let prime = Number(
        hex: "FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF")

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(_ small: UInt8) {
        bytes = [UInt8](repeating: 0, count: 31) + [small]
    }

    private init(hex: String) {
        let digits = Array(hex)
        bytes = stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0
        }
    }

    func times(_ other: Number) -> Number {
        combined(with: other) { BN_mod_mul($0, $1, $2, $3, $4) }
    }

    /// Modulo nothing: the sum may have to be below 2^256.
    func plus(_ other: Number) -> Number {
        combined(with: other) { sum, a, b, _, _ in BN_add(sum, a, b) }
    }

    func minus(_ other: Number) -> Number {
        combined(with: other) { difference, a, b, _, _ in BN_sub(difference, a, b) }
    }

    func inverse() -> Number {
        combined(with: self) { inverse, a, _, order, context in
            BN_mod_inverse(inverse, a, order, context) == nil ? 0 : 1
        }
    }

    func withNumber<Result>(_ body: (OpaquePointer?) -> Result) -> Result {
        let number = BN_bin2bn(bytes, 32, nil)
        defer { BN_free(number) }
        return body(number)
    }

    private func combined(
        with other: Number,
        _ body: (OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?)
            -> Int32
    ) -> Number {
        let context = BN_CTX_new()
        let numbers = [bytes, other.bytes, Self.order.bytes].map { (bytes: [UInt8]) in
            BN_bin2bn(bytes, 32, nil)
        }
        let result = BN_new()
        defer {
            for number in numbers { BN_free(number) }
            BN_free(result)
            BN_CTX_free(context)
        }
        #expect(body(result, numbers[0], numbers[1], numbers[2], context) == 1)
        var bytes = [UInt8](repeating: 0, count: 32)
        #expect(BN_bn2binpad(result, &bytes, 32) == 32)
        return Number(bytes: bytes)
    }
}
