import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// A chain of a test's own, shaped as Apple's: a root and an intermediate on P-384, a leaf on P-256, and
/// the two marks. Signs JWSs as the App Store does.
package struct AppStoreChain: Sendable {
    package let certificates: [[UInt8]]
    package let rootPEM: String
    private let leafKey: P256.Signing.PrivateKey

    package init(_ plan: AppStoreChainPlan = AppStoreChainPlan()) throws {
        let keys = (root: P384.Signing.PrivateKey(), intermediate: P384.Signing.PrivateKey())
        leafKey = P256.Signing.PrivateKey()
        let rootName = try DistinguishedName { CommonName("Test Root \(plan.name)") }
        let middleName = try DistinguishedName { CommonName("Test Intermediate \(plan.name)") }
        let leafName = try DistinguishedName { CommonName("Test Leaf \(plan.name)") }
        let root = try Self.certificate(
            .init(keys.root.publicKey), rootName, issuer: rootName, .init(keys.root),
            validity: plan.rootValidity,
            [
                try plan.rootIsAuthority.map { try .init(Self.constraints($0), critical: true) },
                try .init(KeyUsage(keyCertSign: true, cRLSign: true), critical: true),
            ])
        let intermediate = try Self.certificate(
            .init(keys.intermediate.publicKey), middleName, issuer: rootName, .init(keys.root),
            validity: plan.intermediateValidity,
            [
                try plan.intermediateIsAuthority
                    .map { try .init(Self.constraints($0), critical: true) },
                try .init(KeyUsage(keyCertSign: plan.intermediateMayIssue), critical: true),
                try plan.intermediateMark.map { try Self.mark($0) },
            ])
        let leaf = try Self.certificate(
            plan.leafKey.publicKey(or: leafKey.publicKey), leafName,
            issuer: plan.leafNamesItsIssuer ? middleName : rootName, .init(keys.intermediate),
            validity: plan.leafValidity,
            [
                try .init(BasicConstraints.notCertificateAuthority, critical: true),
                try .init(KeyUsage(digitalSignature: plan.leafMaySign), critical: true),
                try plan.leafMark.map { try Self.mark($0) },
                try plan.leafInsistsOn.map { try Self.mark($0, critical: true) },
            ])
        certificates = try [leaf, intermediate, root].map(Self.bytes)
        rootPEM = try root.serializeAsPEM().pemString
    }

    /// The leaf's key, that which signatures are verified with.
    package var leafPublicKey: P256.Signing.PublicKey { leafKey.publicKey }

    /// The certificates as a header carries them.
    package var x5c: [String] { certificates.map { Data($0).base64EncodedString() } }

    package var header: String {
        let list = x5c.map { "\"\($0)\"" }.joined(separator: ",")
        return "{\"alg\":\"ES256\",\"x5c\":[\(list)]}"
    }

    /// A JWS over a payload; the header is this chain's unless another is given.
    package func sign(_ payload: some Sequence<UInt8>, header: String? = nil) throws -> String {
        let input = (header ?? self.header).utf8.base64URL + "." + payload.base64URL
        return try input + "." + signature(over: input).rawRepresentation.base64URL
    }

    /// The leaf's signature over a text, with SHA-256.
    package func signature(over text: String) throws -> P256.Signing.ECDSASignature {
        try leafKey.signature(for: SHA256.hash(data: Array(text.utf8)))
    }

    private static func certificate(
        _ key: Certificate.PublicKey, _ subject: DistinguishedName, issuer: DistinguishedName,
        _ issuerKey: Certificate.PrivateKey, validity: AppStoreChainPlan.Validity,
        _ extensions: [Certificate.Extension?]
    ) throws -> Certificate {
        // Of the same length each time, since a simulation that repeats has to write as many pages.
        while true {
            let certificate = try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(bytes: [1, 2, 3, 4]),
                publicKey: key,
                notValidBefore: Date(timeIntervalSince1970: Double(validity.notBeforeSeconds)),
                notValidAfter: Date(timeIntervalSince1970: Double(validity.notAfterSeconds)),
                issuer: issuer, subject: subject, signatureAlgorithm: .ecdsaWithSHA384,
                extensions: Certificate.Extensions(extensions.compactMap { $0 }),
                issuerPrivateKey: issuerKey)
            // The signature is the end: a sequence of 101 bytes.
            if try bytes(of: certificate).suffix(103).prefix(2) == [0x30, 101] {
                return certificate
            }
        }
    }

    private static func bytes(of certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    private static func constraints(_ isAuthority: Bool) -> BasicConstraints {
        isAuthority ? .isCertificateAuthority(maxPathLength: nil) : .notCertificateAuthority
    }

    /// An extension that says something by being there; its value is NULL.
    private static func mark(
        _ identifier: [UInt], critical: Bool = false
    ) throws -> Certificate.Extension {
        Certificate.Extension(
            oid: try ASN1ObjectIdentifier(elements: identifier), critical: critical,
            value: [0x05, 0x00])
    }
}

