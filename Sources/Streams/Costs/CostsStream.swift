import ConfigurationValues
import EventLog

// The topic `costs`: its event type, aggregates and rules.

extension CostsFold {
    package typealias Kind = CostsEventType
    package static let streamName = "costs"
    package static let help = StreamHelp(
        "Folds reported costs into costs.sqlite.",
        """
        Reads the topic that costs.yaml names from the event log and keeps, by day and campaign, what ad \
        platforms and finance say that it cost. A later report takes the place of an earlier one of the same \
        source, day, campaign, country and currency, however often. Stop it at any time: it goes on where \
        it was.

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
        .text("source", \.source, "who reported it: an ad platform, or finance"),
        .group(\.campaign, CampaignKey.columns),
        .text("country", \.country, "as it was written; '' when none was"),
        .text("currency", \.currency, "three capital letters"),
    ]
    package static let table = AggregateTable(
        "costs", "What campaigns cost as reported: of each day and campaign the last report.",
        columns, measures: Measure.self,
        notes: [
            .costMicros: "what was reported last; never added up over currencies",
            .reportedImpressions: "as the source counts them",
            .reportedClicks: "as the source counts them",
            .reportedInstalls: "as the source counts them",
            .restatements: "reports that took the place of one with other words",
        ],
        day: .init(
            "day", "that the report is about, as it says; not when it came", isAtMostTomorrow: true)
    )
}
