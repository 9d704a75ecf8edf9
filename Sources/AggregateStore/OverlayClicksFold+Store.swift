import Streams

extension OverlayClicksFold: WindowedStoredFold {
    /// The tables of `overlay-clicks.sqlite`.
    package static var schema: String { StoreSchema.overlayClicks }

    /// Writes what the batch adds to the aggregate.
    package func writeAggregates(to transaction: StoreTransaction) throws {
        try transaction.add(overlayClicks, symbols: effects.symbols)
    }
}
