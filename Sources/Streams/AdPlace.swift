/// The columns that say which ad was seen where: the same for impressions and for clicks.
struct AdPlace: Equatable, Sendable {
    var format: AdFormat
    /// The zone, the widget with its index, or the adapter; empty when nothing says it.
    var placement: Symbol
    var campaign: CampaignKey

    static let columns: KeyColumns<AdPlace> = [
        .word("format", \.format, "'skoverlay', 'skadn', 'outbrain', 'inapp'"),
        .text("placement", \.placement, "zone, widget with its index, or adapter"),
        .group(\.campaign, CampaignKey.columns),
    ]
}
