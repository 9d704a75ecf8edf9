/// Why the configuration that a store has recorded cannot be put in force again.
package enum RecordedConfigurationFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// A part is not as this version writes it.
    case unreadable(place: String)
    /// It means something else to this version than to the one that recorded it.
    case otherMeaning
    /// Of a root certificate only the fingerprint is recorded, and nobody has the certificate.
    case rootMissing(fingerprint: String)
    /// Of a shared secret only the digest is recorded, and nobody has the secret.
    case secretMissing(bundleID: String)
    /// There is no memory for reading it.
    case noMemory

    /// What is wrong, and what to do.
    package var description: String {
        switch self {
        case .unreadable(let place):
            "the recorded configuration is not understood at \(place): an older or newer version of Weir wrote it; use that one, or fold under the present configuration (--configuration present)"
        case .otherMeaning:
            "the recorded configuration means something else to this version of Weir: use the one that recorded it, or fold under the present configuration (--configuration present)"
        case .rootMissing(let fingerprint):
            "the recorded configuration trusts the root certificate \(fingerprint) (SHA-256), which store-notifications.yaml no longer lists: list it again while you replay, or fold under the present configuration (--configuration present)"
        case .secretMissing(let bundleID):
            "the recorded configuration has a shared secret of \(bundleID) that store-notifications.yaml no longer has: add it again while you replay, or fold under the present configuration (--configuration present)"
        case .noMemory: "no memory for reading the recorded configuration"
        }
    }
}
