import ConfigurationValues
import EventLog

// The topic `costs`: its event type, aggregates and rules.

extension CostsFold {
    package typealias Kind = CostsEventType
    package static let streamName = "costs"
    package static let help = StreamHelp(
        "Folds reported costs into costs.sqlite.",
        """
        Reads the topic configured in costs.yaml and stores the costs that ad platforms and finance report, by \
        day and campaign. A later report replaces an earlier one of the same source, day, campaign, country and \
        currency. You can stop it at any time. After a restart it continues where it stopped.

          weir costs import report.csv --mapping google-ads
          weir-costs --until-end
          weir dump costs --by day,source,campaign,currency
        """)
    package static let tables = [CostsKey.table]
    package static let memoryTables = [CostsReport.table]
    package static var replacesRecords: Bool { true }

    package static func rules(
        in pipelines: PipelineDirectory
    ) throws(ConfigurationError) -> CostsRules {
        CostsRules(maxRecordBytes: try file(in: pipelines).settings.maxRecordBytes)
    }

    package static func make(
        _ rules: CostsRules, topic: String, memory: any FoldMemory, threadCount: Int
    ) throws -> CostsFold {
        CostsFold(topic: topic, rules: rules, parser: try .make(), memory: memory)
    }
}

package enum CostsEventType: EventType {
    /// `cost.reported`: the reported cost of a campaign on a day.
    case reported

    package static let byDefault = CostsEventType.reported

    package var name: StaticString { "cost.reported" }
}

package struct CostsKey: RowKey {
    package var source: Symbol
    package var campaign: CampaignKey
    package var country: Symbol
    package var currency: Symbol

    package enum Measure: Int, AggregateMeasure {
        case costMicros, reportedImpressions, reportedClicks, reportedInstalls, restatements
    }

    package static let columns: KeyColumns<Self> = [
        .text("source", \.source, "the reporting source: an ad platform, or finance"),
        .group(\.campaign, CampaignKey.columns),
        .text("country", \.country, "as in the report; '' if absent"),
        .text("currency", \.currency, "three capital letters"),
    ]
    package static let table = AggregateTable(
        "costs", "Reported costs of campaigns: the last report of each day and campaign.",
        columns, measures: Measure.self,
        notes: [
            .costMicros: "the last reported cost; amounts in different currencies are never added",
            .reportedImpressions: "as counted by the source",
            .reportedClicks: "as counted by the source",
            .reportedInstalls: "as counted by the source",
            .restatements: "reports that replaced a different report",
        ],
        day: .init(
            "day", "the day that the report names; not the day of its arrival",
            isAtMostTomorrow: true)
    )
}
