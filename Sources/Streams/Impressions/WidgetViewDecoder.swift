import JSON

/// Decodes `outbrain.widget_viewed`.
enum WidgetViewDecoder {
    /// Decodes an event; the request's id comes out beside it.
    static func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> (ad: ImpressionsEvent.Ad, requestID: UnsafeRawBufferPointer) {
        var faults = FieldFaults()
        let members = value.members([
            "request_id", "widget_id", "widget_index", "elapsed_ms", "test",
        ])
        let requestID = faults.requiredID(members[0], "request_id")
        let widget = OutbrainWidget(id: members[1], index: members[2], &faults)
        let elapsed = faults.requiredInteger(members[3], "elapsed_ms")
        let ad = ImpressionsEvent.Ad(
            place: AdPlace(
                format: .outbrain, placement: widget.placement(&symbols), campaign: .unknown),
            fate: .widgetViewed(isStale: elapsed > ImpressionsEvent.staleBeyondMilliseconds),
            isTest: faults.boolean(members[4], "test") ?? false)
        if let rejection = faults.rejection { throw rejection }
        return (ad, requestID)
    }
}
