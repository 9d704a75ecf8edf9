/// The elliptic curves of the keys that sign postbacks, always with SHA-256.
package enum SignatureCurve: Sendable {
    /// NIST P-192 (prime192v1): SKAdNetwork 1.0 and 2.0.
    case p192
    /// NIST P-256 (prime256v1): everything later.
    case p256
}
