import Crypto

/// A public key that signatures are checked with.
package enum VerificationKey: Sendable {
    /// A key on P-192.
    case p192(P192PublicKey)
    /// A key on P-256.
    case p256(P256.Signing.PublicKey)

    /// The key of an X.509 SubjectPublicKeyInfo in DER; nil when it is not one of these curves.
    package init?(spki: [UInt8]) {
        if let key = try? P256.Signing.PublicKey(derRepresentation: spki) {
            self = .p256(key)
        } else if let key = P192PublicKey(spki: spki) {
            self = .p192(key)
        } else {
            return nil
        }
    }

    /// The key of a SubjectPublicKeyInfo in base64, as Apple prints its keys and configuration
    /// names them.
    package init?(base64 text: String) {
        var spki: [UInt8] = []
        let decoded = Array(text.utf8).withUnsafeBytes {
            Base64.standard.decode($0, into: &spki)
        }
        guard decoded != nil else { return nil }
        self.init(spki: spki)
    }

    /// Whether `der`, the DER form of an ECDSA signature, is one by this key over the SHA-256 of
    /// `text`; false for whatever is not a signature.
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
    /// The longest DER form of a P-256 signature in bytes.
    private static let maximumDERBytes = 72

    /// The signature in `der`; nil for whatever is not one. Longer texts, which are under the
    /// sender's control, are refused before they are parsed.
    init?(boundedDER der: UnsafeRawBufferPointer) {
        guard der.count <= Self.maximumDERBytes else { return nil }
        try? self.init(derRepresentation: der)
    }
}
