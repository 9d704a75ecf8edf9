// The topic `overlay-clicks`: its event types, aggregates and rules.

extension OverlayClicksFold {
    package typealias Kind = OverlayClicksEventType
    package static let streamName = "overlay-clicks"
    package static let help = StreamHelp(
        "Folds clicks into overlay-clicks.sqlite.",
        """
        Reads the topic that overlay-clicks.yaml names from the event log and keeps, an hour and a \
        placement at a time, what people clicked, and apart from that what only looked like a click. \
        Stop it at any time: it goes on where it was.

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
        "overlay-clicks", "Clicks, and what looked like one, by format, placement and campaign.",
        columns, measures: Measure.self,
        notes: [
            .clicks: .page("people's: user_clicks, paid_clicks and organic_clicks together"),
            .userClicks: "of the clicks: on overlays and in-app bidders' ads",
            .paidClicks: "of the clicks: on paid recommendations",
            .organicClicks: "of the clicks: on other recommendations",
            .alteredUrls: "of the paid clicks: leading elsewhere than to Outbrain",
            .automaticClicks: "by the SDK itself",
            .early: "before anything was presented, or without a tap",
            .notPresented: "the overlay was never shown",
            .unsupportedSdk: "of a version that tracks no clicks",
            .untracked: "the bid turned tracking off",
            .test: "events that count in nothing else",
        ])
}
