/// Row of `postbacks`.
package struct PostbacksKey: RowKey {
    /// The partition whose records the row counts.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// `skadnetwork` or `adattributionkit`.
    package var framework: Symbol
    /// Version of SKAdNetwork; empty for AdAttributionKit.
    package var version: Symbol
    /// Whose ad it was.
    package var campaign: CampaignKey
    /// Domain of a web ad.
    package var sourceDomain: Symbol
    /// 0 to 2; 0 below 4.0.
    package var sequenceIndex: Int64
    /// `view`, `click` or empty.
    package var interaction: Symbol
    /// `download`, `redownload` or `re-engagement`.
    package var conversionType: Symbol
    /// True for the network that won, and below 3.0.
    package var didWin: Bool
    /// The verdict's name.
    package var verdict: Symbol
    /// Country code; empty when absent.
    package var country: Symbol

    static let columns: [AggregateTable.Column] =
        [.init("hour", .hour), .init("framework", .text), .init("version", .text)]
        + AggregateTable.campaignColumns
        + [
            .init("source_domain", .text), .init("sequence_index", .integer),
            .init("interaction", .text), .init("conversion_type", .text),
            .init("did_win", .boolean), .init("verdict", .text), .init("country", .text),
        ]

    /// The aggregate.
    package static let table = AggregateTable(
        name: "postbacks", columns: columns, measures: ["postbacks", "null_values"])

    /// Adds all that makes the key to a hash.
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition) << 40 ^ hour.hoursSince1970)
        hasher.combine(framework, version)
        campaign.combine(into: &hasher)
        hasher.combine(sourceDomain, interaction)
        hasher.combine(conversionType, verdict)
        hasher.combine(UInt64(country.number) << 32 | UInt64(sequenceIndex) << 1 | (didWin ? 1 : 0))
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        body(.symbol(framework))
        body(.symbol(version))
        campaign.forEachColumn(body)
        body(.symbol(sourceDomain))
        body(.integer(sequenceIndex))
        body(.symbol(interaction))
        body(.symbol(conversionType))
        body(.boolean(didWin))
        body(.symbol(verdict))
        body(.symbol(country))
    }
}

/// Row of `conversion-values`: a row of `postbacks` with the value that they brought.
package struct ConversionValuesKey: RowKey {
    /// The row of `postbacks`.
    package var postback: PostbacksKey
    /// `fine` or `coarse`.
    package var kind: Symbol
    /// 0 to 63, or low, medium, high.
    package var value: Symbol

    /// The aggregate.
    package static let table = AggregateTable(
        name: "conversion-values",
        columns: PostbacksKey.columns + [.init("kind", .text), .init("value", .text)],
        measures: ["postbacks"])

    /// The partition whose records the row counts.
    package var partition: Int32 { postback.partition }

    /// Adds all that makes the key to a hash.
    package func combine(into hasher: inout RowHasher) {
        postback.combine(into: &hasher)
        hasher.combine(kind, value)
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        postback.forEachColumn(body)
        body(.symbol(kind))
        body(.symbol(value))
    }
}

/// Row of `decoded-events`: what the values of trusted, winning postbacks mean.
package struct DecodedEventsKey: RowKey {
    /// The partition whose records the row counts.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// Whose ad it was.
    package var campaign: CampaignKey
    /// 0 to 2; 0 below 4.0.
    package var sequenceIndex: Int64
    /// Id of the model version.
    package var model: Symbol
    /// Name of the event.
    package var event: Symbol
    /// The version's currency.
    package var currency: Symbol
    /// True when the campaign is a source identifier, false when it is a campaign id.
    package var hasSourceIdentifier: Bool

    /// The measures, in the table's order.
    enum Measure: Int {
        case countMin, countMax, revenueMinMicros, revenueMaxMicros, ambiguous
    }

    /// The aggregate.
    package static let table = AggregateTable(
        name: "decoded-events",
        columns: [.init("hour", .hour)] + AggregateTable.campaignColumns
            + [
                .init("sequence_index", .integer), .init("model", .text), .init("event", .text),
                .init("currency", .text),
                .init("has_source_identifier", .boolean, isDefault: false),
            ],
        measures: [
            "count_min", "count_max", "revenue_min_micros", "revenue_max_micros", "ambiguous",
        ])

    /// Adds all that makes the key to a hash.
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition) << 40 ^ hour.hoursSince1970)
        campaign.combine(into: &hasher)
        hasher.combine(sequenceIndex)
        hasher.combine(model, event)
        hasher.combine(UInt64(currency.number) << 1 | (hasSourceIdentifier ? 1 : 0))
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        campaign.forEachColumn(body)
        body(.integer(sequenceIndex))
        body(.symbol(model))
        body(.symbol(event))
        body(.symbol(currency))
        body(.boolean(hasSourceIdentifier))
    }
}
