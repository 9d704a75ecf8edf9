/// Why a JWS of the App Store is not verified; the first that applies, in this order.
package enum AppStoreFault: Error, Equatable, Sendable, CaseIterable {
    /// Not three parts of base64url without padding, or the first two are empty.
    case notAJWS
    /// The header is no JSON object.
    case malformedHeader
    /// The header's `crit` asks for an extension of JWS; none is known here.
    case criticalHeader
    /// The header's `alg` is not exactly ES256.
    case notES256
    /// The header has no `x5c`, or an empty one.
    case noCertificateChain
    /// `x5c` is not of three certificates.
    case wrongChainLength
    /// The leaf or the intermediate is no certificate in base64, or one that asks for what is not
    /// checked here.
    case badCertificate
    /// The leaf's key is not on P-256.
    case notECLeaf
    /// The leaf lacks the mark of App Store receipt signing, 1.2.840.113635.100.6.11.1.
    case missingLeafOID
    /// The intermediate lacks the mark of Apple's WWDR, 1.2.840.113635.100.6.2.1.
    case missingIntermediateOID
    /// The leaf's extensions forbid it to sign, or the intermediate's to issue certificates.
    case wrongUse
    /// The intermediate did not issue the leaf.
    case brokenChain
    /// No pinned root issued the intermediate.
    case untrustedRoot
    /// A certificate of the path was not yet valid when the JWS was signed.
    case notYetValidAtSigning
    /// A certificate of the path was no longer valid when the JWS was signed.
    case expiredAtSigning
    /// The signature is not one by the leaf's key over what was received.
    case badSignature

    /// The reason in words, without a full stop.
    package var words: StaticString {
        switch self {
        case .notAJWS: "not a JWS: three parts of base64url without padding"
        case .malformedHeader: "the header of the JWS is no JSON object"
        case .criticalHeader: "the header has crit, an extension of JWS that is not known here"
        case .notES256: "alg of the header is not ES256"
        case .noCertificateChain: "the header has no certificates (x5c)"
        case .wrongChainLength: "x5c is not of three certificates"
        case .badCertificate: "the leaf or the intermediate of x5c is no certificate to go by"
        case .notECLeaf: "the leaf's key is not on P-256"
        case .missingLeafOID:
            "the leaf is not marked for App Store signing (1.2.840.113635.100.6.11.1)"
        case .missingIntermediateOID:
            "the intermediate is not marked as Apple's (1.2.840.113635.100.6.2.1)"
        case .wrongUse: "a certificate's extensions forbid what it was used for"
        case .brokenChain: "the intermediate did not issue the leaf"
        case .untrustedRoot: "no pinned root issued the intermediate"
        case .notYetValidAtSigning: "a certificate was not yet valid at signedDate"
        case .expiredAtSigning: "a certificate was no longer valid at signedDate"
        case .badSignature: "the signature does not hold over what was received"
        }
    }
}
