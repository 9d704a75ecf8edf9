/// A key that AdAttributionKit postbacks may be signed with, as configuration names it.
package struct AdAttributionKitKey: Sendable, Equatable {
    /// The key id in the JWS header, unescaped.
    package let kid: String
    /// The P-256 key: an X.509 SubjectPublicKeyInfo in base64.
    package let key: String
    /// What its signature is worth: `valid` or `development`.
    package let verdict: Verdict

    /// A key as it is; `TrustedKeys` checks it.
    package init(kid: String, key: String, verdict: Verdict) {
        self.kid = kid
        self.key = key
        self.verdict = verdict
    }
}
