import ConfigurationValues
import JSON
import Signatures

// The topic `postbacks`: its event types, aggregates and rules.

extension PostbacksFold {
    package static let streamName = "postbacks"
    package static let help = StreamHelp(
        "Verifies postbacks and folds them into postbacks.sqlite.",
        """
        Checks the signature of every SKAdNetwork and AdAttributionKit postback, counts it by \
        verdict, decodes its conversion value with the app's model, and publishes it in the topic \
        partner-postbacks for the partners that are configured to receive it. You can stop it at \
        any time. After a restart it continues where it stopped.

          weir publish --topic postbacks postbacks.ndjson
          weir-postbacks --until-end
          weir dump postbacks --by day,campaign,verdict
        """)
    package static let fileKeys = PostbacksRules.fileKeys
    package static let tables = [
        PostbacksKey.table, ConversionValuesKey.table, DecodedEventsKey.table,
        InstallCohortsKey.table,
    ]
    package static let memoryTables = [KnownPostback.table, PostbackCopy.table]
    package static let emits = true
    package typealias Kind = PostbacksEventType

    /// Reads `postbacks.yaml`, the conversion models and the partners' files.
    package static func rules(
        in pipelines: PipelineDirectory
    ) throws(ConfigurationError) -> PostbacksRules {
        try PostbacksRules(
            file(in: pipelines), models: pipelines.conversionModels(),
            partners: pipelines.partners().map(PartnerRule.init))
    }

    /// The keys of `postbacks.yaml`, including Apple's.
    package static func trustedKeys(in pipelines: PipelineDirectory) throws -> TrustedKeys {
        try PostbacksRules(file(in: pipelines), models: [], partners: []).trustedKeys
    }

    /// `trust_development`: whether the verdict `development` counts as trusted.
    package static func trustsDevelopment(
        in pipelines: PipelineDirectory
    ) throws(ConfigurationError) -> Bool {
        guard isConfigured(in: pipelines) else { return false }
        return try file(in: pipelines).mapping.boolean("trust_development")
    }

    package static func make(
        _ rules: PostbacksRules, topic: String, memory: any FoldMemory, threadCount: Int
    ) throws -> PostbacksFold {
        PostbacksFold(
            topic: topic, rules: rules,
            attestor: Attestor(keys: try rules.trustedKeys, threadCount: max(1, threadCount)),
            parser: try .make(), jwsParser: try .make(), memory: memory)
    }
}

package enum PostbacksEventType: EventType {
    case skAdNetwork, adAttributionKit

    package static let byDefault = PostbacksEventType.skAdNetwork

    package var name: StaticString {
        switch self {
        case .skAdNetwork: "skadnetwork.postback"
        case .adAttributionKit: "adattributionkit.postback"
        }
    }

    /// The framework's name in columns and ids.
    var framework: StaticString {
        switch self {
        case .skAdNetwork: "skadnetwork"
        case .adAttributionKit: "adattributionkit"
        }
    }
}

package struct PostbacksKey: RowKey {
    package var framework: Symbol
    package var version: Symbol
    package var campaign: CampaignKey
    package var sourceDomain: Symbol
    package var sequenceIndex: Int64
    package var interaction: Symbol
    package var conversionType: Symbol
    package var marketplace: Symbol
    package var didWin: Bool
    package var verdict: Symbol
    package var country: Symbol

    package enum Measure: Int, AggregateMeasure { case postbacks, nullValues }

    package static let columns: KeyColumns<Self> = [
        .text("framework", \.framework, "'skadnetwork' or 'adattributionkit'"),
        .text("version", \.version, "'' for AdAttributionKit"),
        .group(\.campaign, CampaignKey.columns),
        .text("source_domain", \.sourceDomain, "domain of a web ad"),
        .integer("sequence_index", \.sequenceIndex, "0, 1 or 2; 0 below 4.0"),
        .text("interaction", \.interaction, "'view', 'click', 'other', or '' if unknown"),
        .text(
            "conversion_type", \.conversionType,
            "'download', 'redownload', 're-engagement', 'other'"),
        .text(
            "marketplace", \.marketplace,
            "marketplace-identifier of AdAttributionKit; '' if absent"),
        .boolean("did_win", \.didWin, "1 or 0; 1 below 3.0"),
        .text("verdict", \.verdict, "'valid', 'development', 'invalid', 'unverifiable'"),
        .text("country", \.country, "'' if absent"),
    ]
    package static let table = AggregateTable(
        "postbacks", "Accepted postbacks of SKAdNetwork and AdAttributionKit, by verdict.",
        columns, measures: Measure.self,
        notes: [
            .postbacks: .page("postbacks; copies count once"),
            .nullValues: "winning postbacks without any conversion value",
        ])
}

