import Crypto
import JSON
import Synchronization

/// The keys that make a postback `valid` or `development`: Apple's and configured ones.
///
/// Keys are parsed once and shared by all verifying threads.
package struct TrustedKeys: Sendable {
    /// A parsed key of AdAttributionKit.
    struct KeyWithID: Sendable {
        let kid: [UInt8]
        let key: P256PublicKey
        let verdict: Verdict
    }

    let p192: KeyRing<P192PublicKey>
    let p256: KeyRing<P256PublicKey>
    /// `valid` keys come first, so that the order of configuration does not matter.
    private(set) var adAttributionKit: [KeyWithID] = []

    /// Apple's keys, followed by configured ones.
    ///
    /// - Parameters:
    ///   - production: SubjectPublicKeyInfos in base64; their SKAdNetwork signatures are `valid`. Their curve decides
    ///     for which
    ///     versions.
    ///   - development: the same for `development`.
    ///   - adAttributionKit: keys by id. Two keys may share an id: both are tried.
    /// - Throws: the entry that is not such a key.
    package init(
        production: [String] = [],
        development: [String] = [],
        adAttributionKit: [AdAttributionKitKey] = []
    ) throws(TrustedKeysError) {
        var trusted = Listed()
        var alsoTrusted = Listed()
        try trusted.add(ApplePublicKeys.p192, entry: "apple.p192")
        try trusted.add(ApplePublicKeys.p256, entry: "apple.p256")
        try alsoTrusted.add(ApplePublicKeys.developerMode, entry: "apple.developer_mode")
        for (index, key) in production.enumerated() {
            try trusted.add(key, entry: "production[\(index)]")
        }
        for (index, key) in development.enumerated() {
            try alsoTrusted.add(key, entry: "development[\(index)]")
        }
        p192 = KeyRing(production: trusted.p192, development: alsoTrusted.p192)
        p256 = KeyRing(production: trusted.p256, development: alsoTrusted.p256)
        for key in ApplePublicKeys.adAttributionKit {
            try add(key, entry: "apple.\(key.kid)")
        }
        for (index, key) in adAttributionKit.enumerated() {
            try add(key, entry: "adattributionkit[\(index)]")
        }
        let keys = self.adAttributionKit
        self.adAttributionKit =
            keys.filter { $0.verdict == .valid } + keys.filter { $0.verdict != .valid }
    }

    private struct Listed {
        var p192: [(spki: [UInt8], key: P192PublicKey)] = []
        var p256: [(spki: [UInt8], key: P256PublicKey)] = []

        mutating func add(_ text: String, entry: String) throws(TrustedKeysError) {
            var spki: [UInt8] = []
            _ = Array(text.utf8).withUnsafeBytes { Base64.standard.decode($0, into: &spki) }
            switch VerificationKey(spki: spki) {
            case .p192(let key): p192.append((spki, key))
            case .p256(let key): p256.append((spki, key))
            case nil: throw .notAPublicKey(entry: entry)
            }
        }
    }

    private mutating func add(_ key: AdAttributionKitKey, entry: String) throws(TrustedKeysError) {
        guard !key.kid.isEmpty else { throw .emptyKeyID(entry: entry) }
        guard key.verdict == .valid || key.verdict == .development else {
            throw .unusableVerdict(entry: entry, verdict: key.verdict)
        }
        switch VerificationKey(base64: key.key) {
        case .p192: throw .notP256(entry: entry)
        case .p256(let publicKey):
            adAttributionKit.append(
                KeyWithID(kid: Array(key.kid.utf8), key: publicKey, verdict: key.verdict)
            )
        case nil: throw .notAPublicKey(entry: entry)
        }
    }
}

extension TrustedKeys {
    /// A P-256 signature, with its inverse if it has one.
    private typealias Signature = (p256: P256.Signing.ECDSASignature, inverse: P256Inverse?)

    /// Judges requests together, because they share the most expensive division of their verification.
    func judge(
        _ requests: ArraySlice<AttestationRequest>,
        bytes: UnsafeRawBufferPointer
    ) -> [AttestationResult] {
        let signatures = requests.map { $0.p256Signature(bytes) }
        let inverses = P256Inverse.all(of: signatures)
        return requests.enumerated().map { index, request in
            judge(request, signatures[index].map { ($0, inverses[index]) }, bytes: bytes)
        }
    }

