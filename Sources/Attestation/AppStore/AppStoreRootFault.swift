/// Why a PEM file cannot be pinned as a root.
package enum AppStoreRootFault: Error, Equatable, Sendable {
    /// There is no certificate in it.
    case noCertificate
    /// It holds so many blocks of PEM, of which one could be meant.
    case severalBlocks(Int)
    /// The certificate is cut off, or none.
    case malformed
    /// The certificate may not issue an intermediate.
    case noAuthority

    /// What is wrong, and what to do, in words without a full stop.
    package var words: String {
        switch self {
        case .noCertificate:
            "holds no certificate: give the root's as PEM, with its BEGIN and END lines"
        case .severalBlocks(let count):
            "holds \(count) certificates or keys: give each root a file of its own, and nothing else in it"
        case .malformed: "holds a certificate that cannot be read: copy the whole file again"
        case .noAuthority:
            "holds a certificate that may not issue an intermediate, such as a leaf's: give the root's"
        }
    }
}
