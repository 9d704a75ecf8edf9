import AggregateStore
import Streams

/// A row of an aggregate that records add to. Records that add to one row mostly share it.
package final class AdditionRow {
    /// The aggregate.
    package let table: AggregateTable
    /// One value for each of its columns; booleans are 0 and 1.
    package let columns: [StoredValue]
    /// What was found out about the row, kept for the records that share it.
    var standing: CellStanding?

    init(_ table: AggregateTable, _ columns: [StoredValue]) {
        self.table = table
        self.columns = columns
    }
}

/// What a record adds to a row.
package struct Addition {
    /// The row.
    package let row: AdditionRow
    /// One amount for each measure of the aggregate.
    package let measures: [Int64]
}
