/// What a model says about the conversion value of one postback.
public struct ModelDecoding: Equatable, Sendable {
    /// Index of the version that decoded, in the model's versions.
    public let versionIndex: Int
    /// Id of the version that decoded.
    public let versionID: String
    /// Currency of the amounts.
    public let currency: String
    /// The events of the value, one a name; empty when it says nothing.
    public let events: [DecodedEvent]
    /// True when another version was in effect at the earliest moment at which the value can have
    /// been set: the activity may belong to more than one version.
    public let ambiguous: Bool
}
