import ConfigurationValues
import ConversionModels
import Store
import Streams

// Reports answers requests about stores: their contents (`dump`, `funnel`, `export`, `deadLetters`, `digest`),
// differences between two sets (`diff`), changes over time (`StoreChanges`), and the effect of other conversion models
// (`whatIf`). It reads one consistent state of the stores of some data directories, for each partition the copy folded
// furthest, and never writes. A `Figure` is the single definition of the rows of a number.
//
//     let stores = try OpenStores(directories: ["data"])
//     let dump = try stores.dump(ReportRequest(name: "bids", grouping: .columns(["day", "seat"])))
//     try dump.write(as: .csv) { piece in print(String(decoding: piece, as: UTF8.self), terminator: "") }

/// The rows of a dump, sorted by their columns.
package struct Dump: Sendable {
    /// A row: the values of its columns and its exact sums.
    package struct Row: Sendable {
        /// One value per column; booleans are 0 and 1.
        package internal(set) var columns: [StoredValue]
        package internal(set) var measures: ExactSums
        /// The kinds of campaign ids in the grouped rows.
        var campaignIDKinds: CampaignIDKinds = []
        /// The install days with their apps and kinds of ids, if `ReportRequest.maturity`.
        var days = InstallDays()
    }

    /// The columns, in sort order.
    package internal(set) var columns: [DumpColumn]
    package internal(set) var measures: [String]
    package internal(set) var rows: [Row]
    /// The currency of all amounts when no column has it.
    var onlyCurrency: String?
    /// The measures that are sums of prices per thousand impressions.
    var thousandPrices: Set<String> = []
    /// The largest timestamp of a folded postback, in milliseconds since 1970, if `ReportRequest.maturity`.
    var watermarkMilliseconds: Int64?
    /// The time zone of days, if `ReportRequest.maturity`.
    var timeZone = ReportTimeZone.utc
    /// The models of the apps, if `ReportRequest.maturity`.
    var models: [Int64: ConversionModel] = [:]
}

extension OpenStores {
    /// Reads an aggregate from the stores.
    ///
    /// - Throws: `noStore` when no store can have it; `unknownDump`, `unknownColumn` and `badCondition` for an invalid
    ///   request.
    package func dump(
        _ request: ReportRequest, _ configuration: DumpConfiguration = DumpConfiguration()
    ) throws(InspectionError) -> Dump {
        try dumpByCurrency(request, configuration).withoutAddedCurrency(request)
    }

    /// Like `dump`, but keeps the currency column even when all amounts have the same currency.
    func dumpByCurrency(
        _ request: ReportRequest, _ configuration: DumpConfiguration
    ) throws(InspectionError) -> Dump {
        let figure = try DumpFigure(request, configuration)
        return try view(of: figure.streams) { try $0.dump(figure) }
    }
}

extension StoreView {
    /// Reads an aggregate and sums it over the partitions.
    func dump(_ figure: DumpFigure) throws -> Dump {
        var groups = DumpGroups(figure)
        try forEachSum(of: figure) { values, sums, first in groups.add(values, sums, at: first) }
        var dump = groups.dump
        if figure.showsMaturity {
            dump.watermarkMilliseconds = try postbacksWatermark
            dump.models = try conversionModels()
            dump.timeZone = figure.request.timeZone
        }
        return dump
    }

    /// Calls `body` with the sums of selected rows, added up as far as the columns of the dump allow: like `forEachRow`.
    func forEachSum(
        of figure: DumpFigure,
        _ body: (_ values: [StoredValue], _ sums: ExactSums, _ first: Int) throws -> Void
    ) throws {
        let isByDay = !figure.showsHours
        try forEachRow(of: figure, where: { !isByDay || figure.countsByHour($0) }) {
            try body($0, ExactSums($1), $2)
        }
        guard isByDay else { return }
        for slice in slices {
            for table in figure.tables(of: slice.stream) where !figure.countsByHour(table) {
                let first = figure.firstMeasure(of: table)
                var choice = figure.choice(of: table)
                choice.isHourWanted = figure.includes(time:)
                try slice.forEachSum(
                    of: table, choice, by: figure.hours,
                    splitsDays: table.hasDays || figure.showsDays,
                    group: { figure.group(of: table, $0) }
                ) { columns, sums in
                    guard let values = figure.values(of: table, columns) else { return }
                    try body(values, sums, first)
                }
            }
        }
    }

