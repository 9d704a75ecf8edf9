import ConfigurationFiles
import Store
import Streams

// Reports answers questions about stores: what they hold (`dump`, `funnel`, `export`, `deadLetters`,
// `digest`), how two sets of them differ (`diff`), how numbers changed over time (`StoreChanges`), and what
// other conversion models would have made of them (`whatIf`). It reads one consistent state of the stores
// of some data directories, of each partition the copy that is folded furthest, and never writes. What a
// number is made of is defined once, by a `Number`.
//
//     let stores = try OpenStores(directories: ["data"])
//     let dump = try stores.dump(DumpQuery(name: "bids", grouping: .columns(["day", "seat"])))
//     try dump.write(as: .csv) { piece in print(String(decoding: piece, as: UTF8.self), terminator: "") }

/// The rows of a dump, in order of their columns.
package struct Dump: Sendable {
    /// A row: its columns' values and its exact sums.
    package struct Row: Sendable {
        /// One for each column; booleans are 0 and 1.
        package internal(set) var columns: [StoredValue]
        package internal(set) var measures: [Int128]
        /// The kinds of campaign ids in the rows of the group.
        var campaignIDKinds: CampaignIDKinds = []
        /// The same by day, with `DumpQuery.notesMaturity`.
        var windows: [String: CampaignIDKinds] = [:]
        /// The currencies of reported costs that the group adds up.
        var currencies: Set<String> = []
    }

    /// The columns, in the order in which rows are sorted.
    package internal(set) var columns: [DumpColumn]
    package internal(set) var measures: [String]
    package internal(set) var rows: [Row]
    /// The largest timestamp of a folded postback, in milliseconds since 1970, with
    /// `DumpQuery.notesMaturity`.
    var watermarkMilliseconds: Int64?
}

extension OpenStores {
    /// Reads an aggregate from the stores.
    ///
    /// - Throws: `noStore` when there is none that could have it; `unknownDump`, `unknownColumn` and
    ///   `badCondition` for what cannot be asked.
    package func dump(_ query: DumpQuery) throws(InspectionError) -> Dump {
        let number = try DumpNumber(query)
        return try view(of: number.streams) { try $0.dump(number) }
    }
}

extension StoreView {
    /// Reads an aggregate: sums over the partitions.
    ///
    func dump(_ number: DumpNumber) throws -> Dump {
        var groups = DumpGroups(number)
        try forEachRow(of: number, byDay: !number.showsHours) { values, measures, first in
            groups.add(values, measures, at: first)
        }
        var dump = groups.dump
        if number.notesMaturity { dump.watermarkMilliseconds = postbacksWatermark }
        return dump
    }

    /// Calls `body` with the values of all columns of each selected row, its measures, and the place
    /// of the first of these in the dump.
    ///
    /// - Parameter byDay: whether rows of several hours of a day may come as one, with one of the hours.
    func forEachRow(
        of number: DumpNumber, byDay: Bool = false,
        _ body: (_ values: [StoredValue], _ measures: [Int64], _ first: Int) -> Void
    ) throws {
        for slice in slices {
            for (stream, tables) in number.sources where stream == slice.stream {
                for table in tables {
                    let first = number.firstMeasure(of: table)
                    func add(_ columns: [StoredValue], _ measures: [Int64]) {
                        guard let values = number.values(of: table, columns) else { return }
                        body(values, measures, first)
                    }
                    let choice = number.choice(of: table)
                    if byDay, !number.countsByHour(table) {
                        try slice.forEachDay(of: table, choice, add)
                    } else {
                        try slice.forEachRow(of: table, choice) { add($1, $2) }
                    }
                }
                guard tables.isEmpty else { continue }
                try slice.forEachRefusal { refusal in
                    if let values = number.values(of: refusal, topic: slice.snapshot.topic),
                        slice.counts(timestampMilliseconds: refusal.timestampMilliseconds)
                    {
                        body(values, [1], 0)
                    }
                    return true
                }
            }
        }
    }
}

/// Sums selected rows of a dump by its shown columns.
struct DumpGroups {
    private let number: DumpNumber
    private let rule: CampaignIDRule
    /// Place of the day, in rows that note the windows of their postbacks.
    private let dayPlace: Int?
    /// Place of the currency of reported costs, in rows that do not show it.
    private let currencyPlace: Int?
    private var groups: RowGroups<Dump.Row>

    init(_ number: DumpNumber) {
        self.number = number
        rule = CampaignIDRule(number.description.columns)
        dayPlace =
            number.notesMaturity
            ? number.description.columns.firstIndex { $0.name == "day" } : nil
        currencyPlace =
            number.name == CostsKey.table.name
            ? number.description.columns.indices.first {
                number.description.columns[$0].name == "currency"
                    && !number.selection.places.contains($0)
            } : nil
        groups = RowGroups(
            by: number.selection.places,
            empty: Dump.Row(
                columns: [], measures: Array(repeating: 0, count: number.measures.count)))
    }

