import Reports

/// The rows of a request.
struct PageAnswer {
    let request: ReportAddress
    private(set) var table: ReportTable
    /// As in `ShownRows`.
    let keyCount: Int
    let firstMeasure: Int
    let notices: [String]
    let moreRows: Int
    /// Whether a store does not know all of its measures, so that an empty sum can be an unknown one.
    var hasUnknown = false
    /// The measures that explain columns which the report does not have, by name; nil for a column without a link.
    private var explainedBy: [String: String?] = [:]
    /// Key columns that a table leaves out, because all rows have the same value.
    private(set) var hiddenKeys: [ReportRequest.Condition] = []
    /// The keys, up to the day, of rows that a table leaves out.
    private(set) var emptyDays: Set<[String]> = []

    init(_ request: ReportAddress, _ shown: ShownRows) {
        self.request = request
        table = shown.table
        keyCount = shown.keyCount
        firstMeasure = shown.firstMeasure
        notices = shown.notices
        moreRows = shown.moreRows
    }

    var rows: [[ReportValue]] { table.rows }

    /// The values of a row's key, as conditions.
    func key(of row: [ReportValue]) -> [ReportRequest.Condition] {
        zip(table.columns, row).prefix(keyCount).map {
            ReportRequest.Condition(column: $0.name, value: $1.plainText)
        }
    }

    /// The name of a row in one of its columns. The type of a rejected record is the one that `outcomes` uses.
    func name(_ row: [ReportValue], _ index: Int) -> String {
        let column = table.columns[index].name
        guard column == "type", let topic = self.index(of: "topic"),
            let reason = self.index(of: "reason")
        else { return ShownValue.text(row[index], in: column, isKey: true) }
        return ShownValue.type(
            row[index].plainText, of: row[topic].plainText, refusedFor: row[reason].plainText)
    }

    /// Leaves out rows without any number; files contain them.
    mutating func leaveOutEmptyRows() {
        guard firstMeasure < table.columns.count else { return }
        func isEmpty(_ row: [ReportValue]) -> Bool {
            !table.columns.indices.dropFirst(firstMeasure).contains {
                (!row[$0].isZero && !Self.saysNothing.contains(table.columns[$0].name))
                    || isUnknown(row, $0)
            }
        }
        let empty = rows.filter(isEmpty)
        let kept = rows.filter { !isEmpty($0) }
        if let day = dayKey {
            emptyDays.formUnion(empty.map { row in row.prefix(day + 1).map(\.plainText) })
        }
        table = ReportTable(columns: table.columns, rows: kept, keyCount: table.keyCount)
    }

    mutating func keepRows(where isWanted: ([ReportValue]) -> Bool) {
        table = ReportTable(
            columns: table.columns, rows: rows.filter(isWanted), keyCount: table.keyCount)
    }

    /// Adds a column that is computed from each row.
    mutating func add(
        _ column: ReportTable.Column, explainedBy measure: String?,
        _ value: ([ReportValue]) -> ReportValue
    ) {
        explainedBy[column.name] = .some(measure)
        table = ReportTable(
            columns: table.columns + [column], rows: rows.map { $0 + [value($0)] },
            keyCount: table.keyCount)
    }

    /// Keeps these measures, in this order.
    mutating func show(_ measures: [String]) {
        let indices = Array(0..<firstMeasure) + measures.compactMap(index)
        table = ReportTable(
            columns: indices.map { table.columns[$0] },
            rows: rows.map { row in indices.map { row[$0] } }, keyCount: table.keyCount)
    }

    /// Leaves out those of these key columns that have the same value in all rows; the last column stays.
    mutating func hideConstantKeys(_ names: [String]) {
        for name in names where hiddenKeys.count + 1 < keyCount {
            guard let index = index(of: name), let first = rows.first?[index],
                rows.allSatisfy({ $0[index] == first })
            else { continue }
            hiddenKeys.append(.init(column: name, value: first.plainText))
        }
    }

    /// Sorts the rows in natural order.
    mutating func orderNaturally() {
        table =
            ReportTable(
                columns: table.columns, rows: table.rows, keyCount: keyCount
            ).inNaturalOrder
    }

    /// The rows, those with the largest value of a measure first; in their own order without the measure.
    func rows(largest measure: String?) -> [[ReportValue]] {
        guard let measure, let index = index(of: measure) else { return rows }
        let amounts = rows.map { ShownValue.order($0[index], in: measure) }
        return rows.indices.sorted {
            amounts[$0] == amounts[$1] ? $0 < $1 : amounts[$0] > amounts[$1]
        }.map { rows[$0] }
    }

