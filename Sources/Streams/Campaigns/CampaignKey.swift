import JSON

/// The columns that identify an ad's campaign; shared by all streams.
package struct CampaignKey: Equatable, Sendable {
    /// The ad network, in lower case; empty when unknown.
    package var adNetworkID: Symbol
    /// The source identifier of SKAdNetwork 4.0, otherwise the campaign id; empty if unknown.
    package var campaign: Symbol
    /// The advertised app; 0 when unknown.
    package var appID: Int64
    /// The publisher's app; 0 when unknown.
    package var sourceAppID: Int64

    package static let unknown = CampaignKey(
        adNetworkID: .empty, campaign: .empty, appID: 0, sourceAppID: 0)

    static let columns: KeyColumns<CampaignKey> = [
        .text("ad_network_id", \.adNetworkID, .page("network id in lower case; '' if unknown")),
        .text(
            "campaign", \.campaign, "source identifier of SKAdNetwork 4.0, otherwise campaign id"),
        .integer("app_id", \.appID, "advertised app"),
        .integer("source_app_id", \.sourceAppID, "publisher's app; 0 if absent"),
    ]
}

extension CampaignKey {
    private static let names = JSONNames(
        "ad_network_id", "campaign_id", "source_identifier", "app_id", "source_app_id")

    /// Decodes the member `campaign` of Weir's own event types. The object and each of its members may be missing.
    init(
        of event: JSONValue, symbols: inout SymbolTable, faults: inout FieldFaults
    ) {
        self.init(event.member("campaign"), symbols: &symbols, faults: &faults)
    }

    /// Decodes an already found member.
    init(
        _ value: JSONValue?, symbols: inout SymbolTable, faults: inout FieldFaults
    ) {
        self = .unknown
        guard let object = faults.object(value, "campaign") else { return }
        let members = object.members(Self.names)
        if let network = faults.text(members[0], "campaign.ad_network_id") {
            adNetworkID = symbols.internLowercased(network)
        }
        let campaignID = faults.identifier(members[1], "campaign.campaign_id")
        let sourceIdentifier = Self.sourceIdentifier(members[2], &symbols, &faults)
        campaign =
            sourceIdentifier ?? campaignID.map { symbols.intern(decimal: $0) } ?? .empty
        appID = faults.identifier(members[3], "campaign.app_id") ?? 0
        sourceAppID = faults.identifier(members[4], "campaign.source_app_id") ?? 0
    }

    /// The text of the column `campaign`, for the keys of records.
    static func campaignText(of event: JSONValue, _ faults: inout FieldFaults) -> [UInt8] {
        var symbols = SymbolTable()
        let key = CampaignKey(of: event, symbols: &symbols, faults: &faults)
        return symbols.withBytes(of: key.campaign) { Array($0) }
    }

    /// A source identifier written as a string keeps its leading zeros.
    private static func sourceIdentifier(
        _ value: JSONValue?, _ symbols: inout SymbolTable, _ faults: inout FieldFaults
    ) -> Symbol? {
        if let text = value?.string, !text.isEmpty, case .notDigits = Digits(text) {
            return symbols.intern(text)
        }
        // Digits beyond 64 bits are a fault, as elsewhere.
        guard let number = faults.identifier(value, "campaign.source_identifier") else {
            return nil
        }
        return value?.string.map { symbols.intern($0) } ?? symbols.intern(decimal: number)
    }
}