    /// - Parameters:
    ///   - values: one for each of the description's columns.
    ///   - measures: sums of 64 bits, or products of two: no store holds so many of them that 128
    ///     would overflow.
    ///   - first: the place in the dump of the first of them.
    mutating func add<Measure: FixedWidthInteger>(
        _ values: [StoredValue], _ measures: [Measure], at first: Int = 0
    ) {
        let kind = rule.kind(values)
        groups.add(values) { sums in
            for index in measures.indices {
                sums.measures[first + index] += Int128(measures[index])
            }
            sums.campaignIDKinds.insert(CampaignIDKinds(kind))
            if let dayPlace {
                sums.windows[values[dayPlace].text, default: []].formUnion(CampaignIDKinds(kind))
            }
            if let currencyPlace { sums.currencies.insert(values[currencyPlace].text) }
        }
    }

    /// The rows in order of their columns, without those of zeros.
    var dump: Dump {
        let measures = number.shownMeasures
        return Dump(
            columns: number.selection.columns, measures: measures,
            rows: groups.sorted.compactMap { group in
                guard measures.isEmpty || group.sums.measures.contains(where: { $0 != 0 }) else {
                    return nil
                }
                var row = group.sums
                row.columns = group.columns
                if measures.isEmpty { row.measures = [] }
                return row
            })
    }
}

extension Dump {
    /// Writes the rows as UTF-8, in large pieces.
    ///
    /// - Parameter isRaw: whether CSV has every text as it is.
    package func write<Failure: Error>(
        as format: DumpFormat, isRaw: Bool = false, to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard format == .table else {
            return try ReportTable.write(
                rows, reportColumns, as: format, isRaw: isRaw, to: sink, values: values(of:))
        }
        // People read times as times.
        let instants = columns.indices.filter { columns[$0].isInstant }
        var shown = reportColumns
        for place in instants { shown[place] = ReportTable.Column(columns[place].name) }
        try ReportTable.write(rows, shown, as: format, isRaw: isRaw, to: sink) { row in
            var values = values(of: row)
            for place in instants {
                values[place] = .text(UTC.text(milliseconds: row.columns[place].integer))
            }
            return values
        }
    }

    /// The rows as a report.
    package var table: ReportTable {
        ReportTable(columns: reportColumns, rows: rows.map(values(of:)))
    }

    var reportColumns: [ReportTable.Column] {
        columns.map(\.reportColumn) + measures.map { ReportTable.Column($0, isNumber: true) }
    }

    func values(of row: Row) -> [ReportValue] {
        zip(columns, row.columns).map { $0.reportValue($1) } + row.measures.map { .integer($0) }
    }

    /// The dump as a report, with two more columns: `maturity`, the share of the windows of
    /// installs on the row's days that are closed, from 0 to 1, and `final_after`, after which no
    /// postback for such an install can arrive. As in the funnel: `docs/funnel.md`.
    ///
    /// The query needs `DumpQuery.notesMaturity`.
    package func withMaturity() -> ReportTable {
        ReportTable(
            columns: reportColumns
                + ["maturity", "final_after"].map { ReportTable.Column($0, isNumber: true) },
            rows: rows.map { row in
                values(of: row)
                    + CampaignIDKinds.maturity(of: row.windows, at: watermarkMilliseconds)
            })
    }

    /// The measures that are not 0 in every row.
    package var countedMeasures: [String] {
        measures.indices.filter { index in rows.contains { $0.measures[index] != 0 } }
            .map { measures[$0] }
    }

    /// Throws when the dump shows sums of reported costs of several currencies.
    package func requireOneCurrency() throws(InspectionError) {
        guard let measure = measures.first(where: MoneyByCurrency.isMoney),
            let row = rows.first(where: { $0.currencies.count > 1 })
        else { return }
        throw .severalCurrencies(measure: measure, currencies: row.currencies.sorted())
    }

    /// The dump with only these measures, in its own order. Throws `unknownMeasure`.
    package func limited(toMeasures names: [String]) throws(InspectionError) -> Dump {
        if let unknown = names.first(where: { !measures.contains($0) }) {
            throw .unknownMeasure(unknown, known: measures)
        }
        let places = measures.indices.filter { names.contains(measures[$0]) }
        var dump = self
        dump.measures = places.map { measures[$0] }
        for row in rows.indices { dump.rows[row].measures = places.map { rows[row].measures[$0] } }
        return dump
    }

    /// The dump with more columns, all of text.
    func adding(_ names: [String], _ texts: (Row) -> [String]) -> Dump {
        var dump = self
        dump.columns += names.map { DumpColumn($0, .text) }
        for index in rows.indices {
            dump.rows[index].columns += texts(rows[index]).map { .text($0) }
        }
        return dump
    }
}
