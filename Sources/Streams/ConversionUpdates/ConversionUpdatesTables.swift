/// Row of `conversion-updates`: what installs of an app were told, and what they say they have, by
/// window, model and value.
package struct ConversionUpdatesKey: RowKey {
    /// The partition whose records the row counts.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// App Store id of the app.
    package var appID: Int64
    /// `skadnetwork` or `adattributionkit`.
    package var framework: Symbol
    /// The window, 0 to 2.
    package var sequenceIndex: Int64
    /// Id of the model's version; empty when none was in effect.
    package var model: Symbol
    /// `fine`, `coarse`, or empty for what is counted of requests.
    package var kind: Symbol
    /// 0 to 63, or low, medium, high; empty for what is counted of requests.
    package var value: Symbol

    /// The measures, in the table's order.
    enum Measure: Int, CaseIterable {
        case updates, told, toldReplaced, repeated, reported, reportedReplaced
        case reportedLower, reportedHigher, locked, late, unmodelled, otherCurrency, errors

        var name: String {
            switch self {
            case .updates: "updates"
            case .told: "told"
            case .toldReplaced: "told_replaced"
            case .repeated: "repeated"
            case .reported: "reported"
            case .reportedReplaced: "reported_replaced"
            case .reportedLower: "reported_lower"
            case .reportedHigher: "reported_higher"
            case .locked: "locked"
            case .late: "late"
            case .unmodelled: "unmodelled"
            case .otherCurrency: "other_currency"
            case .errors: "errors"
            }
        }
    }

    /// The aggregate.
    package static let table = AggregateTable(
        name: "conversion-updates",
        columns: [
            .init("hour", .hour), .init("app_id", .integer), .init("framework", .text),
            .init("sequence_index", .integer), .init("model", .text), .init("kind", .text),
            .init("value", .text),
        ], measures: Measure.allCases.map(\.name))

    /// Adds all that makes the key to a hash.
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition) << 40 ^ hour.hoursSince1970)
        hasher.combine(appID)
        hasher.combine(sequenceIndex)
        hasher.combine(framework, model)
        hasher.combine(kind, value)
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        body(.integer(appID))
        body(.symbol(framework))
        body(.integer(sequenceIndex))
        body(.symbol(model))
        body(.symbol(kind))
        body(.symbol(value))
    }
}
