/// The columns that say whose ad it was: the same in every stream.
package struct CampaignKey: Equatable, Sendable {
    /// The ad network, in lower case; empty when unknown.
    package var adNetworkID: Symbol
    /// The source identifier of SKAdNetwork 4.0, else the campaign id, else empty.
    package var campaign: Symbol
    /// The advertised app; 0 when unknown.
    package var appID: Int64
    /// The publisher's app; 0 when unknown.
    package var sourceAppID: Int64

    /// A key of which nothing is known.
    package static let unknown = CampaignKey(
        adNetworkID: .empty, campaign: .empty, appID: 0, sourceAppID: 0)

    static let columns: KeyColumns<CampaignKey> = [
        .text("ad_network_id", \.adNetworkID, .page("in lower case; '' when unknown")),
        .text("campaign", \.campaign, "source identifier of SKAdNetwork 4.0, else campaign id"),
        .integer("app_id", \.appID, "advertised app"),
        .integer("source_app_id", \.sourceAppID, "publisher's app, 0 when absent"),
    ]
}
