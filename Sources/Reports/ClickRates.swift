import Store
import Streams

/// How often ads that were shown are clicked, by format and placement: what `impressions` and `overlay-clicks` say of the
/// same ads, side by side.
///
/// A click counts where `overlay-clicks` counts it: the overlay was presented, its SDK reports clicks, the bid did not
/// turn that off, and a person clicked. Impressions that are reported to SKAdNetwork have no clicks of their own, and are left out.
package struct ClickRates: Sendable {
    package static let name = "click-rates"

    static let columns = [
        DumpColumn("day", .text), DumpColumn("format", .text), DumpColumn("placement", .text),
        DumpColumn("ad_network_id", .text), DumpColumn("campaign", .text),
        DumpColumn("app_id", .integer), DumpColumn("source_app_id", .integer),
    ]
    package static let columnNames = columns.map(\.name)
    static let rate = "ctr"
    package static let measureNames = counts.map(\.name) + [rate]

    package let table: ReportTable
    /// The streams without a store. What needs one of them is null.
    package let missingStreams: [String]

    /// A count, the dump that has it, and its place there.
    fileprivate struct Count {
        let name: String
        let table: AggregateTable

        init(_ name: String, of table: AggregateTable) {
            self.name = name
            self.table = table
        }
    }

    fileprivate static let counts =
        ["presented", "viewed"].map { Count($0, of: ImpressionsKey.table) }
        + ["clicks", "user_clicks", "paid_clicks", "organic_clicks"].map {
            Count($0, of: OverlayClicksKey.table)
        }

    /// The dump whose records add up to a measure; nil for the rate.
    package static func dump(of measure: String) -> String? {
        counts.first { $0.name == measure }?.table.name
    }

    fileprivate static func counts(of stream: String) -> [(place: Int, count: Count)] {
        counts.enumerated().filter { $0.element.table.name == stream }.map {
            (place: $0.offset, count: $0.element)
        }
    }
}

extension OpenStores {
    /// Reads the rates from the stores.
    ///
    /// - Throws: `noStore` when there is neither store; `unknownColumn` and `badCondition` for what cannot be asked.
    package func clickRates(_ query: DumpQuery) throws(InspectionError) -> ClickRates {
        let selection = try RowSelection(query, of: ClickRates.columns)
        let streams = [ImpressionsFold.streamName, OverlayClicksFold.streamName]
        return try view(of: streams) { view in
            var rows = RowGroups(
                by: selection.places, empty: ClickRates.counts.map { _ in Int128(0) })
            let hours = HourTexts()
            for slice in view.slices {
                let counts = ClickRates.counts(of: slice.stream)
                guard let stored = counts.first?.count.table else { continue }
                let table = stored.selecting(
                    ["hour"] + ClickRates.columnNames.dropFirst(),
                    measures: counts.map(\.count.name))
                try slice.forEachRow(of: table) { _, columns, measures in
                    guard measures.contains(where: { $0 != 0 }),
                        let values = ClickRates.values(columns, hours, selection)
                    else { return }
                    rows.add(values) { sums in
                        for (count, measure) in zip(counts, measures) {
                            sums[count.place] += Int128(measure)
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
    /// The values of its columns in a row whose columns begin with the hour, and go on as they do; nil for one that does
    /// not count.
    fileprivate static func values(
        _ columns: [StoredValue], _ hours: HourTexts, _ selection: RowSelection
    ) -> [StoredValue]? {
        let hour = hours[columns[0].text]
        let values = [.text(hour.day)] + columns.dropFirst()
        return columns[1].text != "\(AdFormat.skadn.name)"
            && selection.includes(values, timeMilliseconds: hour.milliseconds) ? values : nil
    }

    fileprivate init(_ groups: RowGroups<[Int128]>, _ selection: RowSelection, missing: [String]) {
        missingStreams = missing
        table = ReportTable(
            columns: selection.columns.map(\.reportColumn)
                + Self.measureNames.map { ReportTable.Column(measure: $0) },
            rows: groups.sorted.map { group in
                let counts = zip(Self.counts, group.sums).map { count, sum in
                    missing.contains(count.table.name) ? ReportValue.null : .integer(sum)
                }
                let rate: ReportValue =
                    missing.isEmpty
                    ? .ratio(group.sums[2], group.sums[0] + group.sums[1]) : .null
                return zip(selection.columns, group.columns).map { $0.reportValue($1) } + counts
                    + [rate]
            }, keyCount: selection.columns.count)
    }
}

/// The rows of impressions and clicks that count in the selected rows of the click rates.
package final class ClickRatesNumber: Number {
    package let name = ClickRates.name
    package let query: DumpQuery
    package let measures = ClickRates.counts.map(\.name)
    private let selection: RowSelection
    private let hours = HourTexts()

    package init(_ query: DumpQuery) throws(InspectionError) {
        self.query = query
        selection = try RowSelection(query, of: ClickRates.columns)
    }

    package var sources: [(stream: String, tables: [AggregateTable])] {
        [
            (ImpressionsFold.streamName, [ImpressionsKey.table]),
            (OverlayClicksFold.streamName, [OverlayClicksKey.table]),
        ]
    }

    package func streams(of measure: String) -> [String] {
        ClickRates.dump(of: measure).map { [$0] } ?? []
    }

    /// The measures that explain a column; nil for a name that is no column's.
    package func parts(of measure: String) -> [String]? {
        measure == ClickRates.rate
            ? ["clicks", "presented", "viewed"] : measures.contains(measure) ? [measure] : nil
    }

    package var isLimitedInTime: Bool { selection.isLimitedInTime }

    package var postbackValues: [String: StoredValue] { [:] }

    package func mayCount(in hour: Hour) -> Bool {
        selection.includes(timeMilliseconds: hour.hoursSince1970 * Hour.milliseconds)
            && selection.includes(.text(hour.day), ofColumn: "day")
    }

    package func choice(of table: AggregateTable) -> RowChoice {
        RowChoice(isHourWanted: mayCount(inHour:))
    }

    package func terms(of table: AggregateTable, columns: [StoredValue]) -> [NumberTerm]? {
        let places = (["hour"] + ClickRates.columnNames.dropFirst()).compactMap { name in
            table.columns.firstIndex { $0.name == name }
        }
        guard places.count == ClickRates.columns.count,
            ClickRates.values(places.map { columns[$0] }, hours, selection) != nil
        else { return nil }
        return ClickRates.counts.enumerated().compactMap { place, count in
            guard count.table.name == table.name else { return nil }
            return table.measures.firstIndex(of: count.name).map {
                NumberTerm(rowMeasure: $0, measure: place)
            }
        }
    }

    package func concerns(_: AggregateTable, columns _: [StoredValue]) -> Bool { false }
}