    /// Whether a sum of a campaign is unknown.
    func isUnknown(_ row: [ReportValue], _ index: Int) -> Bool {
        hasUnknown && row[index] == .null && Self.results.contains(table.columns[index].name)
    }

    /// The sums that make a campaign worth a row.
    static let results = ["cost_micros", "installs", "revenue_max_micros"]

    /// Columns that accompany numbers and do not count as content.
    private static let saysNothing = ["maturity", "final_after", "cost_source"]

    /// The counts that tell a re-engagement campaign.
    static let conversions = ["installs", "redownloads", "reengagements"]

    /// Whether the counted first postbacks of a row are re-engagements only.
    func isReengagement(_ row: [ReportValue]) -> Bool {
        let counts = Self.conversions.map { value(row, $0) }
        return !counts.contains(.null) && counts.map(\.isZero) == [true, true, false]
    }

    /// A note on the installs in a cost per install, if rows have several campaigns.
    var noteOnCostPerInstall: String? {
        guard index(of: "cpi") != nil,
            !(request.by + request.conditions.map(\.column)).contains(where: {
                ["campaign", "name"].contains($0)
            })
        else { return nil }
        return
            "Cost per install is the cost divided by all installs of the row, including installs of campaigns without a known cost."
    }

    /// A note on installs without a known cost, and on cost without installs, if there are any. Each row must be of a
    /// single campaign.
    var noteOnMissingCost: String? {
        var notes: [String] = []
        let unpaid = table.installsWithoutCost
        if unpaid > 0 {
            notes.append(
                "\(ShownValue.grouped(unpaid)) installs belong to campaigns without a known cost in these days, which lowers it"
            )
        }
        let spent = costWithoutInstalls
        if !spent.isEmpty {
            notes.append(
                "\(spent.joined(separator: " and ")) was spent on campaigns without installs, for example for re-engagement, which raises it"
            )
        }
        guard !notes.isEmpty else { return nil }
        return
            "The cost per install of all campaigns is all spend divided by all installs. \(notes.joined(separator: "; "))."
    }

    /// The spend on campaigns without installs, by currency.
    private var costWithoutInstalls: [String] {
        guard let installs = index(of: "installs"), let cost = index(of: "cost_micros") else {
            return []
        }
        var sums: [String: Int128] = [:]
        for row in rows where row[installs].isZero {
            guard case .money(let money) = row[cost] else { continue }
            for amount in money.amounts { sums[amount.currency, default: 0] += amount.micros }
        }
        return sums.filter { $0.value != 0 }.sorted { $0.key < $1.key }.map {
            ShownValue.money($0.value, $0.key)
        }
    }

    /// Explains the shares that are above 100 % in a row.
    ///
    /// - Parameter measures: the shown ones, with their headings.
    func notesAboveWhole(_ measures: [(heading: String, measure: String)]) -> [String] {
        measures.compactMap { heading, measure in
            guard let why = Funnel.whyAboveOne(measure), let index = index(of: measure),
                rows.contains(where: { ShownValue.amount($0[index], in: measure) ?? 0 > 1 })
            else { return nil }
            return "\(ShownValue.sentence(heading)) is above 100 % in some rows: \(why)."
        }
    }

    func index(of column: String) -> Int? { table.columns.firstIndex { $0.name == column } }

    /// The value of a column in a row; null without the column.
    func value(_ row: [ReportValue], _ column: String) -> ReportValue {
        index(of: column).map { row[$0] } ?? .null
    }

    /// A row with other values in some columns.
    func replacing(_ values: [String: ReportValue], in row: [ReportValue]) -> [ReportValue] {
        zip(table.columns, row).map { values[$0.name] ?? $1 }
    }

    /// The value of a column in the only row; nil without such a row, or for an unknown value.
    func only(_ column: String) -> ReportValue? {
        guard let row = rows.first, rows.count == 1 else { return nil }
        let value = value(row, column)
        return value == .null ? nil : value
    }

    /// The measure whose explanation a column links to; nil for a column without a link.
    func explanation(of column: String) -> String? { explainedBy[column] ?? column }

    /// Whether a measure is a sum of records, so that it can be explained.
    func isExplained(_ measure: String) -> Bool {
        guard let measure = explanation(of: measure), let report = request.report,
            let request = try? request.resolved(in: .utc)
        else { return false }
        return report.isExplained(measure, in: request)
    }
}
