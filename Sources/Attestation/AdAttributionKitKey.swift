/// A key that AdAttributionKit postbacks may be signed with, as configuration names it.
public struct AdAttributionKitKey: Sendable, Equatable {
    /// The key id in the JWS header, unescaped.
    public let kid: String
    /// The P-256 key: an X.509 SubjectPublicKeyInfo in base64.
    public let key: String
    /// What its signature is worth: `valid` or `development`.
    public let verdict: Verdict

    /// A key as it is; `TrustedKeys` checks it.
    public init(kid: String, key: String, verdict: Verdict) {
        self.kid = kid
        self.key = key
        self.verdict = verdict
    }
}
