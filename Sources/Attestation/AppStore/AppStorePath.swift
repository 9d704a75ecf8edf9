/// The two certificates of a JWS that count, in DER.
struct AppStorePath: Hashable, Sendable {
    /// Whose key signed the JWS.
    let leaf: [UInt8]
    /// Who issued the leaf.
    let intermediate: [UInt8]
}
