import JSON

/// The decoders by which workers judge events, so that what they would reject is known before it is appended.
struct EventCheck: ~Copyable {
    private var bids = BidsDecoder()
    private var impressions = ImpressionsDecoder()
    private var overlayClicks = OverlayClicksDecoder()
    private var symbols = SymbolTable()

    /// Throws what the worker would reject an event for.
    mutating func check(_ value: JSONValue, _ type: ProducerEventType) throws(Rejection) {
        if symbols.isLarge { symbols.removeAll() }
        switch type {
        case .bids(let type): _ = try bids.decode(value, type, symbols: &symbols)
        case .impressions(let type): _ = try impressions.decode(value, type, symbols: &symbols)
        case .overlayClicks(let type):
            _ = try overlayClicks.decode(value, type, symbols: &symbols)
        }
    }
}
