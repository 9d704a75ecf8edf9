/// The fields that are left out of a postback before its signature is checked.
///
/// Relays fill in zeros where Apple sent nothing, so a relayed copy that does not verify as given
/// is tried again without them, in the order of the cases.
package enum RelayForm: UInt8, Sendable, CaseIterable {
    /// Every field as it was received.
    case asGiven
    /// Without `source-app-id`.
    case withoutSourceApp
    /// Without `fidelity-type`.
    case withoutFidelity
    /// Without `source-app-id` and `fidelity-type`.
    case withoutBoth

    /// Whether `source-app-id` is left out.
    package var omitsSourceApp: Bool { self == .withoutSourceApp || self == .withoutBoth }

    /// Whether `fidelity-type` is left out.
    package var omitsFidelity: Bool { self == .withoutFidelity || self == .withoutBoth }
}
