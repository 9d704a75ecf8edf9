import Foundation
import Reports
import Store

/// The result of an upgrade.
package struct UpgradeResult: Sendable {
    package var stores: [StoreUpgrade] = []
    /// The replacements of stores.
    package var promoted: [PromotedStream] = []
    /// Measures with other sums than before: a line for each.
    package var differences: [String] = []
    /// Stores whose workers must restart to add the bookkeeping.
    package var waiting: [String] = []

    package init() {}
}

extension Upgrade {
    /// The sums that differ, apart from measures that the earlier stores do not know. In dumps that list records, the
    /// texts of rows may differ between versions, so only their totals count.
    func differences(of set: UpgradedSet) throws -> [String] {
        let unknown = set.stores.reduce(into: Set<String>()) { $0.formUnion($1.unknown) }
        let lists = Set(RefusalKind.allCases.map(\.rawValue))
        let (old, new) = (
            try OpenStores(directories: [order.data]),
            try OpenStores(directories: [set.directory])
        )
        let found = try old.diff(new, everyDumpBy: ReportRequest(name: ""))
        return try found.table.rows.compactMap { row in
            let texts = row.map(\.plainText)
            guard texts.count >= 6, row[4] != .null,
                !unknown.contains("\(texts[0]).\(texts[1])"),
                texts[4] != texts[5] || !lists.contains(texts[0])
            else { return nil }
            let currency = texts[2].isEmpty ? "" : " \(texts[2])"
            let name = "\(texts[0]) \(texts[1])\(currency)"
            guard texts[4] == texts[5] else {
                return "\(name): \(texts[4]) before, \(texts[5]) now"
            }
            let columns = try columns(thatDivide: texts[1], of: texts[0], old, new)
            return
                "\(name): \(texts[4]) in total, but other sums by \(columns.joined(separator: ", "))"
        }
    }

    /// The columns by which a measure of equal totals differs.
    private func columns(
        thatDivide measure: String, of dump: String, _ old: OpenStores, _ new: OpenStores
    ) throws -> [String] {
        let description = DumpDescription.all.first { $0.name == dump }
        let columns = (description?.columnNames ?? []).filter {
            description?.catalogColumns.contains($0) == false
        }
        let differing = try columns.filter { column in
            var query = ComparisonQuery(
                ReportRequest(name: dump, grouping: .columns([column])))
            query.request.measures = [measure]
            return try old.diff(new, query).differs
        }
        // Only combinations of columns may differ.
        return differing.isEmpty ? columns : differing
    }
}
