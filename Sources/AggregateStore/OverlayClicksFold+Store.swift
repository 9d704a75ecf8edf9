import Streams

extension OverlayClicksFold: WindowedStoredFold {
    /// The tables of `overlay-clicks.sqlite`.
    public static var schema: String { StoreSchema.overlayClicks }

    /// Writes what the batch adds to the aggregate.
    public func writeAggregates(to transaction: StoreTransaction) throws {
        try transaction.add(overlayClicks, symbols: effects.symbols)
    }
}
