import Crypto

/// The keys that make a postback `valid` or `development`: Apple's, and those of configuration.
///
/// Keys are parsed once here and shared by every thread that verifies.
package struct TrustedKeys: Sendable {
    /// A key of AdAttributionKit, ready to verify.
    struct KeyWithID: Sendable {
        let kid: [UInt8]
        let key: P256.Signing.PublicKey
        let verdict: Verdict
    }

    let p192: KeyRing<P192PublicKey>
    let p256: KeyRing<P256.Signing.PublicKey>
    /// Keys that are `valid` come first, so that the order of configuration decides nothing.
    private(set) var adAttributionKit: [KeyWithID] = []

    /// Apple's keys and, after them, those of configuration.
    ///
    /// - Parameters:
    ///   - production: SubjectPublicKeyInfos in base64 whose SKAdNetwork signatures are `valid`;
    ///     their curve decides for which versions.
    ///   - development: those whose SKAdNetwork signatures are `development`.
    ///   - adAttributionKit: keys by id. Two keys may share an id: both are tried.
    /// - Throws: which entry is not such a key.
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

    /// Keys of one verdict, by curve.
    private struct Listed {
        var p192: [(spki: [UInt8], key: P192PublicKey)] = []
        var p256: [(spki: [UInt8], key: P256.Signing.PublicKey)] = []

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
