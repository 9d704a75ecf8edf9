import Streams

extension BidsFold: WindowedStoredFold {
    /// The tables of `bids.sqlite`.
    package static var schema: String { StoreSchema.bids }

    /// Writes what the batch adds to the aggregates.
    package func writeAggregates(to transaction: StoreTransaction) throws {
        try transaction.add(bids, symbols: effects.symbols)
        try transaction.add(bidFaults, symbols: effects.symbols)
        try transaction.add(bidSignatures, symbols: effects.symbols)
        try transaction.add(lossReasons, symbols: effects.symbols)
    }
}
