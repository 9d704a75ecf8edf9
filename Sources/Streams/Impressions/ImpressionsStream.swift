// The topic `impressions`: its event types, aggregates and rules.

extension ImpressionsFold {
    package typealias Kind = ImpressionsEventType
    package static let streamName = "impressions"
    package static let help = StreamHelp(
        "Folds impressions into impressions.sqlite.",
        """
        Reads the topic configured in impressions.yaml and counts ads of overlays, SKAdNetwork, Outbrain \
        widgets and in-app bidders by hour and placement. You can stop it at any time. After a restart it \
        continues where it stopped.

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
        "impressions", "Ads that were shown or failed, by format, placement and campaign.", columns,
        measures: Measure.self,
        notes: [
            .presented: .page(
                "ads that were shown; for the format skadn, impressions that were reported to SKAdNetwork"
            ),
            .dismissed: "dismissed overlays",
            .failed: "failed overlays and ads of in-app bidders",
            .fidelityView: "of presented: view-through",
            .fidelityStorekit: "of presented: rendered by StoreKit",
            .received: "received recommendations",
            .paid: "of received: paid recommendations",
            .organic: "of received: other recommendations",
            .rtb: "of received: bought in an auction",
            .widgetViews: "widgets viewed within 30 minutes of the request",
            .viewed: "listings viewed within 30 minutes of the request",
            .stale: "widgets and listings viewed later",
            .loaded: "loaded ads of in-app bidders",
            .handovers: "ads that in-app bidders show themselves",
            .test: "test events and recommendations, which no other column counts",
        ])
}
