import Store
import Streams

/// The columns and measures of an aggregate to read, in this order. Rows are summed over the others; several rows may
/// be alike.
struct TableReader<Key: RowKey>: Sendable {
    let places: ReadPlaces

    init(_ columns: any ReadColumns<Key>..., measures: [Key.Measure]) {
        places = ReadPlaces(
            Key.table, columns.flatMap(\.places), measures: measures.map(\.rawValue))
    }
}

/// Maps the columns and measures of a table to their indices in rows that are read.
final class ReadPlaces: Sendable {
    let stored: AggregateTable
    /// The same rows with only the columns and measures that are read.
    let table: AggregateTable
    /// By index in the stored table; -1 for columns that are not read.
    private let columns: [Int]
    private let measures: [Int]

    fileprivate init(_ stored: AggregateTable, _ columns: [Int], measures: [Int]) {
        self.stored = stored
        table = stored.selecting(columns, measures: measures)
        self.columns = stored.columns.indices.map { columns.firstIndex(of: $0) ?? -1 }
        self.measures = stored.measures.indices.map { measures.firstIndex(of: $0) ?? -1 }
    }

    fileprivate func place(ofColumn place: Int) -> Int { columns[place] }

    fileprivate func place(ofMeasure place: Int) -> Int { measures[place] }
}

/// A row of any aggregate.
struct AnyTableRow {
    /// Nil for a row with all columns and measures of its table.
    fileprivate let places: ReadPlaces?
    fileprivate let columns: [StoredValue]
    fileprivate let measures: [Int64]

    /// - Parameter measures: empty if only the columns of the row are known.
    init(_ columns: [StoredValue], _ measures: [Int64] = [], of places: ReadPlaces? = nil) {
        self.places = places
        self.columns = columns
        self.measures = measures
    }

    /// Whether it counts anything: rows with all counts taken back have zeros only.
    var isCounted: Bool { measures.contains { $0 != 0 } }

    var isPositive: Bool { measures.contains { $0 > 0 } }

    /// The sum of a measure, by index in the stored table.
    subscript(measure place: Int) -> Int64 {
        measures[places?.place(ofMeasure: place) ?? place]
    }
}

/// A row of an aggregate with typed access to its columns and measures.
struct TableRow<Key: RowKey> {
    let row: AnyTableRow

    init(_ row: AnyTableRow) {
        self.row = row
    }

    private func value(_ place: Int) -> StoredValue {
        row.columns[row.places?.place(ofColumn: place) ?? place]
    }

    subscript(column: TableColumn<Key, String>) -> String { value(column.place).text }
    subscript(column: TableColumn<Key, Int64>) -> Int64 { value(column.place).integer }
    subscript(column: TableColumn<Key, Bool>) -> Bool { value(column.place).integer != 0 }
    subscript(measure: Key.Measure) -> Int64 { row[measure: measure.rawValue] }

    /// The values of some columns, in their order.
    func values(_ columns: some ReadColumns<Key>) -> [StoredValue] { columns.places.map(value) }
}

extension StoreSlice {
    /// Calls `body` with the rows of the partitions, like `StoreSnapshot`; with an instant, limited to earlier records.
    func forEachRow<Key>(
        of reader: TableReader<Key>,
        _ body: (_ partition: Int32, _ row: TableRow<Key>) throws -> Void
    ) throws {
        try forEachRow(of: reader.places) { try body($0, TableRow($1)) }
    }

    func forEachRow(
        of places: ReadPlaces, _ body: (_ partition: Int32, _ row: AnyTableRow) throws -> Void
    ) throws {
        try forEachRow(of: places.table) { try body($0, AnyTableRow($1, $2, of: places)) }
    }

    /// Calls `body` with the sums of each day's rows, like `StoreSnapshot`; with an instant, with the rows of earlier
    /// records.
    func forEachDay(
        of places: ReadPlaces, _ choice: RowChoice, _ body: (AnyTableRow) throws -> Void
    ) throws {
        try forEachDay(of: places.table, choice) { try body(AnyTableRow($0, $1, of: places)) }
    }
}

/// The columns of a table that identify a campaign, apart from the publisher's app.
struct CampaignColumns<Key: RowKey>: ReadColumns {
    let network: TableColumn<Key, String>
    let campaign: TableColumn<Key, String>
    let app: TableColumn<Key, Int64>
    let places: [Int]

    init(_ path: KeyPath<Key, CampaignKey>) {
        network = Key.column(path.appending(path: \.adNetworkID))
        campaign = Key.column(path.appending(path: \.campaign))
        app = Key.column(path.appending(path: \.appID))
        places = network.places + campaign.places + app.places
    }
}
