/// What a model says about the conversion value of one postback.
package struct ModelDecoding: Equatable, Sendable {
    /// Index of the version that decoded, in the model's versions.
    package let versionIndex: Int
    /// Id of the version that decoded.
    package let versionID: String
    /// Currency of the amounts.
    package let currency: String
    /// The events of the value, one a name; empty when it says nothing.
    package let events: [DecodedEvent]
    /// True when another version was in effect at the earliest moment at which the value can have
    /// been set: the activity may belong to more than one version.
    package let ambiguous: Bool
}
