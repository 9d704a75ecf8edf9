/// Looks at what a batch adds to each of a stream's aggregates.
package protocol AdditionVisitor {
    /// Called for each table of additions; there may be two of one aggregate, which add up.
    mutating func visit<Key: RowKey>(_ additions: DeltaTable<Key>, symbols: SymbolTable)
}
