import Crypto
import Synchronization
import X509

/// Verifies JWSs of the App Store against pinned roots.
///
/// The verdict is a function of the JWS, the instant and the roots, and of nothing else: neither of
/// the clock nor of what was verified before. Any number of threads may use one verifier; it remembers
/// the last 64 paths that it validated, so that usually one signature is to be checked.
package final class AppStoreVerifier: Sendable {
    /// Apple has one path in use, and a second while it changes; tests and sandboxes add a few.
    private static let rememberedPaths = 64

    private let roots: [PinnedRoot]
    private let paths = Mutex(ValidatedPaths(capacity: rememberedPaths))

    /// Trusts these roots and no others.
    package init(roots: [AppStoreRoot]) {
        self.roots = roots.compactMap { root in
            (try? Certificate(derEncoded: root.der)).flatMap(PinnedRoot.init)
        }
    }

    /// Verifies the certificates at an instant, and the signature.
    ///
    /// - Parameters:
    ///   - jws: what was received.
    ///   - signedAtMilliseconds: when its payload says that it was signed, in milliseconds since 1970.
    /// - Throws: the first reason against it.
    package func verify(
        _ jws: AppStoreJWS, signedAtMilliseconds: Int64
    ) throws(AppStoreFault) {
        let path = try validated(jws.path)
        if let fault = path.fault(atMilliseconds: signedAtMilliseconds) { throw fault }
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: jws.signature),
            path.key.isValidSignature(signature, for: jws.digest)
        else { throw .badSignature }
    }

    /// The leaf and the intermediate of a JWS, and the pinned roots that issued the latter, for people
    /// to read; what is no certificate is left out.
    package func certificates(of jws: AppStoreJWS) -> [AppStoreCertificate] {
        let own = [jws.path.leaf, jws.path.intermediate].map { try? Certificate(derEncoded: $0) }
        let anchors = own[1].map { intermediate in roots.filter { $0.issued(intermediate) } } ?? []
        return own.compactMap { $0.map(AppStoreCertificate.init) } + anchors.map(\.description)
    }

    /// Two threads may validate the same path at once, with the same result.
    private func validated(_ path: AppStorePath) throws(AppStoreFault) -> ValidatedPath {
        if let known = paths.withLock({ $0[path] }) { return known }
        let validated = try ValidatedPath(path, roots: roots)
        paths.withLock { $0.remember(validated, for: path) }
        return validated
    }
}
