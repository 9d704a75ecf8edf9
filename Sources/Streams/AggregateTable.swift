/// An aggregate as it is stored and dumped: columns that name a row, and measures that add up.
package struct AggregateTable: Sendable {
    /// What a column holds.
    package enum ColumnKind: Sendable {
        /// An hour, as text.
        case hour
        /// UTF-8 text, compared as bytes.
        case text
        /// A 64-bit integer.
        case integer
        /// True or false, stored as 1 or 0.
        case boolean
    }

    /// A column of the row's key.
    package struct Column: Sendable {
        /// The name, in the store and in dumps.
        package var name: String
        /// What it holds.
        package var kind: ColumnKind
        /// False for one that tells rows apart in the store, and that dumps show only when it is
        /// asked for.
        package var isDefault: Bool

        /// Names a column.
        package init(_ name: String, _ kind: ColumnKind, isDefault: Bool = true) {
            self.name = name
            self.kind = kind
            self.isDefault = isDefault
        }
    }

    /// Name of the dump, with dashes.
    package var name: String
    /// The columns, in the order in which rows are sorted.
    package var columns: [Column]
    /// Names of the measures: signed 64-bit sums.
    package var measures: [String]

    /// Describes an aggregate.
    package init(name: String, columns: [Column], measures: [String]) {
        self.name = name
        self.columns = columns
        self.measures = measures
    }

    /// Name of the SQL table: the dump's name with underscores.
    package var sqlName: String { name.split(separator: "-").joined(separator: "_") }

    /// The columns of the campaign key.
    package static let campaignColumns = [
        Column("ad_network_id", .text), Column("campaign", .text),
        Column("app_id", .integer), Column("source_app_id", .integer),
    ]
}

/// A value of a column, borrowed from a row's key.
package enum ColumnValue {
    /// An hour.
    case hour(Hour)
    /// A text of the fold's symbol table.
    case symbol(Symbol)
    /// A fixed text.
    case text(StaticString)
    /// An integer.
    case integer(Int64)
    /// True or false.
    case boolean(Bool)
}

/// The key of an aggregate's row: its columns, and the partition whose records it counts.
package protocol RowKey: Equatable {
    /// The aggregate.
    static var table: AggregateTable { get }
    /// The partition whose records the row counts.
    var partition: Int32 { get }
    /// Adds all that makes the key to a hash.
    func combine(into hasher: inout RowHasher)
    /// Calls `body` with the value of each of the table's columns, in order.
    func forEachColumn(_ body: (ColumnValue) -> Void)
}
