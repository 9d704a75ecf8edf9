// The topic `conversion-updates`: its event types, aggregates and rules.

extension ConversionUpdatesFold {
    package typealias Kind = ConversionUpdatesEventType
    package static let streamName = "conversion-updates"
    package static let help = StreamHelp(
        "Folds what installs were told into conversion-updates.sqlite.",
        """
        Reads the topic that conversion-updates.yaml names from the event log and keeps, by app, \
        window and value, which conversion values installs were told and which they say they have. \
        Stop it at any time: it goes on where it was.

          weir-conversion-updates --until-end
          weir dump conversion-updates --by app_id,sequence_index,kind,value
        """)
    package static let defaultWindowSeconds: Int? = 604_800
    package static let tables = [ConversionUpdatesKey.table]
}

package enum ConversionUpdatesEventType: EventType {
    /// `conversion.update`: an install requested its conversion value, or reported it.
    case update

    package static let byDefault = ConversionUpdatesEventType.update

    package var name: StaticString { "conversion.update" }
}

package struct ConversionUpdatesKey: RowKey {
    package var appID: Int64
    package var framework: Symbol
    package var conversionType: Symbol
    package var sequenceIndex: Int64
    package var model: Symbol
    package var kind: Symbol
    package var value: Symbol

    package enum Measure: Int, AggregateMeasure {
        case updates, told, toldReplaced, repeated, reported, reportedReplaced
        case reportedLower, reportedHigher, locked, late, unmodelled, otherCurrency, errors
    }

    package static let columns: KeyColumns<Self> = [
        .integer("app_id", \.appID, .page("the app that was installed")),
        .text("framework", \.framework, "'skadnetwork' or 'adattributionkit'"),
        .text(
            "conversion_type", \.conversionType,
            "'install' or 're-engagement', which has windows and values of its own"),
        .integer("sequence_index", \.sequenceIndex, "the window, 0 to 2"),
        .text("model", \.model, "id of the model version; '' when none was in effect"),
        .text("kind", \.kind, "'fine', 'coarse', or '' for what is counted of requests"),
        .text(
            "value", \.value, "'0' to '63', or 'low', 'medium', 'high'",
            steps: ConversionValueText.inOrder),
    ]
    package static let table = AggregateTable(
        "conversion-updates",
        "What installs of an app were told, and what they say they have, by window, model and value.",
        columns, measures: Measure.self,
        notes: [
            .updates: "requests; this and the last five have rows without a value",
            .told: "installs that were told this value",
            .toldReplaced: "of these, those that were told another one later",
            .repeated: "told once more, since the install still lacked it",
            .reported: "installs that say they have this value",
            .reportedReplaced: "of these, those that have a higher one later",
            .reportedLower: "was told this value, and says it has a lower one",
            .reportedHigher: "says it has this value, and was told a lower one at most",
            .locked: "requests in a window that is locked",
            .late: "requests after the last window, or of an earlier install",
            .unmodelled: "requests while no model was in effect",
            .otherCurrency: "requests with revenue that the model does not speak of",
            .errors: "requests that report an error of the framework",
        ])
}
