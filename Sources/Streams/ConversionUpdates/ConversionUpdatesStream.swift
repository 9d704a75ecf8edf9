// The topic `conversion-updates`: its event types, aggregates and rules.

extension ConversionUpdatesFold {
    package typealias Kind = ConversionUpdatesEventType
    package static let streamName = "conversion-updates"
    package static let help = StreamHelp(
        "Folds conversion updates of installs into conversion-updates.sqlite.",
        """
        Reads the topic configured in conversion-updates.yaml and counts by app, window and value \
        which conversion values installs received and which they report. You can stop it at any \
        time. After a restart it continues where it stopped.

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
        .integer("app_id", \.appID, .page("the installed app")),
        .text("framework", \.framework, "'skadnetwork' or 'adattributionkit'"),
        .text(
            "conversion_type", \.conversionType,
            "'install' or 're-engagement', which has separate windows and values"),
        .integer("sequence_index", \.sequenceIndex, "the window, 0 to 2"),
        .text("model", \.model, "id of the model version; '' if none was in effect"),
        .text("kind", \.kind, "'fine', 'coarse', or '' for counts of requests"),
        .text(
            "value", \.value, "'0' to '63', or 'low', 'medium', 'high'",
            steps: ConversionValueText.inOrder),
    ]
    package static let table = AggregateTable(
        "conversion-updates",
        "Conversion values that installs received and reported, by app, window, model and value.",
        columns, measures: Measure.self,
        notes: [
            .updates: "requests; this column and the last five have rows without a value",
            .told: "installs that received this value",
            .toldReplaced: "of these, installs that received another value later",
            .repeated: "sent again because the install did not have the value yet",
            .reported: "installs that report this value",
            .reportedReplaced: "of these, installs that report a higher value later",
            .reportedLower: "installs that received this value and report a lower one",
            .reportedHigher: "installs that report this value and received only lower ones",
            .locked: "requests in a locked window",
            .late: "requests after the last window, or of an earlier install",
            .unmodelled: "requests while no model was in effect",
            .otherCurrency: "requests with revenue in a currency that the model does not use",
            .errors: "requests that report a framework error",
        ])
}
