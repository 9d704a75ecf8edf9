import ConfigurationFiles
import ConfigurationValues
import Program
import Streams
import Wording

/// What a reader asks of a report: its rows, columns and time, and how they are shown.
///
/// Options (`GroupingCommand`), saved reports (`ReportCommand`) and addresses of pages (`ReportAddress`) make one, and
/// `OpenStores` answers it. Values of the configuration, and the instant of the stores, are not part of it.
package struct ReportRequest: Hashable, Sendable {
    package enum Grouping: Hashable, Sendable {
        /// By every column, as stored.
        case all
        /// A single row without columns.
        case total
        case columns([String])

        package func names(_ column: String) -> Bool {
            switch self {
            case .all: true
            case .total: false
            case .columns(let names): names.contains(column)
            }
        }

        /// Reads a comma-separated list of columns, or `total`. Throws `badColumns`.
        package init(_ text: String) throws(InspectionError) {
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map(
                String.init)
            guard names != ["total"] else {
                self = .total
                return
            }
            guard names.allSatisfy({ !$0.isEmpty && $0 != "total" }) else {
                throw .badColumns(text)
            }
            self = .columns(names)
        }
    }

    package struct Condition: Hashable, Sendable {
        package var column: String
        /// The value as users write it.
        package var value: String

        package init(column: String, value: String) {
            self.column = column
            self.value = value
        }
    }

    /// The day of a postback in the funnel.
    package enum DateRule: String, CaseIterable, Sendable {
        case arrival
        /// The estimated day of the install.
        case install
    }

    /// The column with the campaign as the funnel names it, of reports whose `campaign` is that of the records.
    package static let catalogCampaign = "catalog_campaign"

    package var name: String
    package var grouping: Grouping
    /// Only rows of this time or later: the hour of rows, the timestamp of rejected records; milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    package var untilMilliseconds: Int64?
    /// The time zone of days: of rows by hour, of their conditions, and of rates.
    package var timeZone = ReportTimeZone.utc
    /// All conditions must hold.
    package var conditions: [Condition]
    /// Limits the measures; nil for all.
    package var measures: [String]?
    /// Whether rows get a currency column when they would otherwise sum amounts of several currencies.
    package var tellsCurrenciesApart = false
    /// For the funnel: the day of postbacks; nil, the same as `arrival`, if not given.
    package var dateRule: DateRule?
    package var showsNames = false
    package var estimates = false
    /// Whether rows of postbacks note their windows, for `Dump.withMaturity`.
    package var maturity = false
    package var curve = false
    package var arrangement = TableArrangement()
    /// Whether rows are left out when all requested measures are zero, in addition to rows of zeros.
    package var leavesOutZeros = false
    /// The currency that all amounts are converted into; nil to keep the original ones.
    package var target: String?
    /// With a target, the only currency whose amounts count: the others become 0. Nil for all.
    package var onlyCurrency: String?
    /// Whether the reader is limited to some campaigns. Notices that name others are then left out.
    package var isScoped = false
    /// Whether measures of whole apps are left out unless requested.
    package var hidesAppSums = false

    package init(
        name: String,
        grouping: Grouping = .all,
        sinceMilliseconds: Int64? = nil,
        untilMilliseconds: Int64? = nil,
        conditions: [Condition] = []
    ) {
        self.name = name
        self.grouping = grouping
        self.sinceMilliseconds = sinceMilliseconds
        self.untilMilliseconds = untilMilliseconds
        self.conditions = conditions
    }

    /// Without an explicit grouping, groups rows by the requested columns, so that no two rows look alike, and keeps
    /// only the requested measures.
    package mutating func groupByShownColumns(isGrouped: Bool) throws {
        guard let shown = arrangement.columns else { return }
        let report = try requireReport(name)
        // Rows that are not sums cannot be grouped.
        guard report.abilities.contains(.groups) else { return }
        guard measures == nil else {
            throw CommandError.usage("--columns already names the measures: remove --measures")
        }
        if !isGrouped {
            let keys = shown.filter(report.columnNames.contains)
            grouping = keys.isEmpty ? .total : .columns(keys)
        }
        measures = (shown + arrangement.orders.map(\.column))
            .filter(report.measureNames.contains)
    }

    /// Removes and returns the row limit for a terminal. A terminal hides rows of zeros and does not count them, so the
    /// answer needs all rows.
    package mutating func takeLimit() -> Int? {
        defer { arrangement.limit = nil }
        return arrangement.limit
    }

    /// Reads the answer from the stores.
    ///
    /// - Parameter format: tables are for people and format times.
    package func answer(
        _ stores: OpenStores, _ configuration: ReportConfiguration, as format: DumpFormat
    ) throws -> DumpAnswer {
        let report = try requireReport(name)
        try check(report)
        return try report.answer(self, stores, configuration, as: format)
    }

    /// Writes the answer; the rows of a stored dump in bounded memory.
    ///
    /// - Returns: notices for the reader.
    package func write(
        _ stores: OpenStores, _ configuration: ReportConfiguration, as format: DumpFormat,
        isRaw: Bool, to sink: ([UInt8]) throws -> Void
    ) throws -> [String] {
        let report = try requireReport(name)
        try check(report)
        return try report.write(
            self, stores, configuration, as: format, isRaw: isRaw, to: sink)
    }

    /// Throws for an invalid request.
    private func check(_ report: any Report) throws(CommandError) {
        try report.check(self)
        guard target == nil || report.abilities.contains(.amounts) else {
            throw .usage("\(name) has no amounts: remove --in")
        }
    }

    /// Whether each row of the answer is a stored row, in store order.
    var isOfStoredRows: Bool {
        !curve && !maturity && arrangement.isEmpty && target == nil
    }

    /// The requested conversion of amounts; nil without one.
    func conversion(_ configuration: ReportConfiguration) throws -> CurrencyConversion? {
        guard let target else { return nil }
        guard target.wholeMatch(of: /[A-Z]{3}/) != nil else {
            throw CommandError.usage(
                "--in '\(target)' is not a currency: write three capital letters")
        }
        return CurrencyConversion(
            to: target, by: try configuration.rates(), of: configuration.directory.ratesPath,
            only: onlyCurrency)
    }

    /// The answer of a computed report: its arranged rows with the requested measures.
    ///
    /// - Parameter notices: notices for the reader; nil elements are skipped.
    func answer(
        _ table: ReportTable, _ notices: [String?], of report: some Report, as format: DumpFormat
    ) throws -> DumpAnswer {
        let table = try arranged(limited(table, of: report), of: report, as: format)
        return .table(
            table, notices: notices.compactMap(\.self) + table.noticesAboveOne(as: format))
    }

    private func limited(_ table: ReportTable, of report: some Report) throws -> ReportTable {
        guard let measures = measures else {
            guard hidesAppSums, !report.appMeasures.isEmpty else { return table }
            return try table.limited(
                toMeasures: table.columns.dropFirst(table.keyCount).map(\.name)
                    .filter { !report.appMeasures.contains($0) })
        }
        let table = try table.limited(toMeasures: measures)
        return leavesOutZeros ? table.withoutZeroRows : table
    }

    func arranged(
        _ table: ReportTable, of report: some Report, as format: DumpFormat
    ) throws -> ReportTable {
        do throws(InspectionError) {
            return try table.arranged(arrangement, as: format, of: report.name)
        } catch {
            guard case .unknownColumn(let name, let dump, _) = error else { throw error }
            // The table has only the requested columns.
            let all = report.columnNames + report.measureNames
            let added = table.columns.map(\.name).filter { !all.contains($0) }
            throw InspectionError.unknownColumn(name, dump: dump, valid: all + added)
        }
    }
}