    /// Calls `body` for each selected row with the values of all columns, its sums, and the index of the first of these
    /// in the dump.
    ///
    /// - Parameter isRead: whether to read a table.
    func forEachRow(
        of figure: DumpFigure, where isRead: (AggregateTable) -> Bool = { _ in true },
        _ body: (_ values: [StoredValue], _ sums: StoredSums, _ first: Int) throws -> Void
    ) throws {
        for slice in slices {
            for (stream, tables) in figure.sources where stream == slice.stream {
                for table in tables where isRead(table) {
                    let first = figure.firstMeasure(of: table)
                    try slice.forEachRow(of: table, figure.choice(of: table)) { _, columns, sums in
                        guard let values = figure.values(of: table, columns) else { return }
                        try body(values, sums, first)
                    }
                }
                guard tables.isEmpty else { continue }
                try slice.forEachRefusal { refusal in
                    if let values = figure.values(of: refusal, topic: slice.snapshot.topic),
                        slice.counts(timestampMilliseconds: refusal.timestampMilliseconds)
                    {
                        try body(values, StoredSums([1]), 0)
                    }
                    return true
                }
            }
        }
    }
}

extension DumpFigure {
    /// The known sum of a measure, for reports that do not handle unknown ones.
    ///
    /// - Parameters:
    ///   - index: that of the measure in the dump.
    ///   - sums: those of a row.
    ///   - first: the index of the first of them in the dump.
    /// - Throws: `unknownSum`.
    func amount(
        _ index: Int, of sums: StoredSums, at first: Int
    ) throws(InspectionError) -> Int64 {
        if let amount = sums[index - first] { return amount }
        throw .unknownSum(table: name, measure: measures[index])
    }
}

/// Sums selected rows of a dump by its shown columns.
struct DumpGroups {
    private let figure: DumpFigure
    private let rule: CampaignIDRule
    /// Indices of the day and of the app in rows that note the windows of their postbacks.
    private let maturityIndices: (day: Int, app: Int)?
    private var groups: RowGroups<Dump.Row>

    init(_ figure: DumpFigure) {
        self.figure = figure
        rule = CampaignIDRule(figure.description.columns)
        func index(_ name: String) -> Int? {
            figure.description.columns.firstIndex { $0.name == name }
        }
        maturityIndices =
            if figure.showsMaturity, let day = index("day"), let app = index(Dump.app) {
                (day, app)
            } else { nil }
        groups = RowGroups(
            by: figure.selection.indices,
            empty: Dump.Row(columns: [], measures: ExactSums(count: figure.measures.count)))
    }

    /// - Parameters:
    ///   - values: one for each of the description's columns.
    ///   - first: the index of the first sum in the dump.
    mutating func add(_ values: [StoredValue], _ sums: ExactSums, at first: Int) {
        add(values) { $0.add(sums, at: first) }
    }

    /// - Parameters:
    ///   - values: one for each of the description's columns.
    ///   - measures: 64-bit sums, or products of two. A store cannot hold enough of them to overflow 128 bits.
    mutating func add(_ values: [StoredValue], _ measures: [some FixedWidthInteger]) {
        add(values) { $0.add(amounts: measures, at: 0) }
    }

    private mutating func add(_ values: [StoredValue], _ body: (inout ExactSums) -> Void) {
        let kind = rule.kind(values)
        groups.add(values) { sums in
            body(&sums.measures)
            sums.campaignIDKinds.insert(CampaignIDKinds(kind))
            if let (day, app) = maturityIndices {
                sums.days.add(
                    day: values[day].text, app: values[app].integer, kinds: CampaignIDKinds(kind))
            }
        }
    }

    /// The rows sorted by their columns, without rows of zeros.
    var dump: Dump {
        let measures = figure.shownMeasures
        var dump = Dump(
            columns: figure.selection.columns, measures: measures,
            rows: groups.sorted.compactMap { group in
                guard measures.isEmpty || !group.sums.measures.isZero else { return nil }
                var row = group.sums
                row.columns = group.columns
                if measures.isEmpty { row.measures = [] }
                return row
            })
        dump.thousandPrices = figure.thousandPrices
        return dump
    }
}

extension Dump {
    /// Writes the rows as UTF-8, in large pieces.
    ///
    /// - Parameter isRaw: whether CSV texts are written unchanged.
    package func write<Failure: Error>(
        as format: DumpFormat, isRaw: Bool = false, to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard format == .table else {
            return try ReportTable.write(
                rows, reportColumns, as: format, isRaw: isRaw, to: sink, values: values(of:))
        }
        try report(forPeople: true).write(as: format, isRaw: isRaw, to: sink)
    }

