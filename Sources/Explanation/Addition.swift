import AggregateStore
import Streams

/// A row of an aggregate that records add to. Records that add to one row mostly share it.
public final class AdditionRow {
    /// The aggregate.
    public let table: AggregateTable
    /// One value for each of its columns; booleans are 0 and 1.
    public let columns: [StoredValue]
    /// What was found out about the row, kept for the records that share it.
    var standing: CellStanding?

    init(_ table: AggregateTable, _ columns: [StoredValue]) {
        self.table = table
        self.columns = columns
    }
}

/// What a record adds to a row.
public struct Addition {
    /// The row.
    public let row: AdditionRow
    /// One amount for each measure of the aggregate.
    public let measures: [Int64]
}