/// The notice on streams without a store; nil when all have one.
func missingNotice(
    _ streams: [String], _ what: String = "their values are unknown"
) -> String? {
    streams.isEmpty
        ? nil : "no store of \(streams.joined(separator: ", ")): \(what) and empty here"
}

/// The answer to a request.
package enum DumpAnswer {
    /// Unformatted rows.
    case dump(Dump)
    /// A table, with notices for the reader.
    case table(ReportTable, notices: [String])

    package var report: ReportTable {
        switch self {
        case .dump(let dump): dump.report(forPeople: false)
        case .table(let table, _): table
        }
    }

    package var notices: [String] {
        if case .table(_, let notices) = self { notices } else { [] }
    }

    package func write<Failure: Error>(
        as format: DumpFormat, isRaw: Bool, to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        switch self {
        case .dump(let dump): try dump.write(as: format, isRaw: isRaw, to: sink)
        case .table(let table, _): try table.write(as: format, isRaw: isRaw, to: sink)
        }
    }

    /// Writes a table for a terminal of this width; returns notices on what it hides.
    ///
    /// - Parameters:
    ///   - keepsMeasures: whether measures were requested by name and stay when they are zero.
    ///   - limit: the maximum number of rows after zero rows are removed; nil for all.
    package func writeTable<Failure: Error>(
        within width: Int, keepsMeasures: Bool, limit: Int?,
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) -> [String] {
        let (table, zeros, zeroRows) = report.withoutZeros(
            keepsMeasures: keepsMeasures, limit: limit)
        try sink(Array(table.lines(within: width).map { $0 + "\n" }.joined().utf8))
        var notices: [String] = []
        let unknown = zeros.filter { name in
            report.columns.firstIndex { $0.name == name }.map { index in
                report.rows.allSatisfy { $0[index] == .null }
            } ?? false
        }
        for (reason, names) in [
            ("zero", zeros.filter { !unknown.contains($0) }), ("not known", unknown),
        ] where !names.isEmpty {
            notices.append(
                "hidden, \(reason) in every row: \(names.joined(separator: ", ")) (--measures shows the measures that it names)"
            )
        }
        if zeroRows > 0 {
            notices.append(
                "hidden: \(counted(zeroRows, "row")) with zero in every measure (--format csv has all rows)"
            )
        }
        return notices
    }
}

/// The rows of a report on a page.
package struct ShownRows {
    package let table: ReportTable
    /// The number of leading columns that identify a row.
    package let keyCount: Int
    /// The index of the first measure; names that explain a key may precede it.
    package internal(set) var firstMeasure: Int
    /// Notices for the reader.
    package internal(set) var notices: [String] = []
    /// The number of further rows.
    package internal(set) var moreRows = 0

    init(table: ReportTable, keyCount: Int) {
        self.table = table
        self.keyCount = keyCount
        firstMeasure = keyCount
    }
}
