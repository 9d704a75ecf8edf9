import Streams

extension ConversionUpdatesFold: WindowedStoredFold {
    /// The tables of `conversion-updates.sqlite`.
    package static var schema: String { StoreSchema.conversionUpdates }

    /// Writes what the batch adds to the aggregate.
    package func writeAggregates(to transaction: StoreTransaction) throws {
        try transaction.add(conversionUpdates, symbols: effects.symbols)
    }
}
