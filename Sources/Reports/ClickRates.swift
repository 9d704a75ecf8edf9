import ConfigurationValues
import Store
import Streams

/// How often shown ads are clicked, by format and placement: joins `impressions` and `overlay-clicks` of the same ads.
///
/// A click counts under the rules of `overlay-clicks`: the overlay was presented, its SDK reports clicks, the bid did
/// not turn that off, and a person clicked. Impressions reported to SKAdNetwork have no clicks of their own and are
/// left out.
package struct ClickRates: Sendable {
    package static let name = "click-rates"

    static let columns = [
        DumpColumn("day", .text), DumpColumn("format", .text), DumpColumn("placement", .text),
        DumpColumn("ad_network_id", .text), DumpColumn("campaign", .text),
        DumpColumn("app_id", .integer), DumpColumn("source_app_id", .integer),
        CatalogCampaignColumn.column,
    ]
    fileprivate static let catalogCampaign = CatalogCampaignColumn(columns)
    package static let columnNames = columns.map(\.name)
    package static let rate = "ctr"
    package static let measureNames = counts.map(\.name) + [rate]

    package let table: ReportTable
    /// The streams without a store. Values that need one of them are null.
    package let missingStreams: [String]

    /// The terms of the rate: the clicks divided by the sum of the others.
    fileprivate static let rateParts = ["clicks", "presented", "viewed"]
    fileprivate static let counts = ClickSource.all.flatMap(\.counts)

    /// The dump that has the measure's records; nil for the rate.
    package static func dump(of measure: String) -> String? {
        ClickSource.all.first { $0.counts.contains { $0.name == measure } }?.indices.stored.name
    }
}

/// An aggregate that counts ads, and the mapping of its measures to counts of the rates.
private struct ClickSource: Sendable {
    struct Count: Sendable {
        let name: String
        /// Its index in the stored aggregate and among all counts.
        let stored: Int
        let index: Int
    }

    let stream: String
    let indices: ReadIndices
    let counts: [Count]
    private let ad: @Sendable (AnyTableRow) -> (hour: String, values: [StoredValue])?

    private init<Key: RowKey>(
        _ stream: String, _ path: KeyPath<Key, AdKey>, _ measures: [Key.Measure], after count: Int
    ) {
        self.stream = stream
        let columns = AdColumns(path)
        indices = TableReader(Key.time, columns, measures: measures).indices
        counts = measures.enumerated().map {
            Count(name: $1.name, stored: $1.rawValue, index: count + $0)
        }
        ad = { row in
            let row = TableRow<Key>(row)
            guard row[columns.format] != AdFormat.skadn.text else { return nil }
            return (row[Key.time], row.values(columns))
        }
    }

    private static let impressions = ClickSource(
        ImpressionsFold.streamName, \ImpressionsKey.ad, [.presented, .viewed], after: 0)
    private static let clicks = ClickSource(
        OverlayClicksFold.streamName, \OverlayClicksKey.ad,
        [.clicks, .userClicks, .paidClicks, .organicClicks], after: impressions.counts.count)
    static let all = [impressions, clicks]

    /// The values of the rate columns in a row; nil for a row that does not count whatever its time.
    func values(
        _ row: AnyTableRow, _ hours: HourTexts, _ selection: RowSelection,
        _ names: inout CampaignNames
    ) -> [StoredValue]? {
        guard let ad = ad(row) else { return nil }
        var values = [.text(hours[ad.hour].day)] + ad.values
        if selection.uses(CatalogCampaignColumn.name), let column = ClickRates.catalogCampaign {
            values.append(column.value(values, &names))
        }
        return selection.includesBesideTime(values) ? values : nil
    }
}

/// The columns that identify an ad and its placement.
private struct AdColumns<Key: RowKey>: ReadColumns {
    let format: TableColumn<Key, String>
    let indices: [Int]

    init(_ path: KeyPath<Key, AdKey>) {
        format = Key.column(path.appending(path: \.format))
        indices =
            format.indices + Key.column(path.appending(path: \.placement)).indices
            + CampaignColumns(path.appending(path: \.campaign)).indices
            + Key.column(path.appending(path: \.campaign.sourceAppID)).indices
    }
}

extension OpenStores {
    /// Reads the rates from the stores.
    ///
    /// - Throws: `noStore` when both stores are missing; `unknownColumn` and `badCondition` for an invalid request.
    package func clickRates(
        _ request: ReportRequest, _ catalog: Catalog = Catalog()
    ) throws(InspectionError) -> ClickRates {
        let selection = try RowSelection(request, of: ClickRates.columns)
        let streams = ClickSource.all.map(\.stream)
        return try view(of: streams) { view in
            var rows = RowGroups(
                by: selection.indices, empty: ClickRates.counts.map { _ in Int128(0) })
            let hours = HourTexts(request.timeZone)
            var names = CampaignNames(catalog)
            let choice = RowChoice(isHourWanted: { selection.includes(hour: $0, hours) })
            for slice in view.slices {
                for source in ClickSource.all where source.stream == slice.stream {
                    let table = source.indices.stored
                    try slice.forEachSum(
                        of: table, choice, by: hours, splitsDays: selection.indices.first == 0,
                        group: { columns in
                            source.values(AnyTableRow(columns), hours, selection, &names).map {
                                values in
                                RowKeyBytes(selection.indices.filter { $0 > 0 }.map { values[$0] })
                            }
                        }
                    ) { columns, sums in
                        guard !sums.isZero,
                            let values = source.values(
                                AnyTableRow(columns), hours, selection, &names)
                        else { return }
                        let counts = try source.counts.map {
                            ($0.index, try sums.known($0.stored, of: table))
                        }
                        rows.add(values) { sums in
                            for (index, count) in counts { sums[index] += count }
                        }
                    }
                }
            }
            return ClickRates(
                rows, selection, missing: streams.filter { !view.streams.contains($0) })
        }
    }
}

