// The topic `impressions`: its event types, aggregates and rules.

extension ImpressionsFold {
    package typealias Kind = ImpressionsEventType
    package static let streamName = "impressions"
    package static let help = StreamHelp(
        "Folds what was shown into impressions.sqlite.",
        """
        Reads the topic that impressions.yaml names from the event log and keeps, an hour and a \
        placement at a time, what overlays, SKAdNetwork, Outbrain's widgets and in-app bidders showed. \
        Stop it at any time: it goes on where it was.

          weir publish --topic impressions impressions.ndjson
          weir-impressions --until-end
          weir dump impressions --by day,format,placement
        """)
    package static let defaultWindowSeconds: Int? = 604_800
    package static let rejectedRetentionDays: Int64 = 30
    package static let tables = [ImpressionsKey.table]
}

package enum ImpressionsEventType: EventType {
    case overlayPresented
    case overlayDismissed
    case overlayFailed
    case skadnImpression
    case recommendations
    case widgetViewed
    /// `outbrain.listings_viewed`: some of a widget's listings were seen.
    case listingsViewed
    case inAppLoaded
    case inAppImpression
    /// `inapp.handover`: the bidder shows the ad itself.
    case inAppHandover
    case inAppFailed

    package static let byDefault = ImpressionsEventType.overlayPresented

    package var name: StaticString {
        switch self {
        case .overlayPresented: "skoverlay.presented"
        case .overlayDismissed: "skoverlay.dismissed"
        case .overlayFailed: "skoverlay.failed"
        case .skadnImpression: "skadn.impression"
        case .recommendations: "outbrain.recommendations"
        case .widgetViewed: "outbrain.widget_viewed"
        case .listingsViewed: "outbrain.listings_viewed"
        case .inAppLoaded: "inapp.loaded"
        case .inAppImpression: "inapp.impression"
        case .inAppHandover: "inapp.handover"
        case .inAppFailed: "inapp.failed"
        }
    }
}

package struct ImpressionsKey: RowKey {
    package var ad: AdKey

    package enum Measure: Int, AggregateMeasure {
        case presented, dismissed, failed, fidelityView, fidelityStorekit
        case received, paid, organic, rtb, widgetViews, viewed, stale
        case loaded, handovers, test
    }

    package static let columns: KeyColumns<Self> = [.group(\.ad, AdKey.columns)]
    package static let table = AggregateTable(
        "impressions", "What became of ads, by format, placement and campaign.", columns,
        measures: Measure.self,
        notes: [
            .presented: .page(
                "ads that were shown; of the format skadn: impressions that SKAdNetwork was told of"
            ),
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
