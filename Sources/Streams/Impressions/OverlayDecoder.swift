import JSON

/// Decodes `skoverlay.presented`, `skoverlay.dismissed` and `skoverlay.failed`.
enum OverlayDecoder {
    /// Decodes an event; the impression's id comes out beside it.
    static func decode(
        _ value: JSONValue, kind: ImpressionsEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> (ad: ImpressionsEvent.Ad, impressionID: UnsafeRawBufferPointer) {
        var faults = FieldFaults()
        let members = value.members(["impression_id", "zone_id", "by", "error", "campaign", "test"])
        let impressionID = faults.requiredID(members[0], "impression_id")
        let zone = faults.name(members[1], "zone_id", &symbols)
        let fate: ImpressionsEvent.Ad.Fate
        switch kind {
        case .overlayDismissed:
            _ = faults.requiredWord(members[2], "by", of: ["user", "autoclose", "endcard", "app"])
            fate = .dismissed
        case .overlayFailed:
            _ = faults.requiredInteger(members[3], "error")
            fate = .failed
        default: fate = .presented
        }
        let ad = ImpressionsEvent.Ad(
            place: AdPlace(
                format: .skOverlay, placement: zone,
                campaign: CampaignKey(members[4], symbols: &symbols, faults: &faults)),
            fate: fate, isTest: faults.boolean(members[5], "test") ?? false)
        if let rejection = faults.rejection { throw rejection }
        return (ad, impressionID)
    }
}
