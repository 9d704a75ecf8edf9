/// Why configured keys cannot be trusted. Each case names its entry, such as `production[1]`.
package enum TrustedKeysError: Error, Equatable, CustomStringConvertible {
    /// The key is not a public key of a curve that postbacks are signed on.
    case notAPublicKey(entry: String)
    /// The key is on P-192, which AdAttributionKit's ES256 does not use.
    case notP256(entry: String)
    /// The key id is empty.
    case emptyKeyID(entry: String)
    /// The verdict is neither `valid` nor `development`.
    case unusableVerdict(entry: String, verdict: Verdict)

    /// What is wrong, where, and what to write instead.
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
