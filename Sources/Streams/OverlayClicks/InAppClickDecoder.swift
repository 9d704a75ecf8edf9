import JSON

/// Decodes `inapp.click` (Smart AdServer's in-app bidding adapters).
enum InAppClickDecoder {
    /// Decodes a click; the impression's id comes out beside it.
    static func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> (click: OverlayClicksEvent, impressionID: UnsafeRawBufferPointer) {
        var faults = FieldFaults()
        let members = value.members(["impression_id", "adapter", "campaign", "test"])
        let impressionID = faults.requiredID(members[0], "impression_id")
        let adapter = faults.requiredID(members[1], "adapter")
        let isTest = faults.boolean(members[3], "test") ?? false
        let click = OverlayClicksEvent(
            place: AdPlace(
                format: .inApp, placement: symbols.intern(adapter),
                campaign: CampaignKey(members[2], symbols: &symbols, faults: &faults)),
            judgement: isTest ? .test : .user)
        if let rejection = faults.rejection { throw rejection }
        return (click, impressionID)
    }
}
