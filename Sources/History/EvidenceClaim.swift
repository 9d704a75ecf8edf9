import ConfigurationValues
import Reports
import Store
import Streams
import Wording

/// Compares a manifest's description of its number with the rows: whether each row belongs to it, and its
/// contribution.
struct EvidenceClaim {
    /// The requested rows; nil if a dump cannot select them.
    let figure: (any Figure)?
    /// The same for the values of postbacks, which belong to models that the file lacks.
    private let broughtFigure: (any Figure)?
    private let manifest: EvidenceManifest
    private let rows: [EvidenceRow]
    /// Nil for a name that this program does not know.
    private let report: (any Report)?

    init(_ manifest: EvidenceManifest, _ rows: [EvidenceRow]) {
        self.manifest = manifest
        self.rows = rows
        report = try? requireReport(manifest.dump)
        figure = Self.figure(of: report, manifest, rows)
        broughtFigure = Self.figure(of: report, manifest, rows, without: ["model"])
        if let figure {
            for row in rows {
                guard let (table, columns) = Self.stored(row, in: figure) else { continue }
                figure.observe(table, columns: columns)
            }
        }
    }

    /// Whether it counts rejected records instead of rows.
    var isOfRefusals: Bool { figure?.sources.allSatisfy(\.tables.isEmpty) ?? false }

    /// The contradictions.
    var faults: [String] {
        guard let figure else {
            return ["\(manifest.dump) \(manifest.where) does not select a dump"]
        }
        let rowFaults = rows.compactMap { fault($0, figure) }
        let unknown = manifest.number.keys.filter { !figure.measures.contains($0) }.sorted()
        return rowFaults + unknown.map { "\(manifest.dump) has no measure \($0)" } + doubled
            + severalCurrencies
    }

    /// The checked properties, if all hold.
    var holding: String {
        let ofCatalog = (report?.catalogColumns ?? []).sorted()
        let isOfCatalog = manifest.where.contains { text in
            ofCatalog.contains { text.hasPrefix("\($0)=") }
        }
        let rows =
            "the query selects every row (\(counted(rows.count, "row"))), and each has its value"
        return isOfCatalog
            ? "\(rows); conditions on \(ofCatalog.joined(separator: ", ")) depend on the catalog, which is not in the file"
            : rows
    }

    private static func request(
        _ manifest: EvidenceManifest, without columns: Set<String> = []
    ) -> ReportRequest? {
        var request = ReportRequest(
            name: manifest.dump, grouping: .total, sinceMilliseconds: manifest.sinceMs,
            untilMilliseconds: manifest.untilMs)
        request.timeZone = manifest.timeZone ?? .utc
        for text in manifest.where {
            guard let sign = text.firstIndex(of: "=") else { return nil }
            let column = String(text[..<sign])
            guard !columns.contains(column) else { continue }
            request.conditions.append(
                .init(column: column, value: String(text[text.index(after: sign)...])))
        }
        return request
    }

    /// The manifest's query, without conditions on some columns and on those of the catalog, which is not in the file.
    /// The file does not map bundles to apps either: all bundles count for the requested app.
    private static func figure(
        of report: (any Report)?, _ manifest: EvidenceManifest, _ rows: [EvidenceRow],
        without columns: Set<String> = []
    ) -> (any Figure)? {
        guard let report,
            let request = request(manifest, without: columns.union(report.catalogColumns))
        else { return nil }
        let asked = request.conditions.first { $0.column == "app_id" }.flatMap { Int64($0.value) }
        var apps: [String: Int64] = [:]
        let app = asked ?? rows.lazy.compactMap { $0.columns["app_id"]?.asInteger }.first ?? 0
        for case .text(let bundle)? in rows.map({ $0.columns["bundle_id"] }) { apps[bundle] = app }
        return try? report.provableFigure(
            request,
            ReportConfiguration(
                catalog: Catalog(), trustsDevelopment: true, appsByBundle: apps))
    }

    /// A row's aggregate and the values of its columns; nil if the dump has no such rows.
    private static func stored(
        _ row: EvidenceRow, in figure: any Figure
    ) -> (table: AggregateTable, columns: [StoredValue])? {
        let tables = figure.sources.filter { $0.stream == row.stream }.flatMap(\.tables)
        guard let table = tables.first(where: { $0.name == row.aggregate }) else { return nil }
        let columns = table.columns.compactMap { row.columns[$0.name] }
        return columns.count == table.columns.count ? (table, columns) : nil
    }

    private func fault(_ row: EvidenceRow, _ figure: any Figure) -> String? {
        guard let (table, columns) = Self.stored(row, in: figure) else {
            return "\(manifest.dump) has no rows of \(row.aggregate) of \(row.stream)"
        }
        let isBrought = table.name == ConversionValuesKey.table.name && table.name != manifest.dump
        let asked = isBrought ? broughtFigure ?? figure : figure
        guard let terms = asked.terms(of: table, columns: columns) else {
            return "the query does not select \(row.aggregate) \(row.description)"
        }
        let proved = manifest.measure.flatMap { ProvedMeasure($0, of: manifest.dump) }
        let gives = terms.map { [table.measures[$0.rowMeasure], asked.measures[$0.measure]] }
            .filter { proved?.includes($0[1]) ?? true }
        return gives == row.gives
            ? nil : "\(row.aggregate) \(row.description) adds other measures to \(manifest.dump)"
    }

    private var doubled: [String] {
        // By their bytes: texts that look alike may belong to different rows.
        var seen: Set<StoredValue> = []
        return rows.compactMap { row in
            seen.insert(.text("\(row.stream) \(row.aggregate) \(row.description)")).inserted
                ? nil : "\(row.aggregate) \(row.description) occurs twice"
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
            "\($0.key) adds amounts in different currencies: \(MoneyByCurrency.list($0.value))"
        }
    }
}

extension StoredValue {
    fileprivate var asInteger: Int64? {
        if case .integer(let integer) = self { integer } else { nil }
    }
}
