import JSON

/// Decodes `inapp.loaded`, `inapp.impression`, `inapp.handover` and `inapp.failed` (Smart AdServer's
/// in-app bidding adapters).
enum InAppAdDecoder {
    /// Decodes an event; the impression's id comes out beside it.
    static func decode(
        _ value: JSONValue, kind: ImpressionsEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> (ad: ImpressionsEvent.Ad, impressionID: UnsafeRawBufferPointer) {
        var faults = FieldFaults()
        let members = value.members([
            "impression_id", "adapter", "ad_format", "stage", "campaign", "test",
        ])
        let impressionID = faults.requiredID(members[0], "impression_id")
        let adapter = faults.requiredID(members[1], "adapter")
        let fate: ImpressionsEvent.Ad.Fate
        switch kind {
        case .inAppLoaded:
            let format = faults.requiredWord(
                members[2], "ad_format", of: ["banner", "interstitial"])
            fate = .loaded(isBanner: format == 0)
        case .inAppFailed:
            _ = faults.requiredWord(members[3], "stage", of: ["load", "show"])
            fate = .failed
        case .inAppHandover: fate = .handedOver
        default: fate = .presented
        }
        let ad = ImpressionsEvent.Ad(
            place: AdPlace(
                format: .inApp, placement: symbols.intern(adapter),
                campaign: CampaignKey(members[4], symbols: &symbols, faults: &faults)),
            fate: fate, isTest: faults.boolean(members[5], "test") ?? false)
        if let rejection = faults.rejection { throw rejection }
        return (ad, impressionID)
    }
}
