/// The two certificates of a JWS that count, in DER.
struct AppStorePath: Hashable, Sendable {
    /// Whose key signed the JWS.
    let leaf: [UInt8]
    /// Who issued the leaf.
    let intermediate: [UInt8]

    /// The leaf tells paths apart, and its bytes are hashed at once: an array hashes them one by one.
    func hash(into hasher: inout Hasher) {
        leaf.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}
