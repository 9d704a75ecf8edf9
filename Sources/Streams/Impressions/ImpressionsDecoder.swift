import JSON

/// Decodes the records of the topic `impressions`. One decoder serves all records: it keeps the memory of
/// its lists.
struct ImpressionsDecoder {
    private var recommendations = RecommendationsDecoder()
    private var listings = ListingsDecoder()

    /// Decodes a record; the id of its impression or request comes out beside it. Throws why it is rejected.
    mutating func decode(
        _ value: JSONValue, _ kind: ImpressionsEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> (ImpressionsEvent, id: UnsafeRawBufferPointer) {
        switch kind {
        case .overlayPresented, .overlayDismissed, .overlayFailed:
            let decoded = try OverlayDecoder.decode(value, kind: kind, symbols: &symbols)
            return (.ad(decoded.ad), decoded.impressionID)
        case .skadnImpression:
            let decoded = try SkadnImpressionDecoder.decode(value, symbols: &symbols)
            return (.ad(decoded.ad), decoded.impressionID)
        case .recommendations:
            let decoded = try recommendations.decode(value, symbols: &symbols)
            return (.recommendations(decoded.recommendations), decoded.requestID)
        case .widgetViewed:
            let decoded = try WidgetViewDecoder.decode(value, symbols: &symbols)
            return (.ad(decoded.ad), decoded.requestID)
        case .listingsViewed:
            let decoded = try listings.decode(value, symbols: &symbols)
            return (.listings(decoded.listings), decoded.requestID)
        case .inAppLoaded, .inAppImpression, .inAppHandover, .inAppFailed:
            let decoded = try InAppAdDecoder.decode(value, kind: kind, symbols: &symbols)
            return (.ad(decoded.ad), decoded.impressionID)
        }
    }
}
