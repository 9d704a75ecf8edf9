import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// A chain of a test's own, shaped as Apple's: a root and an intermediate on P-384, a leaf on P-256, and
/// the two marks. Signs JWSs as the App Store does.
package struct AppStoreChain: Sendable {
    /// The certificates in DER: leaf, intermediate, root.
    package let certificates: [[UInt8]]
    /// The root as text of a PEM file.
    package let rootPEM: String
    private let leafKey: P256.Signing.PrivateKey

    /// Makes keys, and certificates by a plan.
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
        certificates = try [leaf, intermediate, root].map { certificate in
            var serializer = DER.Serializer()
            try serializer.serialize(certificate)
            return serializer.serializedBytes
        }
        rootPEM = try root.serializeAsPEM().pemString
    }

    /// The leaf's key, that which signatures are verified with.
    package var leafPublicKey: P256.Signing.PublicKey { leafKey.publicKey }

    /// The certificates as a header carries them.
    package var x5c: [String] { certificates.map(Self.base64) }

    /// The header of a JWS of this chain.
    package var header: String {
        let list = x5c.map { "\"\($0)\"" }.joined(separator: ",")
        return "{\"alg\":\"ES256\",\"x5c\":[\(list)]}"
    }

    /// A JWS over a payload; the header is this chain's unless another is given.
    package func sign(_ payload: some Sequence<UInt8>, header: String? = nil) throws -> String {
        let input =
            Self.base64URL((header ?? self.header).utf8) + "." + Self.base64URL(payload)
        return try input + "." + Self.base64URL(signature(over: input).rawRepresentation)
    }

    /// The leaf's signature over a text, with SHA-256.
    package func signature(over text: String) throws -> P256.Signing.ECDSASignature {
        try leafKey.signature(for: SHA256.hash(data: Array(text.utf8)))
    }

    /// Base64 with padding.
    package static func base64(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString()
    }

    /// Base64url without padding.
    package static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        base64(bytes)
            .replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    private static func certificate(
        _ key: Certificate.PublicKey, _ subject: DistinguishedName, issuer: DistinguishedName,
        _ issuerKey: Certificate.PrivateKey, validity: AppStoreChainPlan.Validity,
        _ extensions: [Certificate.Extension?]
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key,
            notValidBefore: Date(timeIntervalSince1970: Double(validity.notBeforeSeconds)),
            notValidAfter: Date(timeIntervalSince1970: Double(validity.notAfterSeconds)),
            issuer: issuer, subject: subject, signatureAlgorithm: .ecdsaWithSHA384,
            extensions: Certificate.Extensions(extensions.compactMap { $0 }),
            issuerPrivateKey: issuerKey)
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
