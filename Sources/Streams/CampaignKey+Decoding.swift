import JSONReader

extension CampaignKey {
    /// Decodes the member `campaign` of Weir's own event types: the object and each member of it may be
    /// absent.
    init(
        of event: JSONValue, symbols: inout SymbolTable, faults: inout FieldFaults
    ) {
        self = .unknown
        guard let object = faults.optionalObject(event, "campaign") else { return }
        if let network = faults.optionalText(
            object, "ad_network_id", field: "campaign.ad_network_id")
        {
            adNetworkID = symbols.internLowercased(network)
        }
        let campaignID = faults.optionalIdentifier(
            object, "campaign_id", field: "campaign.campaign_id")
        let sourceIdentifier = Self.sourceIdentifier(object, &symbols, &faults)
        campaign =
            sourceIdentifier ?? campaignID.map { symbols.intern(decimal: $0) } ?? .empty
        appID = faults.optionalIdentifier(object, "app_id", field: "campaign.app_id") ?? 0
        sourceAppID =
            faults.optionalIdentifier(object, "source_app_id", field: "campaign.source_app_id") ?? 0
    }

    /// A source identifier keeps its leading zeros when it is written as a string.
    private static func sourceIdentifier(
        _ object: JSONValue, _ symbols: inout SymbolTable, _ faults: inout FieldFaults
    ) -> Symbol? {
        guard let value = object.member("source_identifier") else { return nil }
        if let text = value.string { return text.isEmpty ? nil : symbols.intern(text) }
        return faults.optionalIdentifier(
            object, "source_identifier", field: "campaign.source_identifier"
        ).map { symbols.intern(decimal: $0) }
    }
}
