import AggregateStore
import Streams

/// From the bid to what the app earned: one row a day and campaign, joined from the stores of all
/// streams. Every column's formula is in `docs/funnel.md`.
package struct Funnel: Sendable {
    /// The rows.
    package let table: ReportTable
    /// The streams that have no store: what comes of them is null.
    package let missingStreams: [String]
    /// Bundle ids of notifications that no app of the configuration has: they are left out.
    package let unknownBundles: [String]

    /// The name of the dump.
    package static let name = "funnel"

    /// The columns that rows can be put together by, in the order in which they are sorted.
    static let columns = [
        DumpColumn("day", .text), DumpColumn("ad_network_id", .text),
        DumpColumn("app_id", .integer),
        DumpColumn("campaign", .text), DumpColumn("name", .text), DumpColumn("media_source", .text),
    ]
    static let dayPlace = 0

    init(_ fold: FunnelFold, watermarkMilliseconds: Int64?, missingStreams: [String]) {
        self.missingStreams = missingStreams
        unknownBundles = fold.unknownBundles.sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        let keys = fold.selection.columns.map { column in
            ReportTable.Column(column.name, isNumber: column.kind == .integer)
        }
        let measures = FunnelRow.columns(fold.dateRule, estimates: fold.estimates)
        let unknown = measures.indices.filter { place in
            FunnelRow.streams(of: measures[place].name).contains(where: missingStreams.contains)
        }
        table = ReportTable(
            columns: keys + measures,
            rows: fold.groups.map { group in
                FunnelRow(
                    group.columns, group.sums, sales: fold.sales(of: group),
                    watermarkMilliseconds: watermarkMilliseconds)
            }
            .filter(\.isAnything)
            .map { row in
                var values = row.values(fold.dateRule, estimates: fold.estimates)
                for place in unknown { values[keys.count + place] = .null }
                return values
            })
    }
}

extension StoreSet {
    /// Reads the funnel from the stores.
    ///
    /// - Throws: `noStore` when there is none of any stream; `unknownColumn` and `badCondition` for
    ///   what cannot be asked.
    package func funnel(_ query: FunnelQuery) throws(InspectionError) -> Funnel {
        let selection = try RowSelection(query.query, of: Funnel.columns)
        return try view(of: FunnelSource.streams) { try $0.funnel(query, selection) }
    }
}

extension StoreView {
    /// Reads the funnel of one state of the stores.
    func funnel(_ query: FunnelQuery, _ selection: RowSelection) throws -> Funnel {
        var fold = FunnelFold(query, selection)
        for copy in copies { try fold.add(copy) }
        return Funnel(
            fold, watermarkMilliseconds: postbacksWatermark,
            missingStreams: FunnelSource.streams.filter { !streams.contains($0) })
    }
}
