/// What differs between two sets of stores, or between a set and what it would be.
package struct StoreComparison: Sendable {
    /// One line a row and measure, or a dump and measure; what is in both, and the difference.
    package let table: ReportTable
    /// Whether anything differs.
    package let differs: Bool
    /// What a reader should know beside the table.
    package let notices: [String]
}

/// What is to be compared.
package struct ComparisonQuery: Sendable {
    /// The rows that are compared, and how they are put together.
    package var query: DumpQuery
    /// Only these measures; empty for all.
    package var measures: [String] = []
    /// Whether rows that are the same are shown too.
    package var showsEqual = false
    /// So many rows at most.
    package var limit: Int?

    /// Compares what a query asks for.
    package init(_ query: DumpQuery) {
        self.query = query
    }
}
