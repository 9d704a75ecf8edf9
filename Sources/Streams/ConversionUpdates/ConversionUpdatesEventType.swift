/// The types of the topic `conversion-updates`.
package enum ConversionUpdatesEventType: EventType {
    /// `conversion.update`: an install asked for its conversion value, or said what it has.
    case update

    /// The type of a record without `ce_type`.
    package static let byDefault = ConversionUpdatesEventType.update

    /// The type as `ce_type` says it.
    package var name: StaticString { "conversion.update" }
}
