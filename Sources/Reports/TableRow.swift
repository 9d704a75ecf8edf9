import Store
import Streams

/// The columns and measures of an aggregate to read, in this order. Rows are summed over the others; several rows may
/// be alike.
struct TableReader<Key: RowKey>: Sendable {
    let indices: ReadIndices

    init(_ columns: any ReadColumns<Key>..., measures: [Key.Measure]) {
        indices = ReadIndices(
            Key.table, columns.flatMap(\.indices), measures: measures.map(\.rawValue))
    }
}

/// Maps the columns and measures of a table to their indices in rows that are read.
final class ReadIndices: Sendable {
    let stored: AggregateTable
    /// The same rows with only the columns and measures that are read.
    let table: AggregateTable
    /// The indices in the stored table of the columns that are read, except the time.
    let keyColumns: [Int]
    /// By index in the stored table; -1 for columns that are not read.
    private let columns: [Int]
    private let measures: [Int]

    fileprivate init(_ stored: AggregateTable, _ columns: [Int], measures: [Int]) {
        self.stored = stored
        keyColumns = columns.filter { !stored.columns[$0].kind.isTime }
        table = stored.selecting(columns, measures: measures)
        self.columns = stored.columns.indices.map { columns.firstIndex(of: $0) ?? -1 }
        self.measures = stored.measures.indices.map { measures.firstIndex(of: $0) ?? -1 }
    }

    fileprivate func index(ofColumn index: Int) -> Int { columns[index] }

    fileprivate func index(ofMeasure index: Int) -> Int { measures[index] }
}

/// A row of any aggregate.
struct AnyTableRow {
    /// Nil for a row with all columns and measures of its table.
    fileprivate let indices: ReadIndices?
    fileprivate let columns: [StoredValue]
    fileprivate let sums: StoredSums
    private let unknownUse: UnknownUse?

    /// - Parameters:
    ///   - sums: empty if only the columns of the row are known.
    ///   - unknownUse: notes that an unknown sum is read; nil if the reader looks at `hasUnknown`.
    init(
        _ columns: [StoredValue], _ sums: StoredSums = StoredSums([]),
        of indices: ReadIndices? = nil,
        _ unknownUse: UnknownUse? = nil
    ) {
        self.indices = indices
        self.columns = columns
        self.sums = sums
        self.unknownUse = unknownUse
    }

    /// Whether a sum is unknown. It reads as 0.
    var hasUnknown: Bool { sums.unknown != 0 }

    /// The index of the first unknown sum among those that are read; nil if all are known.
    var firstUnknown: Int? { sums.indices.first { sums[$0] == nil } }

    /// Whether it counts anything: rows with all counts taken back have zeros only.
    var isCounted: Bool { !sums.isZero }

    var isPositive: Bool { sums.amounts.contains { $0 > 0 } }

    /// The sum of a measure, by index in the stored table.
    subscript(measure index: Int) -> Int64 {
        let own = indices?.index(ofMeasure: index) ?? index
        if hasUnknown, sums[own] == nil { unknownUse?.index = own }
        return sums.amounts[own]
    }
}

/// Notes that a report has read an unknown sum as a number.
final class UnknownUse {
    /// The index of the measure among those that are read.
    fileprivate(set) var index: Int?
}

/// A row of an aggregate with typed access to its columns and measures.
struct TableRow<Key: RowKey> {
    let row: AnyTableRow

    init(_ row: AnyTableRow) {
        self.row = row
    }

    private func value(_ index: Int) -> StoredValue {
        row.columns[row.indices?.index(ofColumn: index) ?? index]
    }

    subscript(column: TableColumn<Key, String>) -> String { value(column.index).text }
    subscript(column: TableColumn<Key, Int64>) -> Int64 { value(column.index).integer }
    subscript(column: TableColumn<Key, Bool>) -> Bool { value(column.index).integer != 0 }
    subscript(measure: Key.Measure) -> Int64 { row[measure: measure.rawValue] }

    /// The values of some columns, in their order.
    func values(_ columns: some ReadColumns<Key>) -> [StoredValue] { columns.indices.map(value) }
}

extension StoreSlice {
    /// Calls `body` with the rows of the partitions, like `StoreSnapshot`; with an instant, limited to earlier records.
    func forEachRow<Key>(
        of reader: TableReader<Key>, _ choice: RowChoice = RowChoice(),
        _ body: (_ partition: Int32, _ row: TableRow<Key>) throws -> Void
    ) throws {
        try forEachRow(of: reader.indices, choice) { try body($0, TableRow($1)) }
    }

    /// Throws `unknownSum` if `body` has read an unknown sum.
    func forEachRow(
        of indices: ReadIndices, _ choice: RowChoice = RowChoice(),
        _ body: (_ partition: Int32, _ row: AnyTableRow) throws -> Void
    ) throws {
        let use = UnknownUse()
        try forEachRow(of: indices.table, choice) {
            try body($0, AnyTableRow($1, $2, of: indices, use))
            guard let index = use.index else { return }
            throw InspectionError.unknownSum(
                table: indices.table.name, measure: indices.table.measures[index])
        }
    }

    /// Calls `body` with the sums of each day's rows, like `StoreSnapshot`; with an instant, with the rows of earlier
    /// records. Unlike `forEachRow`, also with rows that have unknown sums.
    func forEachDay(
        of indices: ReadIndices, _ choice: RowChoice, by hours: HourTexts,
        _ body: (AnyTableRow) throws -> Void
    ) throws {
        try forEachDay(of: indices.table, choice, by: hours) {
            try body(AnyTableRow($0, $1, of: indices))
        }
    }
}

/// The columns of a table that identify a campaign, apart from the publisher's app.
struct CampaignColumns<Key: RowKey>: ReadColumns {
    let network: TableColumn<Key, String>
    let campaign: TableColumn<Key, String>
    let app: TableColumn<Key, Int64>
    let indices: [Int]

    init(_ path: KeyPath<Key, CampaignKey>) {
        network = Key.column(path.appending(path: \.adNetworkID))
        campaign = Key.column(path.appending(path: \.campaign))
        app = Key.column(path.appending(path: \.appID))
        indices = network.indices + campaign.indices + app.indices
    }
}
