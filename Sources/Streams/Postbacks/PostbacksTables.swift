/// Row of `postbacks`.
package struct PostbacksKey: RowKey {
    var framework: Symbol
    var version: Symbol
    var campaign: CampaignKey
    var sourceDomain: Symbol
    var sequenceIndex: Int64
    var interaction: Symbol
    var conversionType: Symbol
    var didWin: Bool
    var verdict: Symbol
    var country: Symbol

    package enum Measure: Int, AggregateMeasure { case postbacks, nullValues }

    package static let columns: KeyColumns<Self> = [
        .text("framework", \.framework, "'skadnetwork' or 'adattributionkit'"),
        .text("version", \.version, "'' for AdAttributionKit"),
        .group(\.campaign, CampaignKey.columns),
        .text("source_domain", \.sourceDomain, "of a web ad"),
        .integer("sequence_index", \.sequenceIndex, "0, 1 or 2; 0 below 4.0"),
        .text("interaction", \.interaction, "'view', 'click', or '' when unknown"),
        .text("conversion_type", \.conversionType, "'download', 'redownload', 're-engagement'"),
        .boolean("did_win", \.didWin, "1 or 0; 1 below 3.0"),
        .text("verdict", \.verdict, "'valid', 'development', 'invalid', 'unverifiable'"),
        .text("country", \.country, "'' when absent"),
    ]
    package static let table = AggregateTable(
        "postbacks", "Accepted postbacks of SKAdNetwork and AdAttributionKit, under their verdict.",
        columns, measures: Measure.self,
        notes: [.nullValues: "winning ones without a conversion value of either kind"])
}

/// Row of `conversion-values`.
package struct ConversionValuesKey: RowKey {
    var postback: PostbacksKey
    var kind: Symbol
    var value: Symbol

    package enum Measure: Int, AggregateMeasure { case postbacks }

    package static let columns: KeyColumns<Self> = [
        .group(\.postback, PostbacksKey.columns),
        .text("kind", \.kind, "'fine' or 'coarse'"),
        .text("value", \.value, "'0' to '63', or 'low', 'medium', 'high'"),
    ]
    package static let table = AggregateTable(
        "conversion-values", "The conversion values that accepted postbacks brought.", columns,
        measures: Measure.self)
}

/// Row of `decoded-events`.
package struct DecodedEventsKey: RowKey {
    var campaign: CampaignKey
    var sequenceIndex: Int64
    var model: Symbol
    var event: Symbol
    var currency: Symbol
    var hasSourceIdentifier: Bool

    package enum Measure: Int, AggregateMeasure {
        case countMin, countMax, revenueMinMicros, revenueMaxMicros, ambiguous
    }

    package static let columns: KeyColumns<Self> = [
        .group(\.campaign, CampaignKey.columns),
        .integer("sequence_index", \.sequenceIndex, "0, 1 or 2; 0 below 4.0"),
        .text("model", \.model, "id of the model version"),
        .text("event", \.event),
        .text("currency", \.currency, "of the model version"),
        .boolean(
            "has_source_identifier", \.hasSourceIdentifier,
            "1: campaign is one, 0: it is a campaign id", isDefault: false),
    ]
    package static let table = AggregateTable(
        "decoded-events",
        "What the values of trusted, winning postbacks mean under their model version.", columns,
        measures: Measure.self,
        notes: [.ambiguous: "postbacks whose value may be of another model version"])
}