    private func judge(
        _ request: AttestationRequest,
        _ signature: Signature?,
        bytes: UnsafeRawBufferPointer
    ) -> AttestationResult {
        switch request {
        case .unverifiable: AttestationResult(verdict: .unverifiable)
        case .invalid: AttestationResult(verdict: .invalid)
        case .skAdNetwork(let proof): judge(proof, signature, bytes: bytes)
        case .adAttributionKit(let proof):
            AttestationResult(verdict: judge(proof, signature, bytes: bytes))
        }
    }

    private func judge(
        _ proof: AttestationRequest.SKAdNetworkProof,
        _ signature: Signature?,
        bytes: UnsafeRawBufferPointer
    ) -> AttestationResult {
        switch proof.curve {
        case .p192:
            let der = UnsafeRawBufferPointer(rebasing: bytes[proof.signature])
            return firstForm(of: proof, bytes: bytes) { digest in
                p192.verdict { key in
                    digest.withUnsafeBytes { key.isValidSignature(der, for: $0) }
                }
            }
        case .p256:
            guard let signature else { return AttestationResult(verdict: .invalid) }
            return firstForm(of: proof, bytes: bytes) { digest in
                p256.verdict {
                    $0.isValidSignature(signature.p256, for: digest, inverse: signature.inverse)
                }
            }
        }
    }

    private func firstForm(
        of proof: AttestationRequest.SKAdNetworkProof,
        bytes: UnsafeRawBufferPointer,
        verdict: (SHA256Digest) -> Verdict?
    ) -> AttestationResult {
        for index in 0..<proof.count {
            let candidate = proof.candidates[index]
            let text = UnsafeRawBufferPointer(rebasing: bytes[candidate.text])
            if let verdict = verdict(SHA256.hash(data: text)) {
                return AttestationResult(verdict: verdict, form: candidate.form)
            }
        }
        return AttestationResult(verdict: .invalid)
    }

    private func judge(
        _ proof: AttestationRequest.AdAttributionKitProof,
        _ signature: Signature?,
        bytes: UnsafeRawBufferPointer
    ) -> Verdict {
        let kid = bytes[proof.kid]
        guard adAttributionKit.contains(where: { $0.kid.elementsEqual(kid) }) else {
            return .unverifiable
        }
        guard proof.isES256, let signature else { return .invalid }
        let input = UnsafeRawBufferPointer(rebasing: bytes[proof.signingInput])
        let digest = SHA256.hash(data: input)
        let signer = adAttributionKit.first {
            $0.kid.elementsEqual(kid)
                && $0.key.isValidSignature(
                    signature.p256, for: digest, inverse: signature.inverse)
        }
        return signer?.verdict ?? .invalid
    }
}

extension AttestationRequest {
    /// The request's P-256 signature; nil if it has none, or bytes that are not one.
    fileprivate func p256Signature(
        _ bytes: UnsafeRawBufferPointer
    ) -> P256.Signing.ECDSASignature? {
        switch self {
        case .unverifiable, .invalid: nil
        case .skAdNetwork(let proof):
            proof.curve == .p256
                ? P256.Signing.ECDSASignature(
                    boundedDER: UnsafeRawBufferPointer(rebasing: bytes[proof.signature])) : nil
        case .adAttributionKit(let proof):
            try? P256.Signing.ECDSASignature(
                rawRepresentation: UnsafeRawBufferPointer(rebasing: bytes[proof.signature]))
        }
    }
}

extension TrustedKeys {
    /// Apple's keys by name, each a SubjectPublicKeyInfo in base64.
    package static var builtInKeys: [String: String] {
        [
            "apple.p192": ApplePublicKeys.p192, "apple.p256": ApplePublicKeys.p256,
            "apple.developer_mode": ApplePublicKeys.developerMode,
            "apple.settings": ApplePublicKeys.settings,
        ]
    }
}

/// Why configured keys are unusable. Each case contains its entry, such as `production[1]`.
package enum TrustedKeysError: Error, Equatable, CustomStringConvertible {
    /// The text is not a public key on a curve of postback signatures.
    case notAPublicKey(entry: String)
    /// A P-192 key: AdAttributionKit's ES256 does not use that curve.
    case notP256(entry: String)
    case emptyKeyID(entry: String)
    case unusableVerdict(entry: String, verdict: Verdict)

    package var description: String {
        switch self {
        case .notAPublicKey(let entry):
            "trusted_keys.\(entry): not a P-192 or P-256 public key; "
                + "give its X.509 SubjectPublicKeyInfo (DER) in base64, without line breaks"
        case .notP256(let entry):
            "trusted_keys.\(entry): a P-192 key cannot verify AdAttributionKit; give a P-256 key"
        case .emptyKeyID(let entry):
            "trusted_keys.\(entry): the kid is empty; give the kid of the JWS header"
        case .unusableVerdict(let entry, let verdict):
            "trusted_keys.\(entry): the verdict of a key cannot be \(verdict.name); "
                + "write valid or development"
        }
    }
}

