// The topic `overlay-clicks`: its event types, aggregates and rules.

extension OverlayClicksFold {
    package typealias Kind = OverlayClicksEventType
    package static let streamName = "overlay-clicks"
    package static let help = StreamHelp(
        "Folds clicks into overlay-clicks.sqlite.",
        """
        Reads the topic configured in overlay-clicks.yaml and counts clicks of people by hour and \
        placement, separately from events that only look like clicks. You can stop it at any time. \
        After a restart it continues where it stopped.

          weir publish --topic overlay-clicks clicks.ndjson
          weir-overlay-clicks --until-end
          weir dump overlay-clicks --by day,format,placement
        """)
    package static let defaultWindowSeconds: Int? = 604_800
    package static let tables = [OverlayClicksKey.table]
}

package enum OverlayClicksEventType: EventType {
    /// `skoverlay.click`: a click on an overlay, by a person or by the SDK.
    case overlayClick
    /// `outbrain.click`: a recommendation was opened, or its address requested.
    case outbrainClick
    case inAppClick

    package static let byDefault = OverlayClicksEventType.overlayClick

    package var name: StaticString {
        switch self {
        case .overlayClick: "skoverlay.click"
        case .outbrainClick: "outbrain.click"
        case .inAppClick: "inapp.click"
        }
    }
}

package struct OverlayClicksKey: RowKey {
    package var ad: AdKey

    package enum Measure: Int, AggregateMeasure {
        case clicks, userClicks, paidClicks, organicClicks, alteredUrls
        case automaticClicks, early, notPresented, unsupportedSdk, untracked, test
    }

    package static let columns: KeyColumns<Self> = [.group(\.ad, AdKey.columns)]
    package static let table = AggregateTable(
        "overlay-clicks",
        "Clicks and events that look like clicks, by format, placement and campaign.",
        columns, measures: Measure.self,
        notes: [
            .clicks: .page(
                "clicks of people: the sum of user_clicks, paid_clicks and organic_clicks"),
            .userClicks: "clicks on overlays and ads of in-app bidders",
            .paidClicks: "clicks on paid recommendations",
            .organicClicks: "clicks on other recommendations",
            .alteredUrls: "paid clicks with a URL that does not lead to Outbrain",
            .automaticClicks: "clicks by the SDK itself",
            .early: "clicks before an ad was presented, or without a tap",
            .notPresented: "clicks on an overlay that was never shown",
            .unsupportedSdk: "clicks from an SDK version that does not track clicks",
            .untracked: "clicks with tracking turned off by the bid",
            .test: "test events, which no other column counts",
        ])
}
