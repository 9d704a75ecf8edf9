import Streams

extension ImpressionsFold: WindowedStoredFold {
    /// The tables of `impressions.sqlite`.
    package static var schema: String { StoreSchema.impressions }

    /// Writes what the batch adds to the aggregate.
    package func writeAggregates(to transaction: StoreTransaction) throws {
        try transaction.add(impressions, symbols: effects.symbols)
    }
}
