/// What came of checking the signature that a network puts on an ad.
package enum AdSignatureVerdict: Int, CaseIterable, ColumnWord {
    /// One of the network's keys made it over the ad's fields.
    case valid
    /// All that is signed is there, and none of the network's keys made the signature.
    case invalid
    /// The signature, or a field that it covers, is missing or malformed: a signature that is no base64,
    /// a fidelity other than 0 and 1.
    case incomplete
    /// The ad's version is none whose signed fields are known.
    case unverifiable

    /// The word for it, in dumps.
    package var name: StaticString {
        switch self {
        case .valid: "valid"
        case .invalid: "invalid"
        case .incomplete: "incomplete"
        case .unverifiable: "unverifiable"
        }
    }
}
