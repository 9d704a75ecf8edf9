import SwiftASN1
import X509

/// The rules of RFC 5280 that a path of three certificates can break, each as a question.
extension Certificate {
    /// Apple's mark of a leaf that signs App Store receipts.
    static let leafMark: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 11, 1]
    /// Apple's mark of the intermediate of Worldwide Developer Relations.
    static let intermediateMark: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 2, 1]

    /// What may be critical: everything else that a certificate insists on would go unchecked.
    private static let known: [ASN1ObjectIdentifier] = [
        .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, leafMark, intermediateMark,
    ]

    /// Whether all of its critical extensions are checked here.
    var hasOnlyKnownCriticalExtensions: Bool {
        extensions.allSatisfy { !$0.critical || Self.known.contains($0.oid) }
    }

    /// Whether it has an extension, whatever its value.
    func has(_ mark: ASN1ObjectIdentifier) -> Bool { extensions[oid: mark] != nil }

    /// Whether its key usage, when it says one, allows to sign.
    var maySign: Bool { allowsUsage(\.digitalSignature) }

    /// Whether it is an authority, with at most so many intermediates between it and a leaf.
    func mayIssue(intermediatesBelow count: Int) -> Bool {
        guard case .isCertificateAuthority(let most)? = try? extensions.basicConstraints else {
            return false
        }
        return (most ?? count) >= count && allowsUsage(\.keyCertSign)
    }

    /// Whether `issuer` is named as its issuer and has signed it. A signature over SHA-1 is none.
    func isIssued(by issuer: Certificate) -> Bool {
        self.issuer == issuer.subject && signatureAlgorithm != .sha1WithRSAEncryption
            && issuer.publicKey.isValidSignature(signature, for: self)
    }

    private func allowsUsage(_ usage: KeyPath<KeyUsage, Bool>) -> Bool {
        guard has(.X509ExtensionID.keyUsage) else { return true }
        return (try? extensions.keyUsage)?[keyPath: usage] ?? false
    }
}