package struct ConversionValuesKey: RowKey {
    package var postback: PostbacksKey
    package var kind: Symbol
    package var value: Symbol

    package enum Measure: Int, AggregateMeasure { case postbacks }

    package static let columns: KeyColumns<Self> = [
        .group(\.postback, PostbacksKey.columns),
        .text("kind", \.kind, "'fine' or 'coarse'"),
        .text(
            "value", \.value, "'0' to '63', or 'low', 'medium', 'high'",
            steps: ConversionValueText.inOrder),
    ]
    package static let table = AggregateTable(
        "conversion-values", "Conversion values of accepted postbacks.", columns,
        measures: Measure.self, notes: [.postbacks: .page("postbacks with this value")])
}

package struct DecodedEventsKey: RowKey {
    package var campaign: CampaignKey
    package var sequenceIndex: Int64
    package var model: Symbol
    package var event: Symbol
    package var currency: Symbol
    package var hasSourceIdentifier: Bool

    package enum Measure: Int, AggregateMeasure {
        case countMin, countMax, revenueMinMicros, revenueMaxMicros, ambiguous
    }

    package static let columns: KeyColumns<Self> = [
        .group(\.campaign, CampaignKey.columns),
        .integer("sequence_index", \.sequenceIndex, "0, 1 or 2; 0 below 4.0"),
        .text("model", \.model, "id of the model version"),
        .text("event", \.event, .page("name of the event in the model")),
        .text("currency", \.currency, "of the model version"),
        .boolean(
            "has_source_identifier", \.hasSourceIdentifier,
            "1: campaign is a source identifier, 0: it is a campaign id", isDefault: false),
    ]
    package static let table = AggregateTable(
        "decoded-events",
        "Events and revenue that trusted, winning postbacks represent under their model version.",
        columns,
        measures: Measure.self,
        notes: [
            .countMin: .page("lower bound of the events that the values represent"),
            .countMax: .page("upper bound of the events that the values represent"),
            .revenueMinMicros: .page("lower bound of the revenue that the values represent"),
            .revenueMaxMicros: .page("upper bound of the revenue that the values represent"),
            .ambiguous: "postbacks with a value that may belong to another model version",
        ])
}

package struct InstallCohortsKey: RowKey {
    package var window: Int64
    package var campaign: CampaignKey
    package var currency: Symbol
    package var hasSourceIdentifier: Bool

    package enum Measure: Int, AggregateMeasure {
        case installs, postbacks, nullValues, revenueMinMicros, revenueMaxMicros
    }

    package static let columns: KeyColumns<Self> = [
        .integer("window", \.window, "0, 1 or 2: the sequence index; 0 below 4.0"),
        .group(\.campaign, CampaignKey.columns),
        .text(
            "currency", \.currency,
            "of the model version in effect when the value was set; '' if there was none"),
        .boolean(
            "has_source_identifier", \.hasSourceIdentifier,
            "1: campaign is a source identifier, 0: it is a campaign id", isDefault: false),
    ]
    package static let table = AggregateTable(
        "install-cohorts",
        "Installs by cohort and window, from trusted, winning postbacks.", columns,
        measures: Measure.self,
        notes: [
            .installs: "downloads, from postbacks of window 0",
            .postbacks: "postbacks; copies count once",
            .nullValues: "postbacks without any conversion value",
            .revenueMinMicros: "lower bound of the revenue that the values represent",
            .revenueMaxMicros: "upper bound of the revenue that the values represent",
        ],
        day: .init(
            "cohort",
            "the estimated day of the install, UTC; '' if it is unknown"))
}

/// Conversion values in columns.
enum ConversionValueText {
    /// Fine values by number, then coarse ones from low to high.
    static let inOrder = (0...63).map { "\($0)" } + ["low", "medium", "high"]
}