extension AppStoreChainPlan.LeafKey {
    fileprivate func publicKey(or own: P256.Signing.PublicKey) throws -> Certificate.PublicKey {
        switch self {
        case .p256: .init(own)
        case .p384: .init(P384.Signing.PrivateKey().publicKey)
        case .rsa: try .init(_RSA.Signing.PrivateKey(keySize: .bits2048).publicKey)
        }
    }
}

/// What the certificates of a chain are to say; as it is made, a plan is in order.
package struct AppStoreChainPlan: Sendable {
    /// The mark that Apple's leaves carry.
    package static let leafMark: [UInt] = [1, 2, 840, 113_635, 100, 6, 11, 1]
    /// The mark that Apple's intermediates carry.
    package static let intermediateMark: [UInt] = [1, 2, 840, 113_635, 100, 6, 2, 1]

    /// The kinds of keys of a leaf. Whatever is certified, a key on P-256 signs.
    package enum LeafKey: Sendable { case p256, p384, rsa }

    /// From when to when, in seconds since 1970, both included.
    package struct Validity: Sendable {
        package var notBeforeSeconds: Int64
        package var notAfterSeconds: Int64

        package init(_ notBeforeSeconds: Int64, _ notAfterSeconds: Int64) {
            self.notBeforeSeconds = notBeforeSeconds
            self.notAfterSeconds = notAfterSeconds
        }
    }

    /// Part of the names of all three.
    package var name = "A"
    /// 2015-01-01 to 2040-01-01.
    package var rootValidity = Validity(1_420_070_400, 2_208_988_800)
    /// 2020-01-01 to 2035-01-01.
    package var intermediateValidity = Validity(1_577_836_800, 2_051_222_400)
    /// 2023-11-14T22:13:20Z to 2033-05-18T03:33:20Z.
    package var leafValidity = Validity(1_700_000_000, 2_000_000_000)
    /// Whether basicConstraints say so; nil leaves them out.
    package var rootIsAuthority: Bool? = true
    /// Whether basicConstraints say so; nil leaves them out.
    package var intermediateIsAuthority: Bool? = true
    /// keyCertSign of the intermediate.
    package var intermediateMayIssue = true
    /// digitalSignature of the leaf.
    package var leafMaySign = true
    /// Whether the leaf's issuer is the intermediate's name.
    package var leafNamesItsIssuer = true
    package var leafKey = LeafKey.p256
    /// The leaf's extension by which Apple marks it; nil leaves it out.
    package var leafMark: [UInt]? = Self.leafMark
    /// The intermediate's extension by which Apple marks it; nil leaves it out.
    package var intermediateMark: [UInt]? = Self.intermediateMark
    /// A critical extension of the leaf.
    package var leafInsistsOn: [UInt]?

    /// A plan in order, with changes.
    package init(_ change: (inout AppStoreChainPlan) -> Void = { _ in }) { change(&self) }
}
