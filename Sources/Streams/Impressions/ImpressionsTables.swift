/// Row of `impressions`: what became of ads, by format, placement and campaign.
package struct ImpressionsKey: RowKey {
    /// The partition whose records the row counts.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// Which ad, and where.
    package var place: AdPlace

    /// The measures of `impressions`, in the table's order.
    enum Measure: Int, CaseIterable {
        case presented, dismissed, failed, fidelityView, fidelityStoreKit
        case received, paid, organic, rtb, widgetViews, viewed, stale
        case loaded, handovers, test

        var name: String {
            switch self {
            case .presented: "presented"
            case .dismissed: "dismissed"
            case .failed: "failed"
            case .fidelityView: "fidelity_view"
            case .fidelityStoreKit: "fidelity_storekit"
            case .received: "received"
            case .paid: "paid"
            case .organic: "organic"
            case .rtb: "rtb"
            case .widgetViews: "widget_views"
            case .viewed: "viewed"
            case .stale: "stale"
            case .loaded: "loaded"
            case .handovers: "handovers"
            case .test: "test"
            }
        }
    }

    /// The aggregate.
    package static let table = AggregateTable(
        name: "impressions", columns: [.init("hour", .hour)] + AdPlace.columns,
        measures: Measure.allCases.map(\.name))

    /// Adds all that makes the key to a hash.
    @inline(__always)
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition) << 40 ^ hour.hoursSince1970)
        place.combine(into: &hasher)
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        place.forEachColumn(body)
    }
}
