/// An aggregate as it is stored and dumped: columns that name a row, and measures that add up.
public struct AggregateTable: Sendable {
    /// What a column holds.
    public enum ColumnKind: Sendable {
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
    public struct Column: Sendable {
        /// The name, in the store and in dumps.
        public var name: String
        /// What it holds.
        public var kind: ColumnKind
        /// False for one that tells rows apart in the store, and that dumps show only when it is
        /// asked for.
        public var isDefault: Bool

        /// Names a column.
        public init(_ name: String, _ kind: ColumnKind, isDefault: Bool = true) {
            self.name = name
            self.kind = kind
            self.isDefault = isDefault
        }
    }

    /// Name of the dump, with dashes.
    public var name: String
    /// The columns, in the order in which rows are sorted.
    public var columns: [Column]
    /// Names of the measures: signed 64-bit sums.
    public var measures: [String]

    /// Describes an aggregate.
    public init(name: String, columns: [Column], measures: [String]) {
        self.name = name
        self.columns = columns
        self.measures = measures
    }

    /// Name of the SQL table: the dump's name with underscores.
    public var sqlName: String { name.split(separator: "-").joined(separator: "_") }

    /// The columns of the campaign key.
    public static let campaignColumns = [
        Column("ad_network_id", .text), Column("campaign", .text),
        Column("app_id", .integer), Column("source_app_id", .integer),
    ]
}

/// A value of a column, borrowed from a row's key.
public enum ColumnValue {
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
public protocol RowKey: Equatable {
    /// The aggregate.
    static var table: AggregateTable { get }
    /// The partition whose records the row counts.
    var partition: Int32 { get }
    /// Adds all that makes the key to a hash.
    func combine(into hasher: inout RowHasher)
    /// Calls `body` with the value of each of the table's columns, in order.
    func forEachColumn(_ body: (ColumnValue) -> Void)
}
