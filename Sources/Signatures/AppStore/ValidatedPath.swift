import Crypto
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A path from a leaf to pinned roots that is valid except for the time, which depends on the JWS.
struct ValidatedPath: Sendable {
    let key: P256PublicKey
    /// The joint validity of leaf, intermediate and root, for each root that issued the intermediate, in the order of
    /// configuration; at least one.
    private let validities: [Validity]

    /// Validates leaf <- intermediate <- root.
    ///
    /// The library's verifier is asynchronous and searches for a path. Here the path is given, and the callers are
    /// plain threads that must not wait for the cooperative pool. So this checks three issuers, three validities and
    /// the extensions.
    init(_ path: AppStorePath, roots: [PinnedRoot]) throws(AppStoreFault) {
        guard let leaf = try? Certificate(derEncoded: path.leaf),
            let intermediate = try? Certificate(derEncoded: path.intermediate),
            leaf.hasOnlyKnownCriticalExtensions, intermediate.hasOnlyKnownCriticalExtensions
        else { throw .badCertificate }
        guard let key = P256.Signing.PublicKey(leaf.publicKey) else { throw .notECLeaf }
        guard leaf.has(Certificate.leafMark) else { throw .missingLeafOID }
        guard intermediate.has(Certificate.intermediateMark) else { throw .missingIntermediateOID }
        guard leaf.maySign, intermediate.mayIssue(intermediatesBelow: 0) else { throw .wrongUse }
        guard leaf.isIssued(by: intermediate) else { throw .brokenChain }
        let ownValidity = Validity(leaf).intersection(Validity(intermediate))
        self.key = P256PublicKey(key)
        validities = roots.filter { $0.issued(intermediate) }
            .map { ownValidity.intersection($0.validity) }
        guard !validities.isEmpty else { throw .untrustedRoot }
    }

    /// The fault at an instant in milliseconds since 1970; nil if the path is valid by one of its roots.
    func fault(atMilliseconds instant: Int64) -> AppStoreFault? {
        var first: AppStoreFault?
        for validity in validities {
            guard let fault = validity.fault(atMilliseconds: instant) else { return nil }
            first = first ?? fault
        }
        return first
    }
}

/// The most recently validated paths, up to a capacity.
///
/// The oldest is removed first. A remembered path depends only on its key, so this cache changes no verdict.
struct ValidatedPaths: Sendable {
    private let capacity: Int
    private var paths: [AppStorePath: ValidatedPath] = [:]
    /// A ring of the keys in order of insertion.
    private var order: [AppStorePath] = []
    private var oldest = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    subscript(path: AppStorePath) -> ValidatedPath? { paths[path] }

    mutating func remember(_ validated: ValidatedPath, for path: AppStorePath) {
        guard paths.updateValue(validated, forKey: path) == nil else { return }
        guard order.count == capacity else { return order.append(path) }
        paths[order[oldest]] = nil
        order[oldest] = path
        oldest = (oldest + 1) % capacity
    }
}

/// The validity of a certificate or a path, in seconds since 1970 with both ends included; certificates have no
/// fractions of a second.
struct Validity: Equatable, Sendable {
    private(set) var notBeforeSeconds: Int64
    private(set) var notAfterSeconds: Int64

    init(_ certificate: Certificate) {
        notBeforeSeconds = Self.seconds(certificate.notValidBefore)
        notAfterSeconds = Self.seconds(certificate.notValidAfter)
    }

    /// The intersection, which may be empty.
    func intersection(_ other: Validity) -> Validity {
        var common = self
        common.notBeforeSeconds = max(notBeforeSeconds, other.notBeforeSeconds)
        common.notAfterSeconds = min(notAfterSeconds, other.notAfterSeconds)
        return common
    }

    /// The fault at an instant in milliseconds since 1970; nil if valid.
    func fault(atMilliseconds instant: Int64) -> AppStoreFault? {
        let isBeforeItsSecond = instant % 1000 < 0
        let seconds = instant / 1000 - (isBeforeItsSecond ? 1 : 0)
        if seconds < notBeforeSeconds { return .notYetValidAtSigning }
        return seconds > notAfterSeconds ? .expiredAtSigning : nil
    }

    /// Years of certificates have four digits, so doubles are exact.
    private static func seconds(_ date: Date) -> Int64 {
        Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0
    }
}

/// The rules of RFC 5280 that a path of three certificates can break.
extension Certificate {
    /// Marks a leaf that signs App Store receipts.
    static let leafMark: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 11, 1]
    /// Marks the intermediate of Worldwide Developer Relations.
    static let intermediateMark: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 2, 1]

    /// Known critical extensions. Others would not be checked.
    private static let supported: [ASN1ObjectIdentifier] = [
        .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, leafMark, intermediateMark,
    ]

    /// Whether all critical extensions are checked here.
    var hasOnlyKnownCriticalExtensions: Bool {
        extensions.allSatisfy { !$0.critical || Self.supported.contains($0.oid) }
    }

    /// Whether it has an extension, with any value.
    func has(_ mark: ASN1ObjectIdentifier) -> Bool { extensions[oid: mark] != nil }

    /// Whether the key usage, if present, allows signing.
    var maySign: Bool { allowsUsage(\.digitalSignature) }

    /// Whether it is an authority, and allows `count` intermediates between it and a leaf.
    func mayIssue(intermediatesBelow count: Int) -> Bool {
        guard case .isCertificateAuthority(let most)? = try? extensions.basicConstraints else {
            return false
        }
        return (most ?? count) >= count && allowsUsage(\.keyCertSign)
    }

    /// Whether `issuer` is named as the issuer and signed it. A signature with SHA-1 does not count.
    func isIssued(by issuer: Certificate) -> Bool {
        self.issuer == issuer.subject && signatureAlgorithm != .sha1WithRSAEncryption
            && issuer.publicKey.isValidSignature(signature, for: self)
    }

    private func allowsUsage(_ usage: KeyPath<KeyUsage, Bool>) -> Bool {
        guard has(.X509ExtensionID.keyUsage) else { return true }
        return (try? extensions.keyUsage)?[keyPath: usage] ?? false
    }
}
