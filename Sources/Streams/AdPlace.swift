/// The columns that say which ad was seen where: the same for impressions and for clicks.
package struct AdPlace: Equatable, Sendable {
    /// What kind of ad it was.
    package var format: AdFormat
    /// The zone, the widget with its index, or the adapter; empty when nothing says it.
    package var placement: Symbol
    /// Whose ad it was.
    package var campaign: CampaignKey

    static let columns: [AggregateTable.Column] =
        [.init("format", .text), .init("placement", .text)] + AggregateTable.campaignColumns

    @inline(__always)
    func combine(into hasher: inout RowHasher) {
        hasher.combine(UInt64(placement.number) << 32 | format.rawValue)
        campaign.combine(into: &hasher)
    }

    func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.text(format.name))
        body(.symbol(placement))
        campaign.forEachColumn(body)
    }
}