extension ClickRates {
    fileprivate init(_ groups: RowGroups<[Int128]>, _ selection: RowSelection, missing: [String]) {
        missingStreams = missing
        table = ReportTable(
            columns: selection.columns.map(\.reportColumn)
                + Self.measureNames.map { ReportTable.Column(measure: $0) },
            rows: groups.sorted.map { group in
                let counts = ClickSource.all.flatMap { source in
                    source.counts.map { count in
                        missing.contains(source.stream)
                            ? ReportValue.null : .integer(group.sums[count.index])
                    }
                }
                let parts = Self.rateParts.map { name in
                    Self.counts.first { $0.name == name }.map { group.sums[$0.index] } ?? 0
                }
                let rate: ReportValue =
                    missing.isEmpty
                    ? .ratio(parts.first ?? 0, parts.dropFirst().reduce(0, +)) : .null
                return zip(selection.columns, group.columns).map { $0.reportValue($1) } + counts
                    + [rate]
            }, keyCount: selection.columns.count)
    }
}

/// The rows of impressions and clicks that count in the selected rows of the click rates.
package final class ClickRatesFigure: Figure {
    package let name = ClickRates.name
    package let request: ReportRequest
    package let measures = ClickRates.counts.map(\.name)
    private let selection: RowSelection
    private let hours: HourTexts
    private var names: CampaignNames

    package init(
        _ request: ReportRequest, _ catalog: Catalog = Catalog()
    ) throws(InspectionError) {
        self.request = request
        names = CampaignNames(catalog)
        hours = HourTexts(request.timeZone)
        selection = try RowSelection(request, of: ClickRates.columns)
    }

    package var sources: [(stream: String, tables: [AggregateTable])] {
        ClickSource.all.map { ($0.stream, [$0.indices.stored]) }
    }

    package func streams(of measure: String) -> [String] {
        ClickRates.dump(of: measure).map { [$0] } ?? []
    }

    package func parts(ofColumn name: String) -> NumberParts {
        guard name != ClickRates.rate else { return .measures(ClickRates.rateParts) }
        return measures.contains(name)
            ? .measures([name]) : .unknown(valid: ClickRates.measureNames)
    }

    package var isLimitedInTime: Bool { selection.isLimitedInTime }

    package var postbackValues: [String: StoredValue] { [:] }

    package func mayCount(in hour: Hour) -> Bool {
        selection.includes(hour: hour.text, hours)
    }

    package func choice(of table: AggregateTable) -> RowChoice {
        RowChoice(isHourWanted: mayCount(inHour:))
    }

    package func terms(of table: AggregateTable, columns: [StoredValue]) -> [FigureTerm]? {
        guard let time = table.columns.firstIndex(where: { $0.kind.isTime }),
            selection.includes(hour: columns[time].text, hours),
            let source = ClickSource.all.first(where: { $0.indices.stored.name == table.name }),
            source.values(AnyTableRow(columns), hours, selection, &names) != nil
        else { return nil }
        return source.counts.map { FigureTerm(rowMeasure: $0.stored, measure: $0.index) }
    }

    package func phase(of _: AggregateTable, in _: Hour) -> [Int]? { [] }

    package func concerns(_: AggregateTable, columns _: [StoredValue]) -> Bool { false }
}

struct ClickRatesReport: Report {
    var name: String { ClickRates.name }
    let note = "Ads shown and clicks on them, by format and placement."
    let help: String? =
        "click-rates reports ads shown, clicks and click rates by format and placement: "
        + "docs/reference/funnel.md."
    var columnNames: [String] { ClickRates.columnNames }
    var measureNames: [String] { ClickRates.measureNames }
    var streams: [String] { ClickSource.all.map(\.stream) }
    let abilities: ReportAbilities = [.groups, .scopes, .endsWithEvents]
    let catalogColumns: Set<String> = [CatalogCampaignColumn.name]

    func answer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat
    ) throws -> DumpAnswer {
        let rates = try stores.clickRates(request, configuration.catalog(for: request))
        return try request.answer(
            rates.table, [missingNotice(rates.missingStreams)], of: self, as: format)
    }

    func dependence(_: ReportRequest) -> RecordDependence {
        RecordDependence(streamsByHour: streams)
    }

    func figure(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> any Figure { try ClickRatesFigure(request, configuration.catalog(for: request)) }

    func isExplained(_: String, in _: ReportRequest) -> Bool { true }

    func division(
        of measure: String, _ request: ReportRequest, _ stores: OpenStores,
        _ configuration: ReportConfiguration
    ) throws -> FunnelDivision? {
        try stores.division(of: measure, inClickRates: request, configuration.catalog(for: request))
    }
}
