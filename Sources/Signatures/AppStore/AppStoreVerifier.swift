import Crypto
import Synchronization
import X509

/// Verifies JWSs of the App Store against pinned roots.
///
/// The verdict depends only on the JWS, the instant and the roots: not on the clock, and not on earlier
/// verifications. Any number of threads may use one verifier. It remembers the last 64 validated paths, so that
/// usually only one signature has to be checked.
package final class AppStoreVerifier: Sendable {
    /// Apple uses one path, and two during a change; tests and sandboxes add a few.
    private static let rememberedPaths = 64

    private let roots: [PinnedRoot]
    private let paths = Mutex(ValidatedPaths(capacity: rememberedPaths))

    /// Only these roots are trusted.
    package init(roots: [AppStoreRoot]) {
        self.roots = roots.compactMap { root in
            (try? Certificate(derEncoded: root.der)).flatMap(PinnedRoot.init)
        }
    }

    /// Verifies the certificates at an instant, and the signature.
    ///
    /// - Parameters:
    ///   - jws: the received message.
    ///   - signedAtMilliseconds: the signing time in its payload, in milliseconds since 1970.
    /// - Throws: the first fault, in the order of the cases of `AppStoreFault`.
    package func verify(
        _ jws: AppStoreJWS, signedAtMilliseconds: Int64
    ) throws(AppStoreFault) {
        let path = try validated(jws.path)
        if let fault = path.fault(atMilliseconds: signedAtMilliseconds) { throw fault }
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: jws.signature),
            path.key.isValidSignature(signature, for: jws.digest)
        else { throw .badSignature }
    }

    /// The leaf and the intermediate of a JWS, and the pinned roots that issued the latter, for output. Omits
    /// anything that is not a certificate.
    package func certificates(of jws: AppStoreJWS) -> [AppStoreCertificate] {
        let own = [jws.path.leaf, jws.path.intermediate].map { try? Certificate(derEncoded: $0) }
        let anchors = own[1].map { intermediate in roots.filter { $0.issued(intermediate) } } ?? []
        return own.compactMap { $0.map(AppStoreCertificate.init) } + anchors.map(\.description)
    }

    /// Two threads may validate the same path at the same time, with the same result.
    private func validated(_ path: AppStorePath) throws(AppStoreFault) -> ValidatedPath {
        if let known = paths.withLock({ $0[path] }) { return known }
        let validated = try ValidatedPath(path, roots: roots)
        paths.withLock { $0.remember(validated, for: path) }
        return validated
    }
}

/// Why a JWS of the App Store is not verified: the first case that applies.
package enum AppStoreFault: Error, Equatable, Sendable, CaseIterable {
    /// Not three parts of base64url without padding, or one of the first two is empty.
    case notAJWS
    /// The header is not a JSON object.
    case malformedHeader
    /// The header has `crit`, which requires an unknown extension of JWS.
    case criticalHeader
    /// The header's `alg` is not exactly ES256.
    case notES256
    /// The header has no `x5c`, or an empty one.
    case noCertificateChain
    /// `x5c` does not have three certificates.
    case wrongChainLength
    /// The leaf or the intermediate is not a certificate in base64, or has a critical extension that is not checked
    /// here.
    case badCertificate
    /// The leaf's key is not on P-256.
    case notECLeaf
    /// The leaf lacks the mark of App Store receipt signing, 1.2.840.113635.100.6.11.1.
    case missingLeafOID
    /// The intermediate lacks the mark of Apple's WWDR, 1.2.840.113635.100.6.2.1.
    case missingIntermediateOID
    /// The extensions of the leaf forbid signing, or those of the intermediate forbid issuing certificates.
    case wrongUse
    /// The intermediate did not issue the leaf.
    case brokenChain
    /// No pinned root issued the intermediate.
    case untrustedRoot
    /// A certificate of the path was not yet valid when the JWS was signed.
    case notYetValidAtSigning
    /// A certificate of the path was no longer valid when the JWS was signed.
    case expiredAtSigning
    /// The signature does not match the leaf's key and the received text.
    case badSignature

    package var explanation: StaticString {
        switch self {
        case .notAJWS: "not a JWS: three parts of base64url without padding"
        case .malformedHeader: "the header of the JWS is not a JSON object"
        case .criticalHeader: "the header has crit, an extension of JWS that Weir does not support"
        case .notES256: "alg of the header is not ES256"
        case .noCertificateChain: "the header has no certificates (x5c)"
        case .wrongChainLength: "x5c does not contain three certificates"
        case .badCertificate: "the leaf or the intermediate of x5c is not a usable certificate"
        case .notECLeaf: "the leaf's key is not on P-256"
        case .missingLeafOID:
            "the leaf is not marked for App Store signing (1.2.840.113635.100.6.11.1)"
        case .missingIntermediateOID:
            "the intermediate is not marked as Apple's (1.2.840.113635.100.6.2.1)"
        case .wrongUse: "the extensions of a certificate forbid its use here"
        case .brokenChain: "the intermediate did not issue the leaf"
        case .untrustedRoot: "no pinned root issued the intermediate"
        case .notYetValidAtSigning: "a certificate was not yet valid at signedDate"
        case .expiredAtSigning: "a certificate was no longer valid at signedDate"
        case .badSignature: "the signature does not match the received content"
        }
    }
}

/// A certificate, for output.
package struct AppStoreCertificate: Sendable, Equatable {
    /// The distinguished name of the holder.
    package let subject: String
    /// Seconds since 1970.
    package let notBeforeSeconds: Int64
    /// Seconds since 1970; that second is included.
    package let notAfterSeconds: Int64

    init(_ certificate: Certificate) {
        let validity = Validity(certificate)
        subject = certificate.subject.description
        notBeforeSeconds = validity.notBeforeSeconds
        notAfterSeconds = validity.notAfterSeconds
    }
}
