import ConfigurationFiles

/// From the bid to the app's revenue: one row for each day and campaign, joined from the stores of
/// all streams. `docs/funnel.md` has every column's formula.
package struct Funnel: Sendable {
    package let table: ReportTable
    /// The streams without a store: their columns are null.
    package let missingStreams: [String]
    /// Bundle ids of notifications without a configured app: these are left out.
    package let unknownBundles: [String]

    package static let name = "funnel"

    static let columns = [
        DumpColumn("day", .text), DumpColumn("ad_network_id", .text),
        DumpColumn("app_id", .integer),
        DumpColumn("campaign", .text), DumpColumn("name", .text), DumpColumn("media_source", .text),
    ]

    init(_ fold: FunnelFold, watermarkMilliseconds: Int64?, missingStreams: [String]) {
        let number = fold.number
        let shown = FunnelColumn.shown(number.question)
        self.missingStreams = missingStreams
        unknownBundles = number.unknownBundles.sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        let rows = fold.groups.compactMap { group -> [ReportValue]? in
            let row = FunnelRow(
                sums: group.sums, sales: fold.sales(of: group),
                watermarkMilliseconds: watermarkMilliseconds)
            guard row.isAnything else { return nil }
            return zip(number.selection.columns, group.columns).map { $0.reportValue($1) }
                + shown.map { column in
                    column.streams.contains(where: missingStreams.contains)
                        ? .null : column.value(row)
                }
        }
        table = ReportTable(
            columns: number.selection.columns.map(\.reportColumn)
                + shown.map { ReportTable.Column($0.name, isNumber: true) },
            rows: rows)
    }

    /// The table with its key columns and only these measures. Throws `unknownMeasure`.
    package func table(ofMeasures names: [String]) throws(InspectionError) -> ReportTable {
        let keys = Set(Self.columns.map(\.name))
        let measures = table.columns.map(\.name).filter { !keys.contains($0) }
        if let unknown = names.first(where: { !measures.contains($0) }) {
            throw .unknownMeasure(unknown, known: measures)
        }
        return table.limited { keys.contains($0) || names.contains($0) }
    }
}

extension OpenStores {
    /// Reads the funnel from the stores.
    ///
    /// - Throws: `noStore` when there is none of any stream; `unknownColumn` and `badCondition` for
    ///   what cannot be asked.
    package func funnel(_ query: FunnelQuery) throws(InspectionError) -> Funnel {
        let number = try FunnelNumber(query)
        return try view(of: number.streams) { try $0.funnel(number) }
    }
}

extension StoreView {
    /// Reads the funnel of one state of the stores.
    func funnel(_ number: FunnelNumber) throws -> Funnel {
        var fold = FunnelFold(number)
        for slice in slices { try fold.add(slice) }
        return Funnel(
            fold, watermarkMilliseconds: postbacksWatermark,
            missingStreams: FunnelSource.streams.filter { !streams.contains($0) })
    }
}

package struct FunnelQuery: Sendable {
    /// The day on which postbacks count.
    package enum DateRule: String, CaseIterable, Sendable {
        case arrival
        /// The latest day on which the app may have been first launched.
        case install
    }

    /// Columns, conditions and time.
    package var query: DumpQuery
    package var dateRule: DateRule
    /// Names of networks, apps and campaigns.
    package var catalog: Catalog
    /// Whether postbacks of the verdict `development` are trusted.
    package var trustsDevelopment: Bool
    /// App Store ids by bundle id, for notifications of the store.
    package var appsByBundle: [String: Int64]
    /// Whether rows have an estimate of the revenue beside its bounds.
    package var estimates = false

    /// The name of the query is ignored.
    package init(
        query: DumpQuery = DumpQuery(name: Funnel.name), dateRule: DateRule = .arrival,
        catalog: Catalog, trustsDevelopment: Bool = false, appsByBundle: [String: Int64] = [:]
    ) {
        self.query = query
        self.dateRule = dateRule
        self.catalog = catalog
        self.trustsDevelopment = trustsDevelopment
        self.appsByBundle = appsByBundle
    }
}
