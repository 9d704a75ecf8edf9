import JSON

/// Decodes `skadn.impression`.
enum SkadnImpressionDecoder {
    /// Decodes an event; the impression's id comes out beside it.
    static func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> (ad: ImpressionsEvent.Ad, impressionID: UnsafeRawBufferPointer) {
        var faults = FieldFaults()
        let members = value.members(["impression_id", "fidelity", "campaign", "test"])
        let impressionID = faults.requiredID(members[0], "impression_id")
        let fidelity = faults.requiredInteger(members[1], "fidelity")
        if fidelity != 0, fidelity != 1 {
            faults.note(.outOfRange, "fidelity", "is neither 0 nor 1")
        }
        let ad = ImpressionsEvent.Ad(
            place: AdPlace(
                format: .skadn, placement: .empty,
                campaign: CampaignKey(members[2], symbols: &symbols, faults: &faults)),
            fate: .attributable(isStoreKitRendered: fidelity == 1),
            isTest: faults.boolean(members[3], "test") ?? false)
        if let rejection = faults.rejection { throw rejection }
        return (ad, impressionID)
    }
}
