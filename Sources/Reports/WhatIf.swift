import ConfigurationValues
import ConversionModels
import Store
import Streams

extension OpenStores {
    /// Compares `decoded-events` with the result of candidate models without a replay, by decoding the stored
    /// conversion values again.
    ///
    /// A replay of the whole log under these models would give the same difference. Apps without a candidate are left
    /// out, with a notice. Postbacks keep the trust setting under which they were folded. A shortened source identifier
    /// counts as the campaign that it matches in the catalog, as in the funnel.
    ///
    /// - Throws: `noStore` without a store of postbacks; `unknownColumn` and similar errors for an invalid request.
    package func whatIf(
        _ models: [ConversionModel], _ question: ComparisonQuery, catalog: Catalog = Catalog()
    ) throws(InspectionError) -> StoreComparison {
        var request = question.request
        request.name = DecodedEventsKey.table.name
        // Conditions on the campaign apply to the resolved campaign.
        var campaigns = ResolvedCampaigns(catalog, request.conditions)
        request.conditions.removeAll { ResolvedCampaigns.columns.contains($0.column) }
        let figure = try DumpFigure(request, DumpConfiguration(catalog: catalog))
        let byApp = Dictionary(models.map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
        return try view(of: [PostbacksFold.streamName]) { view in
            var leftOut: Set<Int64> = []
            var stored = DumpGroups(figure)
            let table = DecodedEventsKey.table
            for slice in view.slices {
                try slice.forEachRow(of: table, figure.choice(of: table)) { _, columns, sums in
                    let app = ResolvedCampaigns.app(columns)
                    if byApp[app] == nil {
                        if figure.values(of: table, columns) != nil { leftOut.insert(app) }
                    } else if let values = campaigns.values(columns, of: figure) {
                        stored.add(values, ExactSums(sums), at: 0)
                    }
                }
            }
            return try StoreComparison(
                stored.dump,
                view.candidateEvents(figure, models: byApp) { columns in
                    campaigns.values(columns, of: figure)
                }, question,
                titles: ["stored", "candidate"],
                notices: view.trustNotices() + Self.notices(leftOut: leftOut))
        }
    }

    private static func notices(leftOut apps: Set<Int64>) -> [String] {
        guard !apps.isEmpty else { return [] }
        let names = apps.sorted().map { "\($0)" }.joined(separator: ", ")
        return ["there is no candidate model of \(names): both sides exclude their events"]
    }
}

extension StoreView {
    /// `decoded-events` under other models, computed from the stored values.
    ///
    /// - Parameters:
    ///   - models: by app; values of other apps are left out.
    ///   - resolve: the values of a row with its resolved campaign; nil for an unselected row.
    func candidateEvents(
        _ figure: DumpFigure, models: [Int64: ConversionModel],
        _ resolve: ([StoredValue]) -> [StoredValue]?
    ) throws -> Dump {
        var groups = DumpGroups(figure)
        for slice in slices where slice.stream == PostbacksFold.streamName {
            let recorded = try slice.recordedDecodings()
            let hours = figure.hours
            try slice.forEachRow(of: ValuedPostbacks.reader) { partition, row in
                guard let valued = ValuedPostbacks(row),
                    valued.row.isTrusted(
                        trustsDevelopment: recorded[partition]?.trustsDevelopment ?? false),
                    let model = models[valued.row.app]
                else { return }
                let hour = hours[valued.row.hour]
                guard let decoding = valued.decoding(model, hourMilliseconds: hour.milliseconds)
                else { return }
                for event in decoding.events {
                    let columns = valued.row.eventColumns(decoding, event.event)
                    guard let values = resolve(columns) else { continue }
                    groups.add(values, valued.eventMeasures(decoding, event))
                }
            }
        }
        return groups.dump
    }

    /// A notice when the trust setting changed, because rows do not record the setting under which they were folded.
    func trustNotices() throws -> [String] {
        for slice in slices where slice.stream == PostbacksFold.streamName {
            guard try slice.recordedDecodings().values.contains(where: \.changedTrust) else {
                continue
            }
            return [
                "trust_development changed while these postbacks were folded. The last setting is used for "
                    + "all of them. For exact numbers, replay under one setting"
            ]
        }
        return []
    }
}

/// Resolves the campaigns of rows of decoded events with the catalog.
private struct ResolvedCampaigns {
    /// The campaign is the resolved one in both.
    static let columns = [
        DecodedEventsKey.table.columns[campaign.campaign.index].name, CatalogCampaignColumn.name,
    ]

    private static let campaign = CampaignColumns(\DecodedEventsKey.campaign)
    private static let hasSourceIdentifier = DecodedEventsKey.column(\.hasSourceIdentifier)

    private var names: CampaignNames
    /// The campaigns that all conditions require.
    private let wanted: [String]

    init(_ catalog: Catalog, _ conditions: [ReportRequest.Condition]) {
        names = CampaignNames(catalog)
        wanted = conditions.filter { Self.columns.contains($0.column) }.map(\.value)
    }

    static func app(_ columns: [StoredValue]) -> Int64 {
        TableRow<DecodedEventsKey>(AnyTableRow(columns))[campaign.app]
    }

    /// The values of the dump's columns in a stored row, with its resolved campaign; nil for an unselected row.
    mutating func values(_ columns: [StoredValue], of figure: DumpFigure) -> [StoredValue]? {
        let row = TableRow<DecodedEventsKey>(AnyTableRow(columns))
        let campaign = names.named(
            network: row[Self.campaign.network], app: row[Self.campaign.app],
            campaign: row[Self.campaign.campaign],
            as: CampaignIDKinds(
                CampaignIDKind(hasSourceIdentifier: row[Self.hasSourceIdentifier]))
        ).campaign
        guard wanted.allSatisfy({ $0 == campaign }) else { return nil }
        var columns = columns
        columns[Self.campaign.campaign.index] = .text(campaign)
        return figure.values(of: DecodedEventsKey.table, columns)
    }
}

extension PostbackRow {
    /// The columns of `decoded-events`.
    fileprivate func eventColumns(_ decoding: ModelDecoding, _ event: String) -> [StoredValue] {
        [
            .text(hour), .text(network), .text(campaign), .integer(app),
            .integer(sourceApp), .integer(sequenceIndex), .text(decoding.versionID), .text(event),
            .text(decoding.currency), .integer(kind == .campaignID ? 0 : 1),
        ]
    }
}

extension ValuedPostbacks {
    fileprivate func eventMeasures(
        _ decoding: ModelDecoding, _ event: DecodedEvent
    ) -> [Int128] {
        [
            event.countMin, event.countMax, event.revenueMinMicros, event.revenueMaxMicros,
            decoding.ambiguous ? 1 : 0,
        ].map { Int128($0) * Int128(count) }
    }
}