/// The keys of SKAdNetwork on one curve, each with the verdict for its signatures.
///
/// The last matching key is tried first, because postbacks of one signer arrive together. This changes no verdict: no
/// key occurs twice, and it is infeasible to make one signature that matches two given keys.
final class KeyRing<Key: Sendable>: Sendable {
    private let keys: [(key: Key, verdict: Verdict)]
    private let lastFit = Atomic<Int>(0)

    /// Keys by their SubjectPublicKeyInfo. A key in both lists counts as production.
    init(production: [(spki: [UInt8], key: Key)], development: [(spki: [UInt8], key: Key)]) {
        var seen: Set<[UInt8]> = []
        keys =
            production.filter { seen.insert($0.spki).inserted }.map { ($0.key, .valid) }
            + development.filter { seen.insert($0.spki).inserted }.map { ($0.key, .development) }
    }

    /// The verdict of the key that `fits`; nil if none does.
    func verdict(where fits: (Key) -> Bool) -> Verdict? {
        let likely = lastFit.load(ordering: .relaxed)
        if keys.indices.contains(likely), fits(keys[likely].key) { return keys[likely].verdict }
        for (index, entry) in keys.enumerated() where index != likely && fits(entry.key) {
            lastFit.store(index, ordering: .relaxed)
            return entry.verdict
        }
        return nil
    }
}

/// A configured key for AdAttributionKit postbacks.
package struct AdAttributionKitKey: Sendable, Equatable {
    /// The key id in the JWS header, unescaped.
    package let kid: String
    /// An X.509 SubjectPublicKeyInfo of P-256 in base64.
    package let key: String
    /// `valid` or `development`.
    package let verdict: Verdict

    /// `TrustedKeys` validates the key.
    package init(kid: String, key: String, verdict: Verdict) {
        self.kid = kid
        self.key = key
        self.verdict = verdict
    }
}

/// Apple's public keys, pinned: Apple prints them in its documentation and does not serve them at an address. Each is
/// an X.509 SubjectPublicKeyInfo in base64.
enum ApplePublicKeys {
    /// SKAdNetwork 1.0 and 2.0.
    static let p192 =
        "MEkwEwYHKoZIzj0CAQYIKoZIzj0DAQEDMgAEMyHD625uvsmGq4C43cQ9BnfN2xslVT5V1nOmAMP6qaRRUll3PB1J"
        + "YmgSm+62sosG"
    /// SKAdNetwork from 2.1 on, and `apple-cas-identifier/0` of AdAttributionKit.
    static let p256 =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWdp8GPcGqmhgzEFj9Z2nSpQVddayaPe4FMzqM9wib1+aHaaIzoHo"
        + "LN9zW4K8y4SPykE3YVK3sVqW6Af0lfx3gg=="
    /// Both frameworks in Developer Mode from iOS 18 on: `apple-development-identifier/0`.
    static let developerMode =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAELeEDzpJEP+/qRSE5hJVC1p1J0ssUnQGMzBBbvnACBok8OVGGLgxL"
        + "0myrKiy6lvRtSlLRsWit87i+vftD8AEqeQ=="
    /// AdAttributionKit postbacks created in Settings: `apple-development-identifier/1`.
    static let settings =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8YzdO7eM97s/IJ25kdW5CZ3A14USE5IJ5Ha/vhWaxI6UBI1ZxCEv"
        + "jrKxVluVGe6qWwF1BDFq+QHqKfH5u+wxHQ=="

    static let adAttributionKit = [
        AdAttributionKitKey(kid: "apple-cas-identifier/0", key: p256, verdict: .valid),
        AdAttributionKitKey(
            kid: "apple-development-identifier/0",
            key: developerMode,
            verdict: .development
        ),
        AdAttributionKitKey(
            kid: "apple-development-identifier/1",
            key: settings,
            verdict: .development
        ),
    ]
}
