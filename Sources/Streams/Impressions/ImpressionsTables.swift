/// Row of `impressions`.
package struct ImpressionsKey: RowKey {
    var ad: AdPlace

    package enum Measure: Int, AggregateMeasure {
        case presented, dismissed, failed, fidelityView, fidelityStorekit
        case received, paid, organic, rtb, widgetViews, viewed, stale
        case loaded, handovers, test
    }

    package static let columns: KeyColumns<Self> = [.group(\.ad, AdPlace.columns)]
    package static let table = AggregateTable(
        "impressions", "What became of ads, by format, placement and campaign.", columns,
        measures: Measure.self,
        notes: [
            .dismissed: "overlays",
            .failed: "of overlays and in-app bidders' ads",
            .fidelityView: "of those presented: view-through",
            .fidelityStorekit: "of those presented: rendered by StoreKit",
            .received: "recommendations that came",
            .paid: "of those received",
            .organic: "of those received",
            .rtb: "of those received: bought in an auction",
            .widgetViews: "within 30 minutes of the request",
            .viewed: "listings, within 30 minutes of the request",
            .stale: "widgets and listings that were seen later",
            .loaded: "in-app bidders' ads",
            .handovers: "in-app bidders' ads that they show themselves",
            .test: "events and recommendations that count in nothing else",
        ])
}
