import JSON

struct ImpressionsDecoder: EventDecoder {
    /// The id of the impression or of the request.
    typealias Decoded = (ImpressionsEvent, id: UnsafeRawBufferPointer)

    private var recommendations = RecommendationsDecoder()
    private var listings = ListingsDecoder()

    mutating func decode(
        _ value: JSONValue, _ kind: ImpressionsEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> Decoded {
        switch kind {
        case .overlayPresented, .overlayDismissed, .overlayFailed:
            try Self.overlay(value, kind, &symbols)
        case .skadnImpression: try Self.skadnImpression(value, &symbols)
        case .recommendations: try recommendations.decode(value, symbols: &symbols)
        case .widgetViewed: try Self.widgetView(value, &symbols)
        case .listingsViewed: try listings.decode(value, symbols: &symbols)
        case .inAppLoaded, .inAppImpression, .inAppHandover, .inAppFailed:
            try Self.inAppAd(value, kind, &symbols)
        }
    }
}

extension ImpressionsDecoder {
    private static let names = JSONNames(
        "impression_id", "zone_id", "by", "error", "campaign", "test")
    private static let skadnNames = JSONNames(
        "impression_id", "fidelity", "campaign", "test")
    private static let inAppNames = JSONNames(
        "impression_id", "adapter", "ad_format", "stage", "campaign", "test")

    /// `skoverlay.presented`, `skoverlay.dismissed` and `skoverlay.failed`.
    fileprivate static func overlay(
        _ value: JSONValue, _ kind: ImpressionsEventType, _ symbols: inout SymbolTable
    ) throws(Rejection) -> Decoded {
        var faults = FieldFaults()
        let members = value.members(Self.names)
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
            key: AdKey(
                format: .skOverlay, placement: zone,
                campaign: CampaignKey(members[4], symbols: &symbols, faults: &faults)),
            fate: fate, isTest: faults.flag(members[5], "test") ?? false)
        if let rejection = faults.rejection { throw rejection }
        return (.ad(ad), impressionID)
    }

    /// `skadn.impression`.
    fileprivate static func skadnImpression(
        _ value: JSONValue, _ symbols: inout SymbolTable
    ) throws(Rejection) -> Decoded {
        var faults = FieldFaults()
        let members = value.members(Self.skadnNames)
        let impressionID = faults.requiredID(members[0], "impression_id")
        let fidelity = faults.requiredInteger(members[1], "fidelity")
        if fidelity != 0, fidelity != 1 {
            faults.report(.outOfRange, "fidelity", "is neither 0 nor 1")
        }
        let ad = ImpressionsEvent.Ad(
            key: AdKey(
                format: .skadn, placement: .empty,
                campaign: CampaignKey(members[2], symbols: &symbols, faults: &faults)),
            fate: .attributable(isStoreKitRendered: fidelity == 1),
            isTest: faults.flag(members[3], "test") ?? false)
        if let rejection = faults.rejection { throw rejection }
        return (.ad(ad), impressionID)
    }

    /// `inapp.loaded`, `inapp.impression`, `inapp.handover` and `inapp.failed` (Smart AdServer's in-app bidding
    /// adapters).
    fileprivate static func inAppAd(
        _ value: JSONValue, _ kind: ImpressionsEventType, _ symbols: inout SymbolTable
    ) throws(Rejection) -> Decoded {
        var faults = FieldFaults()
        let members = value.members(Self.inAppNames)
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
            key: AdKey(
                format: .inApp, placement: symbols.intern(adapter),
                campaign: CampaignKey(members[4], symbols: &symbols, faults: &faults)),
            fate: fate, isTest: faults.flag(members[5], "test") ?? false)
        if let rejection = faults.rejection { throw rejection }
        return (.ad(ad), impressionID)
    }
}