    /// The dump as a report, with the currency of its amounts.
    ///
    /// - Parameter forPeople: whether to format times and sort rows naturally: ages in ascending order, conversion
    ///   values by number.
    package func report(forPeople: Bool) -> ReportTable {
        let instants = forPeople ? columns.indices.filter { columns[$0].isInstant } : []
        var shown = reportColumns
        for index in instants { shown[index] = ReportTable.Column(columns[index].name) }
        let currencyIndex = columns.firstIndex { $0.name == Self.currency }
        let table = ReportTable(
            columns: shown,
            rows: rows.map { row in
                var values = values(of: row)
                for index in instants {
                    values[index] = .text(UTC.text(milliseconds: row.columns[index].integer))
                }
                let currency =
                    currencyIndex.map { row.columns[$0] } ?? onlyCurrency.map { .text($0) }
                guard let currency else { return values }
                for (measure, amount) in row.measures.enumerated()
                where shown[columns.count + measure].isMoney {
                    guard let amount else { continue }
                    values[columns.count + measure] = .money(
                        MoneyByCurrency(
                            [currency: amount],
                            isOfThousand: thousandPrices.contains(measures[measure])))
                }
                return values
            }, keyCount: columns.count)
        return forPeople ? table.inNaturalOrder : table
    }

    /// The dump without the currency column that was added, if all amounts have one currency.
    func withoutAddedCurrency(_ request: ReportRequest) -> Dump {
        guard request.tellsCurrenciesApart, !request.grouping.names(Self.currency),
            let index = columns.firstIndex(where: { $0.name == Self.currency })
        else { return self }
        let money = measures.indices.filter { MoneyByCurrency.isMoney(measures[$0]) }
        let paid = Set(
            rows.filter { row in money.contains { row.measures[$0] != 0 } }
                .map { $0.columns[index].text })
        guard paid.count < 2 else { return self }
        var groups = RowGroups(
            by: columns.indices.filter { $0 != index },
            empty: Row(columns: [], measures: ExactSums(count: measures.count)))
        for row in rows {
            groups.add(row.columns) { sums in
                sums.measures.add(row.measures)
                sums.campaignIDKinds.formUnion(row.campaignIDKinds)
                sums.days.formUnion(row.days)
            }
        }
        var dump = self
        dump.columns.remove(at: index)
        dump.onlyCurrency = paid.first
        dump.rows = groups.sorted.map { group in
            var row = group.sums
            row.columns = group.columns
            return row
        }
        return dump
    }

    /// Name of the column with the currency of a row's amounts.
    static let currency = "currency"
    /// Name of the column with the app. The app's model determines the windows of its installs.
    static let app = "app_id"

    var reportColumns: [ReportTable.Column] {
        columns.map(\.reportColumn) + measures.map(ReportTable.Column.init(measure:))
    }

    func values(of row: Row) -> [ReportValue] {
        zip(columns, row.columns).map { $0.reportValue($1) } + row.measures.map(\.reportValue)
    }

    /// The dump as a report with two more columns. `maturity` is the share of closed windows of installs on the row's
    /// days, from 0 to 1. `final_after` is the time after which no postback counts for an install on these days. As in
    /// the funnel: `docs/reference/funnel.md`.
    ///
    /// The request needs `ReportRequest.maturity`.
    package func withMaturity(forPeople: Bool) -> ReportTable {
        let table = report(forPeople: forPeople)
        let ends = CohortEnds(models, in: timeZone)
        return ReportTable(
            columns: table.columns
                + ["maturity", "final_after"].map { ReportTable.Column($0, isNumber: true) },
            rows: zip(rows, table.rows).map { row, values in
                values + row.days.maturity(at: watermarkMilliseconds, ends)
            }, keyCount: table.keyCount)
    }

    /// The measures that are not 0 in every row.
    package var countedMeasures: [String] {
        measures.indices.filter { index in rows.contains { $0.measures[index] != 0 } }
            .map { measures[$0] }
    }

    /// The dump with only these measures, in its own order. Throws `unknownMeasure`.
    package func limited(toMeasures names: [String]) throws(InspectionError) -> Dump {
        if let unknown = names.first(where: { !measures.contains($0) }) {
            throw .unknownMeasure(unknown, valid: measures)
        }
        let indices = measures.indices.filter { names.contains(measures[$0]) }
        var dump = self
        dump.measures = indices.map { measures[$0] }
        for row in rows.indices { dump.rows[row].measures = rows[row].measures.selecting(indices) }
        return dump
    }

    /// The dump without rows in which every measure is zero. Rows without measures stay.
    package var withoutZeroRows: Dump {
        guard !measures.isEmpty else { return self }
        var dump = self
        dump.rows.removeAll(where: \.measures.isZero)
        return dump
    }

    /// The dump with additional text columns.
    func adding(_ names: [String], _ texts: (Row) -> [String]) -> Dump {
        var dump = self
        dump.columns += names.map { DumpColumn($0, .text) }
        for index in rows.indices {
            dump.rows[index].columns += texts(rows[index]).map { .text($0) }
        }
        return dump
    }
}
