/// What differs between two sets of stores, or between a set and what it would be.
public struct StoreComparison: Sendable {
    /// One line a row and measure, or a dump and measure; what is in both, and the difference.
    public let table: ReportTable
    /// Whether anything differs.
    public let differs: Bool
    /// What a reader should know beside the table.
    public let notices: [String]
}

/// What is to be compared.
public struct ComparisonQuery: Sendable {
    /// The rows that are compared, and how they are put together.
    public var query: DumpQuery
    /// Only these measures; empty for all.
    public var measures: [String] = []
    /// Whether rows that are the same are shown too.
    public var showsEqual = false
    /// So many rows at most.
    public var limit: Int?

    /// Compares what a query asks for.
    public init(_ query: DumpQuery) {
        self.query = query
    }
}
