/// What the signature of a postback says about where it came from.
package enum Verdict: UInt8, Sendable, CaseIterable {
    /// Signed by a production key of Apple's.
    case valid
    /// Signed by a development key of Apple's.
    case development
    /// Signed by no key that could have signed it, or not signed at all.
    case invalid
    /// Of a version or with a key id that nobody here knows.
    case unverifiable

    /// How much the verdict is worth: 2 for `valid`, 1 for `development`, 0 for the others.
    ///
    /// A copy of a postback replaces an earlier one only when its rank is higher.
    package var rank: Int {
        switch self {
        case .valid: 2
        case .development: 1
        case .invalid, .unverifiable: 0
        }
    }

    /// The word for the verdict in dumps, configuration and partner postbacks.
    package var name: String {
        switch self {
        case .valid: "valid"
        case .development: "development"
        case .invalid: "invalid"
        case .unverifiable: "unverifiable"
        }
    }
}
