import ConfigurationValues
import Reports
import Store
import Streams
import Wording

/// Compares a manifest's description of its number with the rows: whether each row belongs to it, and its
/// contribution.
struct EvidenceClaim {
    /// The described number; nil if no dump can return it.
    let number: (any Number)?
    /// The same for the values from postbacks, which apply to models that are missing in the file.
    private let broughtNumber: (any Number)?
    private let manifest: EvidenceManifest
    private let rows: [EvidenceRow]

    /// Columns of the funnel that depend on the catalog, which is not in the file.
    private static let catalogColumns: Set<String> = ["campaign", "name", "media_source"]

    init(_ manifest: EvidenceManifest, _ rows: [EvidenceRow]) {
        self.manifest = manifest
        self.rows = rows
        if manifest.dump == Funnel.name {
            number = Self.funnel(manifest, rows)
            broughtNumber = nil
        } else {
            number = Self.query(manifest).flatMap { try? DumpNumber($0) }
            broughtNumber = Self.query(manifest, without: ["model"]).flatMap { try? DumpNumber($0) }
        }
        if let number {
            for row in rows {
                guard let (table, columns) = Self.stored(row, in: number) else { continue }
                number.note(table, columns: columns)
            }
        }
    }

    /// Whether it counts refused records and has no rows.
    var isOfRefusals: Bool { number?.sources.allSatisfy(\.tables.isEmpty) ?? false }

    /// The contradictions.
    var faults: [String] {
        guard let number else {
            return ["no dump is asked for with \(manifest.dump) \(manifest.where)"]
        }
        let rowFaults = rows.compactMap { fault($0, number) }
        let unknown = manifest.number.keys.filter { !number.measures.contains($0) }.sorted()
        return rowFaults + unknown.map { "\(manifest.dump) has no measure \($0)" } + doubled
            + severalCurrencies
    }

    /// The checked properties, if all hold.
    var holding: String {
        let isOfCatalog = manifest.where.contains { text in
            Self.catalogColumns.contains { text.hasPrefix("\($0)=") }
        }
        let rows =
            "the question asks for every row (\(counted(rows.count, "row"))), and each has its value"
        return manifest.dump == Funnel.name && isOfCatalog
            ? "\(rows); campaign, name and media_source go by the catalog, which is not in the file"
            : rows
    }

    private static func query(
        _ manifest: EvidenceManifest, without columns: Set<String> = []
    ) -> DumpQuery? {
        var query = DumpQuery(
            name: manifest.dump, grouping: .total, sinceMilliseconds: manifest.sinceMs,
            untilMilliseconds: manifest.untilMs)
        for text in manifest.where {
            guard let sign = text.firstIndex(of: "=") else { return nil }
            let column = String(text[..<sign])
            guard !columns.contains(column) else { continue }
            query.conditions.append(
                .init(column: column, value: String(text[text.index(after: sign)...])))
        }
        return query
    }

    /// Sales are those of apps by their bundles; the file does not contain this mapping.
    private static func funnel(
        _ manifest: EvidenceManifest, _ rows: [EvidenceRow]
    ) -> (any Number)? {
        guard let query = query(manifest, without: catalogColumns) else { return nil }
        let asked = query.conditions.first { $0.column == "app_id" }.flatMap { Int64($0.value) }
        var apps: [String: Int64] = [:]
        let app = asked ?? rows.lazy.compactMap { $0.columns["app_id"]?.asInteger }.first ?? 0
        for case .text(let bundle)? in rows.map({ $0.columns["bundle_id"] }) { apps[bundle] = app }
        return try? FunnelNumber(
            FunnelQuery(
                query: query, catalog: Catalog(), trustsDevelopment: true, appsByBundle: apps))
    }

    /// A row's aggregate and the values of its columns; nil if the dump has no such rows.
    private static func stored(
        _ row: EvidenceRow, in number: any Number
    ) -> (table: AggregateTable, columns: [StoredValue])? {
        let tables = number.sources.filter { $0.stream == row.stream }.flatMap(\.tables)
        guard let table = tables.first(where: { $0.name == row.aggregate }) else { return nil }
        let columns = table.columns.compactMap { row.columns[$0.name] }
        return columns.count == table.columns.count ? (table, columns) : nil
    }

    private func fault(_ row: EvidenceRow, _ number: any Number) -> String? {
        guard let (table, columns) = Self.stored(row, in: number) else {
            return "\(manifest.dump) has no rows of \(row.aggregate) of \(row.stream)"
        }
        let isBrought = table.name == ConversionValuesKey.table.name && table.name != manifest.dump
        let asked = isBrought ? broughtNumber ?? number : number
        guard let terms = asked.terms(of: table, columns: columns) else {
            return "\(row.aggregate) \(row.description) is not asked for"
        }
        let proved = manifest.measure.flatMap { ProvedMeasure($0, of: manifest.dump) }
        let gives = terms.map { [table.measures[$0.rowMeasure], asked.measures[$0.measure]] }
            .filter { proved?.includes($0[1]) ?? true }
        return gives == row.gives
            ? nil : "\(row.aggregate) \(row.description) gives something else to \(manifest.dump)"
    }

    private var doubled: [String] {
        // By their bytes: texts that look alike may belong to different rows.
        var known: Set<StoredValue> = []
        return rows.compactMap { row in
            known.insert(.text("\(row.stream) \(row.aggregate) \(row.description)")).inserted
                ? nil : "\(row.aggregate) \(row.description) is there twice"
        }
    }

    private var severalCurrencies: [String] {
        var currencies: [String: Set<String>] = [:]
        for row in rows {
            guard case .text(let currency)? = row.columns["currency"] else { continue }
            for pair in row.gives where pair.count == 2 && MoneyByCurrency.isMoney(pair[0]) {
                guard row.measures[pair[0]] ?? 0 != 0 else { continue }
                currencies[pair[1], default: []].insert(currency)
            }
        }
        return currencies.filter { $0.value.count > 1 }.sorted { $0.key < $1.key }.map {
            "\($0.key) adds up \(MoneyByCurrency.list($0.value))"
        }
    }
}

extension StoredValue {
    fileprivate var asInteger: Int64? {
        if case .integer(let integer) = self { integer } else { nil }
    }
}
